# SPDX-License-Identifier: Apache-2.0
"""nvCOMP's documented Python interface, item by item (N1 to N54), on a machine without a GPU."""

from __future__ import annotations

import ctypes
import gc
import os
import pickle
import subprocess
import sys
import weakref
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tricodec
from tricodec import nvcomp

DOCUMENTED = """Codec Array BitstreamKind ArrayBufferKind CudaStream ExternalMemory ChecksumPolicy as_array as_arrays
from_dlpack set_device_allocator set_pinned_allocator set_host_allocator""".split()
NO_GPU = not nvcomp.as_array(b"a").cuda()
without_gpu = pytest.mark.skipif(not NO_GPU, reason="tells what happens without a GPU")


def python(code: str, **environment: str) -> str:
    folder = str(Path(tricodec.__file__).parents[1])
    code = f"import site; site.addsitedir({folder!r})\n{code}"
    result = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=False,
        env=os.environ | {"PYTHONPATH": folder} | environment,
    )  # fmt: skip
    assert result.returncode == 0, result.stderr
    return result.stdout.strip()


def test_n1_the_documented_names_are_there() -> None:
    assert [name for name in DOCUMENTED if not hasattr(nvcomp, name)] == []
    assert nvcomp.COMPUTE_AND_VERIFY is nvcomp.ChecksumPolicy.COMPUTE_AND_VERIFY


def test_n2_the_package_is_found_as_nvidia_nvcomp_where_there_is_no_other() -> None:
    code = (
        "from nvidia import nvcomp\nimport nvidia.nvcomp as again\n"
        "from nvidia.nvcomp.external_memory import ExternalMemory\n"
        "print(nvcomp.__tricodec__, again is nvcomp, ExternalMemory is nvcomp.ExternalMemory, nvcomp.__version__,"
        "bytes(nvcomp.Codec().decode(nvcomp.Codec(algorithm='LZ4').encode(b'abc')).cpu()))"
    )
    assert python(code) == "True True True 5.3.0 b'abc'"


def official(folder: Path) -> Path:
    package = folder / "nvidia/nvcomp"
    package.mkdir(parents=True)
    (package / "__init__.py").write_text("__version__ = 'theirs'\n")
    return folder


def test_nvidias_own_package_goes_before_and_tricodecs_stays_reachable(tmp_path: Path) -> None:
    code = (
        f"import sys; sys.path.insert(0, {str(official(tmp_path))!r})\n"
        "import nvidia; nvidia.__path__ = [*nvidia.__path__, sys.path[0] + '/nvidia']\n"
        "import nvidia.nvcomp, tricodec.nvcomp\nprint(nvidia.nvcomp.__version__, tricodec.nvcomp.__version__)"
    )
    assert python(code) == "theirs 5.3.0"
    assert python(code, TRICODEC_NVIDIA_NVCOMP="1") == "5.3.0 5.3.0"


def test_which_package_answers_is_logged(tmp_path: Path) -> None:
    code = (
        f"import sys, logging; sys.path.insert(0, {str(official(tmp_path))!r})\n"
        "import nvidia; nvidia.__path__ = [*nvidia.__path__, sys.path[0] + '/nvidia']\n"
        "logging.basicConfig(stream=sys.stdout, level='INFO')\nimport tricodec.nvcomp"
    )
    assert "nvidia.nvcomp is NVIDIA's own package" in python(code)
    assert "nvidia.nvcomp is tricodec's" in python(
        "import sys, logging; logging.basicConfig(stream=sys.stdout, level='INFO')\nimport nvidia.nvcomp"
    )


def test_n3_bitstream_kinds() -> None:
    kinds = nvcomp.BitstreamKind
    assert {name: kind.value for name, kind in kinds.__members__.items()} == {
        "NVCOMP_NATIVE": 0, "RAW": 1, "WITH_UNCOMPRESSED_SIZE": 2,
    }  # fmt: skip
    assert repr(kinds.RAW) == "<BitstreamKind.RAW: 1>"
    assert (int(kinds.RAW), kinds.RAW.name) == (1, "RAW")
    assert kinds.RAW != 1
    assert pickle.loads(pickle.dumps(kinds.RAW)) is kinds.RAW


def test_n7_buffer_kinds() -> None:
    assert (int(nvcomp.STRIDED_DEVICE), int(nvcomp.STRIDED_HOST)) == (1, 2)


def test_n8_streams_have_no_constructor() -> None:
    with pytest.raises(TypeError):
        nvcomp.CudaStream()


@pytest.mark.parametrize("handle", [0, 1, 2])
def test_n9_n10_n12_default_streams_are_borrowed(handle: int) -> None:
    stream = nvcomp.CudaStream.borrow(handle)

    assert (stream.ptr, stream.is_special, stream.device) == (handle, True, 0)


@without_gpu
def test_n11_n13_other_streams_need_a_driver() -> None:
    with pytest.raises(tricodec.DeviceError):
        nvcomp.CudaStream.borrow(0x1000)
    with pytest.raises(tricodec.DeviceError):
        nvcomp.CudaStream.make_new()
    with pytest.raises(ValueError, match="device_idx"):
        nvcomp.CudaStream.borrow(0, -2)


def test_n14_codecs_take_keywords_only() -> None:
    with pytest.raises(TypeError):
        nvcomp.Codec("LZ4")  # type: ignore[call-arg]
    with pytest.raises(ValueError, match=r'argument: "uncomp_chunk_sze"\. Did you mean "uncomp_chunk_size"\?'):
        nvcomp.Codec(algorithm="LZ4", uncomp_chunk_sze=3)
    with pytest.raises(ValueError, match=r'Unsupported argument: "x"\.'):
        nvcomp.Codec(x=3)


def test_n15_algorithm_names_have_no_case() -> None:
    assert bytes(nvcomp.Codec(algorithm="gDeFlAtE").encode(b"a" * 99))
    with pytest.raises(ValueError, match='Unknown algorithm: "NOPE"'):
        nvcomp.Codec(algorithm="NOPE")
    with pytest.raises(ValueError, match="no algorithm"):
        nvcomp.Codec().encode(b"abc")


def test_n16_n17_device_and_stream_are_accepted() -> None:
    codec = nvcomp.Codec(algorithm="LZ4", device_id=0, cuda_stream=0)
    assert bytes(codec.decode(codec.encode(b"abc")).cpu()) == b"abc"


@pytest.mark.parametrize("wrong", [1, "RAW", 1.0])
def test_n19_the_bitstream_kind_must_be_the_enum(wrong: object) -> None:
    with pytest.raises(TypeError, match="bitstream_kind"):
        nvcomp.Codec(algorithm="LZ4", bitstream_kind=wrong)


def test_n20_checksum_policies() -> None:
    assert [policy.value for policy in nvcomp.ChecksumPolicy] == [0, 1, 2, 3, 4]
    assert nvcomp.Codec(algorithm="LZ4").options.checksum_policy is nvcomp.NO_COMPUTE_NO_VERIFY


@pytest.mark.parametrize("kind", [nvcomp.RAW, nvcomp.WITH_UNCOMPRESSED_SIZE])
@pytest.mark.parametrize("policy", list(nvcomp.ChecksumPolicy)[1:])
def test_n21_checksums_need_the_container(kind: nvcomp.BitstreamKind, policy: nvcomp.ChecksumPolicy) -> None:
    with pytest.raises(ValueError, match="Only ChecksumPolicy::NoComputeNoVerify is allowed"):
        nvcomp.Codec(algorithm="LZ4", bitstream_kind=kind, checksum_policy=policy)


def test_n22_element_types_of_lz4() -> None:
    for data_type in ("|i1", "|u1", "<i2", "<u2", "<i4", "<u4"):
        nvcomp.Codec(algorithm="LZ4", data_type=data_type)
    for data_type in ("<i8", "<f2"):
        with pytest.raises(ValueError, match="Illegal data type for LZ4"):
            nvcomp.Codec(algorithm="LZ4", data_type=data_type)
    with pytest.raises(ValueError, match="bogus"):
        nvcomp.Codec(algorithm="LZ4", data_type="bogus")


@pytest.mark.parametrize(
    ("algorithm", "wrong"), [("GDeflate", 6), ("GDeflate", -1), ("Deflate", 9), ("Gzip", 6), ("Bitcomp", 2)]
)
def test_n23_n24_n25_other_algorithm_types_are_refused(algorithm: str, wrong: int) -> None:
    with pytest.raises(ValueError, match=rf"Unknown algorithm type.*{wrong}"):
        nvcomp.Codec(algorithm=algorithm, algorithm_type=wrong)


def test_n26_ans_with_half_floats_needs_even_chunks() -> None:
    with pytest.raises(ValueError, match="multiple of 2"):
        nvcomp.Codec(algorithm="ANS", data_type="<f2", uncomp_chunk_size=4097)


def test_n27_cascadeds_layers_are_in_the_chunk() -> None:
    data = np.repeat(np.arange(500, dtype="<u2"), 9)

    stream = bytes(
        nvcomp.Codec(
            algorithm="Cascaded",
            num_rles=1,
            num_deltas=2,
            use_bitpack=False,
            data_type="<u2",
            bitstream_kind=nvcomp.RAW,
        ).encode(data)
    )

    assert stream[:4] == bytes([1, 2, 0, 3])
    for name, wrong in [("num_rles", 8), ("num_rles", -1), ("num_deltas", 4)]:
        with pytest.raises(ValueError, match=name):
            nvcomp.Codec(algorithm="Cascaded", **{name: wrong})


def test_n28_options_of_other_algorithms_are_ignored() -> None:
    nvcomp.Codec(algorithm="Snappy", algorithm_type=99, num_rles=99, data_type="<f2")


def test_n29_n31_batches_keep_their_order() -> None:
    codec = nvcomp.Codec(algorithm="Zstd")
    datas: list[Any] = [b"", b"a", np.arange(5), bytearray(b"xyz"), np.zeros((3, 4), "<f4")]

    packed = codec.encode(datas)

    assert isinstance(packed, list)
    assert [bytes(array) for array in codec.decode(packed)] == [
        bytes(memoryview(data).cast("B")) for data in datas[:2]
    ] + [data.tobytes() if isinstance(data, np.ndarray) else bytes(data) for data in datas[2:]]
    assert codec.encode([]) == []
    assert codec.decode([]) == []


def test_n30_n32_element_types_of_results() -> None:
    codec = nvcomp.Codec(algorithm="LZ4")
    packed = codec.encode(np.arange(6, dtype="<u4"))

    assert packed.dtype == np.uint8
    assert codec.decode(packed).dtype == np.uint8
    assert np.asarray(codec.decode(packed, "<u4")).tolist() == list(range(6))
    assert codec.decode(packed, data_type="<f8").shape == (3,)
    with pytest.raises(ValueError, match="Buffer size not aligned with size of data type"):
        codec.decode(codec.encode(b"abc"), "<u4")


def test_n34_array_interfaces() -> None:
    source = np.arange(24, dtype="<i4").reshape(4, 6)
    array = nvcomp.as_array(source)
    address = source.__array_interface__["data"][0]

    assert array.__cuda_array_interface__ == {
        "shape": (4, 6), "typestr": "<i4", "data": (address, False), "strides": None, "version": 3, "stream": 1,
    }  # fmt: skip
    assert np.asarray(array).__array_interface__["data"][0] == address
    assert nvcomp.as_array(source[:, ::2]).__array_interface__["strides"] == (24, 8)


def test_n35_n36_dlpack_shares_memory() -> None:
    source = np.arange(10, dtype="<f4")
    array = nvcomp.as_array(source)

    assert array.__dlpack_device__() == (1, 0)
    assert np.shares_memory(np.from_dlpack(array), source)
    again = nvcomp.from_dlpack(array.to_dlpack())
    assert np.shares_memory(np.asarray(again), source)


def test_n37_properties() -> None:
    array = nvcomp.as_array(np.zeros((4, 6), "<i4"))

    assert (array.shape, array.strides, array.size, array.buffer_size) == ((4, 6), (24, 4), 24, 96)
    assert (array.item_size, array.ndim, array.precision, array.dtype) == (4, 2, 0, np.dtype("<i4"))
    assert array.buffer_kind is nvcomp.STRIDED_HOST
    assert nvcomp.as_array(np.zeros((4, 6), "<i4")[:, ::2]).buffer_size == 92
    assert nvcomp.as_array(np.array(3)).shape == ()
    assert nvcomp.as_array(np.zeros(0)).size == 0


@pytest.mark.parametrize("dtype", ["u1", "i1", "u2", "i2", "u4", "i4", "u8", "i8", "f2", "f4", "f8", "c8", "?"])
def test_dtypes_are_kept(dtype: str) -> None:
    source = np.ones(3, dtype)

    array = nvcomp.as_array(source)

    assert array.dtype == source.dtype
    np.testing.assert_array_equal(np.from_dlpack(array), source)
    assert memoryview(array).tobytes() == source.tobytes()


def test_n38_cpu_is_the_array_itself() -> None:
    array = nvcomp.as_array(b"abc")
    assert array.cpu() is array


@without_gpu
def test_n39_cuda_is_none_without_a_gpu() -> None:
    assert nvcomp.as_array(b"abc").cuda() is None


class Tracked(np.ndarray):  # type: ignore[type-arg]
    """An array with weak references."""


def test_n40_sources_are_kept_and_let_go() -> None:
    source = np.arange(5).view(Tracked)
    reference = weakref.ref(source)

    array = nvcomp.as_array(source)
    del source
    gc.collect()
    assert reference() is not None
    assert np.asarray(array).tolist() == [0, 1, 2, 3, 4]
    del array
    gc.collect()

    assert reference() is None


def test_n41_buffers_go_in_and_out(tmp_path: Path) -> None:
    array = nvcomp.as_array(bytearray(b"some bytes"))

    assert bytes(array) == b"some bytes"
    (tmp_path / "f").write_bytes(array.cpu())
    assert (tmp_path / "f").read_bytes() == b"some bytes"
    assert not memoryview(array).readonly
    assert memoryview(nvcomp.as_array(b"x")).readonly


def test_n42_several_arrays() -> None:
    assert [bytes(array) for array in nvcomp.as_arrays([b"a", np.zeros(2, "u1")], cuda_stream=0)] == [b"a", bytes(2)]


@pytest.mark.needs_torch
def test_n40_n43_torch_tensors() -> None:
    import torch

    tensor = torch.arange(6, dtype=torch.int16)
    array = nvcomp.from_dlpack(tensor)

    assert array.dtype == np.int16
    assert torch.from_dlpack(array).data_ptr() == tensor.data_ptr()
    codec = nvcomp.Codec(algorithm="LZ4")
    assert torch.from_dlpack(codec.decode(codec.encode(tensor), "<i2")).tolist() == list(range(6))


def test_n43_a_capsule_is_used_once() -> None:
    capsule = nvcomp.as_array(np.arange(3)).to_dlpack()

    nvcomp.from_dlpack(capsule)

    with pytest.raises(ValueError, match="It can be consumed only once"):
        nvcomp.from_dlpack(capsule)


@pytest.mark.parametrize("wrong", [None, 5, [1, 2], object()])
def test_other_objects_are_no_arrays(wrong: object) -> None:
    with pytest.raises(TypeError):
        nvcomp.as_array(wrong)
    with pytest.raises(TypeError):
        nvcomp.from_dlpack(wrong)


class Memory:
    """What an allocator returns; counts the living."""

    alive = 0

    def __init__(self, size: int) -> None:
        self._bytes = ctypes.create_string_buffer(max(1, size))
        self.ptr = ctypes.addressof(self._bytes)
        Memory.alive += 1

    def __del__(self) -> None:
        Memory.alive -= 1


@pytest.fixture
def host_allocator() -> Iterator[list[tuple[int, Any]]]:
    calls: list[tuple[int, Any]] = []

    def allocate(size: int, stream: nvcomp.CudaStream) -> Any:
        calls.append((size, stream))
        return nvcomp.ExternalMemory(Memory(size), stream)

    nvcomp.set_host_allocator(allocate)
    yield calls
    nvcomp.set_host_allocator(None)


def test_n45_to_n50_results_live_in_the_allocators_memory(host_allocator: list[tuple[int, Any]]) -> None:
    codec = nvcomp.Codec(algorithm="LZ4")

    packed = codec.encode([b"a" * 1000, b"b" * 2000])
    unpacked = codec.decode(packed)

    assert [size for size, _ in host_allocator] == [*(array.size for array in packed), 1000, 2000]
    assert all(isinstance(stream, nvcomp.CudaStream) for _, stream in host_allocator)
    assert [bytes(array) for array in unpacked] == [b"a" * 1000, b"b" * 2000]
    assert Memory.alive == 4
    nvcomp.set_host_allocator()  # swapping while buffers live is legal
    assert bytes(codec.encode(b"x" * 99))
    assert len(host_allocator) == 4
    view = np.asarray(unpacked[0])
    del packed, unpacked
    gc.collect()
    assert Memory.alive == 1
    assert view[-1] == ord("a")
    del view
    gc.collect()
    assert Memory.alive == 0


def test_n46_allocators_are_checked() -> None:
    for set_allocator in (nvcomp.set_host_allocator, nvcomp.set_device_allocator, nvcomp.set_pinned_allocator):
        with pytest.raises(TypeError, match="allocator must be"):
            set_allocator(5)  # type: ignore[arg-type]
    try:
        nvcomp.set_host_allocator(lambda size, stream: 7)
        with pytest.raises(TypeError, match="ptr"):
            nvcomp.Codec(algorithm="LZ4").encode(b"abc")
        nvcomp.set_host_allocator(lambda size, stream: 1 // 0)
        with pytest.raises(ZeroDivisionError):
            nvcomp.Codec(algorithm="LZ4").encode(b"abc")
    finally:
        nvcomp.set_host_allocator(None)


def test_n51_external_memory_drops_memory_before_its_stream() -> None:
    order: list[str] = []

    class Part:
        ptr = 4096

        def __init__(self, name: str) -> None:
            self.name = name

        def __del__(self) -> None:
            order.append(self.name)

    memory = nvcomp.ExternalMemory(Part("memory"), Part("stream"))
    assert memory.ptr == 4096
    del memory
    gc.collect()

    assert order == ["memory", "stream"]
    with pytest.raises(TypeError, match="ptr"):
        nvcomp.ExternalMemory(object())


def test_out_is_filled_or_refused() -> None:
    codec = nvcomp.Codec(algorithm="LZ4")
    data = np.arange(1000, dtype="<u2")
    memory = np.zeros(codec.get_max_comp_buffer_size(data), np.uint8)

    packed = codec.encode(data, out=memory)
    result = np.zeros(1000, "<u2")
    codec.decode(packed, "<u2", out=result)

    assert np.shares_memory(np.asarray(packed), memory)
    np.testing.assert_array_equal(result, data)
    with pytest.raises(ValueError, match="out has 10 bytes"):
        codec.decode(packed, out=np.zeros(10, np.uint8))
    with pytest.raises(ValueError, match="read-only"):
        codec.decode(packed, out=bytes(2000))
    with pytest.raises(ValueError, match="1 places for 2"):
        codec.decode([packed, packed], out=[result])


def test_an_array_given_as_out_grows() -> None:
    codec = nvcomp.Codec(algorithm="LZ4")
    array = codec.decode(codec.encode(b"ab"))

    again = codec.decode(codec.encode(b"c" * 5000), out=array)

    assert again is array
    assert bytes(array) == b"c" * 5000
    codec.decode(codec.encode(b"d"), out=array)
    assert (bytes(array), array.capacity) == (b"d", 5000)


def test_configs_tell_sizes() -> None:
    codec = nvcomp.Codec(algorithm="LZ4")
    data = b"x" * 100000

    config = codec.compression_config(len(data))
    packed = codec.encode(data, compression_config=config)

    assert packed.size <= config.max_compressed_sizes[0]
    for source in (config, packed):
        unpack = codec.decompression_config(source)
        assert unpack.uncompressed_sizes == (100000,)
        assert bytes(codec.decode(packed, decompression_config=unpack)) == data
    assert codec.compression_config([1, 2]).uncompressed_sizes == (1, 2)
    with pytest.raises(ValueError, match="greater than zero"):
        codec.compression_config(0)
    with pytest.raises(ValueError, match="expands to 100000"):
        codec.decode(packed, decompression_config=codec.decompression_config(codec.compression_config(5)))


def test_bounds_are_nvcomps_model() -> None:
    """Header, table and chunks of the C library's bound, each rounded up to 8."""
    codec = nvcomp.Codec(algorithm="LZ4", uncomp_chunk_size=1024)

    bound = 1024 + 1024 // 255 + 16

    assert codec.get_max_comp_buffer_size(bytes(3000)) == 72 + 3 * 16 + 3 * ((bound + 7) // 8 * 8)


def test_a_with_block_ends_the_codec() -> None:
    with nvcomp.Codec(algorithm="LZ4") as codec:
        packed = codec.encode(b"abc")
        assert codec.engine == "cpu"

    with pytest.raises(ValueError, match="closed"):
        codec.decode(packed)


def test_arrays_that_are_not_contiguous_are_compressed_in_c_order() -> None:
    source = np.arange(24, dtype="<i4").reshape(4, 6)
    codec = nvcomp.Codec(algorithm="Zstd")

    for view in (source.T, source[:, ::2], np.asfortranarray(source)):
        assert bytes(codec.decode(codec.encode(view))) == view.tobytes()


def test_typed_algorithms_name_size_and_type() -> None:
    with pytest.raises(ValueError, match=r'1 bytes.*data_type "<i4" needs a multiple of 4'):
        nvcomp.Codec(algorithm="Cascaded").encode(b"a")


def test_the_interpreters_lock_is_let_go() -> None:
    import threading

    codec = nvcomp.Codec(algorithm="Deflate", algorithm_type=5)
    data = np.random.default_rng(0).integers(0, 4, 3 << 20, dtype=np.uint8)

    def ticks_while_encoding() -> int:
        counted = 0
        done = threading.Event()

        def work() -> None:
            codec.encode(data)
            done.set()

        thread = threading.Thread(target=work)
        thread.start()
        while not done.wait(0.001):
            counted += 1
        thread.join()
        return counted

    # On a busy machine this thread may not get a core in time; with the lock held it never does.
    assert any(ticks_while_encoding() > 10 for _ in range(10))
