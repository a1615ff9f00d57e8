# SPDX-License-Identifier: Apache-2.0
"""nvCOMP's streams, arrays and allocators on a GPU (N9 to N13, N34 to N53), with a stand-in for the driver."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from gpu_helpers import Run, runner_with_driver

_PRELUDE = """
import contextlib, logging
from tricodec import nvcomp

driver = ctypes.CDLL("libcuda.so.1")

def calls(*kinds):
    made = [(call[0], int(call[1], 16), int(call[2], 16)) for call in logged_calls()]
    return [call for call in made if not kinds or call[0] in kinds]

@contextlib.contextmanager
def current_device(index):
    context = ctypes.c_void_p()
    assert driver.cuDevicePrimaryCtxRetain(ctypes.byref(context), index) == 0
    assert driver.cuCtxPushCurrent_v2(context) == 0
    yield
    driver.cuCtxPopCurrent_v2(ctypes.byref(context))

class Memory:
    # Device memory of another library's, as rmm's and cupy's objects are: `ptr`, and freed when it goes.
    alive = 0

    def __init__(self, size, events=None):
        self.events = events
        address = ctypes.c_uint64()
        assert driver.cuMemAlloc_v2(ctypes.byref(address), ctypes.c_size_t(size)) == 0
        self.ptr = address.value
        type(self).alive += 1

    def __del__(self):
        type(self).alive -= 1
        if self.events is not None:
            self.events.append("memory")
        driver.cuMemFree_v2(ctypes.c_uint64(self.ptr))

@contextlib.contextmanager
def device_allocator(allocate):
    nvcomp.set_device_allocator(allocate)
    try:
        yield
    finally:
        nvcomp.set_device_allocator()
"""


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Run]:
    folder = tmp_path_factory.mktemp("driver")
    with runner_with_driver(folder, _PRELUDE, FAKE_CUDA_GPUS="2", FAKE_CUDA_MEMORY=str(64 << 20)) as started:
        yield started


def test_n9_n13_a_borrowed_stream_is_never_destroyed_and_a_made_one_with_its_last_reference(run: Run) -> None:
    run("""
    before = len(calls("destroy"))
    own = nvcomp.CudaStream.make_new()
    assert [call[1] for call in calls("create")][-1] == own.ptr
    views = [nvcomp.CudaStream.borrow(own.ptr) for _ in range(3)]
    del views
    gc.collect()
    assert len(calls("destroy")) == before
    again = own
    del own
    gc.collect()
    assert len(calls("destroy")) == before
    pointer = again.ptr
    del again
    gc.collect()
    assert calls("destroy")[before:] == [("destroy", pointer, 0)]
    """)


@pytest.mark.parametrize("handle", [0, 1, 2])
def test_n10_a_special_stream_is_of_the_current_device_unless_told(run: Run, handle: int) -> None:
    run(f"""
    assert nvcomp.CudaStream.borrow({handle}).device == 0
    with current_device(1):
        stream = nvcomp.CudaStream.borrow({handle})
        assert (stream.device, stream.is_special, stream.ptr) == (1, True, {handle})
        assert nvcomp.CudaStream.borrow({handle}, 0).device == 0
    assert nvcomp.CudaStream.borrow({handle}, device_idx=1).device == 1
    assert isinstance(raised(lambda: nvcomp.CudaStream.borrow({handle}, 2)), ValueError)
    """)


def test_n34_to_n39_an_array_goes_to_the_device_and_back(run: Run) -> None:
    run("""
    source = np.arange(24, dtype="<i4").reshape(4, 6)
    there = nvcomp.as_array(source).cuda()
    interface = there.__cuda_array_interface__
    assert (interface["shape"], interface["typestr"], interface["strides"]) == ((4, 6), "<i4", None)
    assert interface["version"] == 3 and not interface["data"][1] and interface["stream"] != 0
    assert not hasattr(there, "__array_interface__") and there.buffer_kind is nvcomp.STRIDED_DEVICE
    assert (there.shape, there.strides, there.size, there.buffer_size) == ((4, 6), (24, 4), 24, 96)
    assert there.cuda() is there and there.__dlpack_device__() == (2, 0)
    taken = nvcomp.from_dlpack(there.to_dlpack())
    assert taken.__cuda_array_interface__["data"] == interface["data"]  # not copied
    back = there.cpu()
    assert back.buffer_kind is nvcomp.STRIDED_HOST and back.cpu() is back
    assert (np.asarray(back) == source).all()
    """)


def test_n39_the_copy_is_waited_for_unless_told_otherwise(run: Run) -> None:
    run("""
    array, stream = nvcomp.as_array(bytes(1000)), nvcomp.CudaStream.make_new(1)
    for wait, expected in ((True, [("copy", stream.ptr, 1000), ("synchronize", stream.ptr, 0)]),
                           (False, [("copy", stream.ptr, 1000)])):
        before = len(calls("copy", "synchronize"))
        there = array.cuda(synchronize=wait, cuda_stream=stream.ptr)
        assert calls("copy", "synchronize")[before:] == expected
        assert there.__dlpack_device__() == (2, 1)
    """)


def test_n44_work_is_ordered_after_the_stream_that_an_array_is_given_with(run: Run) -> None:
    run("""
    producer = nvcomp.CudaStream.make_new()
    there = nvcomp.as_array(bytes(100)).cuda()
    os.environ["FAKE_CUDA_FAIL"] = "cuEventQuery:600"  # not ready: what is done is not waited for
    for wrap in (lambda: nvcomp.as_array(Interface(there), producer.ptr),
                 lambda: nvcomp.as_arrays([Interface(there)], cuda_stream=producer.ptr)[0]):
        array = wrap()
        before = len(calls())
        array.__dlpack__(stream=2)  # the consumer's
        made = calls()[before:]
        assert ("wait", 2, producer.ptr) in made, made
    before = len(calls())
    assert bytes(array.cpu()) == bytes(100)
    assert any(call[:2] == ("copy", producer.ptr) for call in calls()[before:])
    other = nvcomp.CudaStream.make_new()  # named by the source itself: both are waited for
    before = len(calls())
    both = nvcomp.as_array(Interface(there, stream=other.ptr), producer.ptr)
    assert ("wait", producer.ptr, other.ptr) in calls()[before:]
    assert both.__cuda_array_interface__["stream"] == producer.ptr
    assert nvcomp.as_array(Interface(there, stream=other.ptr)).__cuda_array_interface__["stream"] == other.ptr
    del os.environ["FAKE_CUDA_FAIL"]
    """)


def test_n45_to_n48_device_memory_is_the_allocators_until_the_last_array_goes(run: Run) -> None:
    run("""
    asked = []
    def allocate(size, stream):
        asked.append((size, type(stream).__name__, stream.device))
        return Memory(size)
    with device_allocator(allocate):
        first = nvcomp.as_array(b"a" * 1000).cuda()
        second = nvcomp.as_array(b"b" * 50).cuda()
        assert asked == [(1000, "CudaStream", 0), (50, "CudaStream", 0)] and Memory.alive == 2
        del second
        gc.collect()
        assert Memory.alive == 1
    third = nvcomp.as_array(b"c" * 10).cuda()  # another allocator while the first's memory lives
    assert len(asked) == 2 and bytes(third.cpu()) == b"c" * 10 and bytes(first.cpu()) == b"a" * 1000
    capsule = first.to_dlpack()
    del first
    gc.collect()
    assert Memory.alive == 1  # the capsule holds it
    del capsule
    gc.collect()
    assert Memory.alive == 0
    """)


def test_n50_an_array_that_comes_back_lives_in_the_host_allocators_memory(run: Run) -> None:
    run("""
    there, asked = nvcomp.as_array(b"abc" * 100).cuda(), []
    class HostMemory:
        def __init__(self, size):
            self.array = np.zeros(size, np.uint8)
            self.ptr = self.array.ctypes.data
    def allocate(size, stream):
        memory = HostMemory(size)
        asked.append(memory.ptr)
        return memory
    nvcomp.set_host_allocator(allocate)
    try:
        back = there.cpu()
    finally:
        nvcomp.set_host_allocator()
    assert bytes(back) == b"abc" * 100 and asked == [back.__array_interface__["data"][0]]
    """)


def test_n51_n52_n53_memory_goes_before_the_stream_that_it_was_allocated_on(run: Run) -> None:
    run("""
    events = []
    class Stream:
        # Tells when the one that the allocator was given goes.
        def __init__(self, stream):
            self.stream = stream
        def __del__(self):
            # Still the stream of the allocation, and still there: none is named for the release.
            events.append(("stream", self.stream.ptr, self.stream.device))
    producer = nvcomp.CudaStream.make_new(1)
    destroyed = len(calls("destroy"))
    with device_allocator(lambda size, stream: nvcomp.ExternalMemory(Memory(size, events), Stream(stream))):
        there = nvcomp.as_array(b"abc").cuda(cuda_stream=producer.ptr)
    assert bytes(there.cpu()) == b"abc" and events == []
    del there
    gc.collect()
    assert events == ["memory", ("stream", producer.ptr, 1)]
    assert len(calls("destroy")) == destroyed
    """)


def test_n54_the_documents_allocator_of_rmm_works(run: Run) -> None:
    """Its text, with an object that has rmm.DeviceBuffer's constructor and `ptr`."""
    run("""
    class rmm:
        class DeviceBuffer(Memory):
            def __init__(self, *, size, stream):
                assert (size, stream.ptr) == (1000, 0) and stream.is_special
                super().__init__(size)
    def rmm_nvcomp_allocator(nbytes, stream):
        return nvcomp.ExternalMemory(rmm.DeviceBuffer(size=nbytes, stream=stream), stream)
    with device_allocator(rmm_nvcomp_allocator):
        array = nvcomp.as_array(b"x" * 1000).cuda()
        assert bytes(array.cpu()) == b"x" * 1000 and Memory.alive == 0 and rmm.DeviceBuffer.alive == 1
    del array
    gc.collect()
    assert rmm.DeviceBuffer.alive == 0
    """)
