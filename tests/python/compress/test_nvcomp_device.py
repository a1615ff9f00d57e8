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
