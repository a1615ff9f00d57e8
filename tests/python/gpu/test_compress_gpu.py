# SPDX-License-Identifier: Apache-2.0
"""Compression on a GPU: against the CPU's streams, and against NVIDIA's own package where it is installed."""

from __future__ import annotations

import importlib
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from compress_data import ALGORITHMS, corpus, whole
from tricodec import nvcomp

EVERY = [*ALGORITHMS, "ANS"]
KINDS = list(nvcomp.BitstreamKind)
SIZES = [0, 1, 100, 65535, 65536, 65537, (1 << 20) + 1]


def official() -> Any:
    module = importlib.import_module("nvidia.nvcomp")
    if getattr(module, "__tricodec__", False):
        pytest.skip("NVIDIA's nvcomp package is not installed")
    return module


def gpu(
    algorithm: str | None = None, kind: nvcomp.BitstreamKind = nvcomp.NVCOMP_NATIVE, **options: Any
) -> nvcomp.Codec:
    return nvcomp.Codec(algorithm=algorithm, bitstream_kind=kind, device="cuda:0", **options)


def cpu(
    algorithm: str | None = None, kind: nvcomp.BitstreamKind = nvcomp.NVCOMP_NATIVE, **options: Any
) -> nvcomp.Codec:
    return nvcomp.Codec(algorithm=algorithm, bitstream_kind=kind, device="cpu", **options)


def host(array: Any) -> bytes:
    return bytes(array.cpu())


def datas(algorithm: str) -> list[bytes]:
    """N33's sizes of each kind of data, the empty one too."""
    return [whole(algorithm, data[:size]) for data in corpus().values() for size in SIZES]


@pytest.mark.needs_gpu
@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.name)
@pytest.mark.parametrize("algorithm", EVERY)
def test_every_size_comes_back(algorithm: str, kind: nvcomp.BitstreamKind) -> None:
    codec = gpu(algorithm, kind)
    arrays = datas(algorithm)

    packed = codec.encode(arrays)
    unpacked = codec.decode(packed)

    assert codec.engine == "cuda:0"
    assert packed[0].buffer_kind is nvcomp.STRIDED_DEVICE
    assert [host(array) for array in unpacked] == arrays
    for array, data in zip(packed, arrays, strict=True):
        assert array.size <= codec.get_max_comp_buffer_size(data)


@pytest.mark.needs_gpu
@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.name)
@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_streams_go_from_engine_to_engine(algorithm: str, kind: nvcomp.BitstreamKind) -> None:
    expect_from_engine_to_engine(datas(algorithm), algorithm=algorithm, kind=kind)


def expect_from_engine_to_engine(arrays: list[bytes], **options: Any) -> None:
    """Streams of the GPU are read there and on the CPU, streams of the CPU on the GPU."""
    from_gpu = [host(array) for array in gpu(**options).encode(arrays)]
    from_cpu = [bytes(array) for array in cpu(**options).encode(arrays)]

    assert [bytes(array) for array in cpu(**options).decode(from_gpu)] == arrays
    assert [host(array) for array in gpu(**options).decode(from_cpu)] == arrays
    assert [host(array) for array in gpu(**options).decode(from_gpu)] == arrays


@pytest.mark.needs_gpu
@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.name)
@pytest.mark.parametrize("data_type", ["|u1", "<f2", "|f1"])
def test_element_types_of_ans_come_back(data_type: str, kind: nvcomp.BitstreamKind) -> None:
    values = np.random.default_rng(4).standard_normal(100_000).astype("<f2").view(np.uint8)
    codec = gpu("ANS", kind, data_type=data_type)

    packed = codec.encode(values)

    assert host(codec.decode(packed)) == values.tobytes()
    if kind is nvcomp.NVCOMP_NATIVE:
        assert host(gpu().decode(packed)) == values.tobytes()


@pytest.mark.needs_gpu
@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.name)
@pytest.mark.parametrize("algorithm_type", [0, 1])
@pytest.mark.parametrize("data_type", ["|i1", "|u1", "<i2", "<u2", "<i4", "<u4", "<i8", "<u8"])
def test_bitcomp_goes_from_engine_to_engine(data_type: str, algorithm_type: int, kind: nvcomp.BitstreamKind) -> None:
    sparse = np.zeros(100_000, data_type)
    sparse[::97] = 5
    walk = np.cumsum(np.random.default_rng(1).integers(-2, 3, 70_000)).astype(data_type)
    arrays = [sparse.tobytes(), walk.tobytes(), walk[:1].tobytes(), b""]
    expect_from_engine_to_engine(
        arrays, algorithm="Bitcomp", kind=kind, data_type=data_type, algorithm_type=algorithm_type
    )


@pytest.mark.needs_gpu
@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.name)
@pytest.mark.parametrize("mode", list(nvcomp.BitshuffleMode)[1:], ids=lambda mode: mode.name)
@pytest.mark.parametrize("data_type", ["|u1", "<u2", "<i4"])
def test_shuffled_streams_go_from_engine_to_engine(
    data_type: str, mode: nvcomp.BitshuffleMode, kind: nvcomp.BitstreamKind
) -> None:
    sizes = (4, 60, 1000, 8188, 8192, 8196, 65536, 65540, 200004)
    arrays = [corpus()[name][:size] for name in ("walk", "noise") for size in sizes]
    expect_from_engine_to_engine(arrays, algorithm="LZ4", kind=kind, bitshuffle_mode=mode, data_type=data_type)


@pytest.mark.needs_gpu
@pytest.mark.parametrize("data_type", ["|u1", "<u2", "<i4", "<u8"])
@pytest.mark.parametrize("num_deltas", range(4))
@pytest.mark.parametrize("num_rles", [0, 1, 2, 5])
def test_cascaded_layers_go_from_engine_to_engine(num_rles: int, num_deltas: int, data_type: str) -> None:
    options = {"num_rles": num_rles, "num_deltas": num_deltas, "data_type": data_type}
    rng = np.random.default_rng(1)
    values = [
        np.repeat(rng.integers(0, 9, 4000), 17).astype(data_type),
        np.cumsum(rng.integers(-2, 3, 70000)).astype(data_type),
        np.zeros(50000, data_type),
    ]

    for value in values:
        assert bytes(cpu().decode(host(gpu("Cascaded", **options).encode(value)))) == value.tobytes()
        assert host(gpu().decode(cpu("Cascaded", **options).encode(value))) == value.tobytes()


@pytest.mark.needs_gpu
@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.name)
@pytest.mark.parametrize("algorithm", EVERY)
def test_streams_are_the_official_packages(algorithm: str, kind: nvcomp.BitstreamKind) -> None:
    expect_exchange(algorithm, kind, [data for data in datas(algorithm) if data])  # theirs takes no empty array


def expect_exchange(algorithm: str, kind: nvcomp.BitstreamKind, arrays: list[bytes]) -> None:
    """Ours read by theirs, theirs by ours, those of the CPU by theirs and theirs on the CPU."""
    theirs = official()
    options = {"algorithm": algorithm, "bitstream_kind": theirs.BitstreamKind.__members__[kind.name]}
    if algorithm == "Cascaded":
        options["data_type"] = "<i4"
    codec = theirs.Codec(**options)
    sources = [theirs.as_array(np.frombuffer(data, np.uint8)).cuda() for data in arrays]

    from_theirs = [bytes(array.cpu()) for array in codec.encode(sources)]
    ours = [host(array) for array in gpu(algorithm, kind).encode(arrays)]

    assert [host(array) for array in gpu(algorithm, kind).decode(from_theirs)] == arrays
    assert [bytes(a.cpu()) for a in codec.decode([as_theirs(theirs, stream) for stream in ours])] == arrays
    if algorithm != "ANS":
        assert [bytes(array) for array in cpu(algorithm, kind).decode(from_theirs)] == arrays
        from_cpu = [bytes(array) for array in cpu(algorithm, kind).encode(arrays)]
        assert [bytes(a.cpu()) for a in codec.decode([as_theirs(theirs, stream) for stream in from_cpu])] == arrays


def as_theirs(theirs: Any, stream: bytes) -> Any:
    return theirs.as_array(np.frombuffer(stream, np.uint8)).cuda()


@pytest.mark.needs_gpu
def test_device_arrays_of_torch_are_used_where_they_are() -> None:
    torch = pytest.importorskip("torch")
    tensor = torch.arange(1 << 20, dtype=torch.int32, device="cuda")
    codec = gpu("Bitcomp", data_type="<i4")

    packed = codec.encode(tensor)
    result = torch.from_dlpack(codec.decode(packed, "<i4"))

    assert torch.equal(result, tensor)
    assert nvcomp.as_array(tensor).__cuda_array_interface__["data"][0] == tensor.data_ptr()
    out = torch.zeros_like(tensor)
    codec.decode(packed, "<i4", out=out)
    torch.cuda.synchronize()
    assert torch.equal(out, tensor)


@pytest.mark.needs_gpu
def test_device_allocator_gives_the_memory() -> None:
    torch = pytest.importorskip("torch")
    sizes = []

    class Memory:
        def __init__(self, size: int) -> None:
            self._tensor = torch.empty(max(1, size), dtype=torch.uint8, device="cuda")
            self.ptr = self._tensor.data_ptr()

    def allocate(size: int, stream: nvcomp.CudaStream) -> Any:
        sizes.append(size)
        return nvcomp.ExternalMemory(Memory(size), stream)

    nvcomp.set_device_allocator(allocate)
    try:
        codec = gpu("LZ4")
        result = codec.decode(codec.encode([b"a" * 1000] * 5))
        assert [host(array) for array in result] == [b"a" * 1000] * 5
    finally:
        nvcomp.set_device_allocator(None)
    assert sizes[-5:] == [1000] * 5


@pytest.mark.needs_gpu
@pytest.mark.parametrize("algorithm", ["LZ4", "Zstd", "Deflate"])
@pytest.mark.alone
def test_batches_past_the_memory_budget_are_done_in_parts(algorithm: str) -> None:
    """Slots and scratch memory of 24,000 chunks are past what a call takes of a GPU that is nearly full."""
    torch = pytest.importorskip("torch")
    free, _ = torch.cuda.mem_get_info()
    taken = torch.empty(max(0, free - (6 << 30)), dtype=torch.uint8, device="cuda")
    data = corpus()["text"][: 1 << 20] * 1500
    codec = gpu(algorithm)
    source = nvcomp.as_array(np.frombuffer(data, np.uint8)).cuda()

    packed = codec.encode(source)
    result = codec.decode(packed)

    assert host(result) == data
    del taken, result, packed
    torch.cuda.empty_cache()


cupy = pytest.importorskip("cupy")
zarr = pytest.importorskip("zarr")
VALUES = np.cumsum(np.random.default_rng(1).integers(-5, 6, (96, 80, 12)), axis=0).astype("<i4")


def codecs() -> dict[str, Any]:
    from tricodec.compress.zarr import TricodecCodec
    from zarr.registry import register_codec

    register_codec("tricodec", TricodecCodec)  # as the entry point of the installed package does
    from zarr.codecs import BloscCodec, GzipCodec, ZstdCodec
    from zarr.codecs.numcodecs import LZ4

    return {
        "zstd": ZstdCodec(level=3, checksum=True),
        "gzip": GzipCodec(level=5),
        "lz4": LZ4(),
        "blosc": BloscCodec(cname="zstd"),
        "tricodec": TricodecCodec("LZ4", chunk_bytes=4096),
    }


@pytest.mark.parametrize("name", ["zstd", "gzip", "lz4", "blosc", "tricodec"])
@pytest.mark.parametrize("shards", [None, (96, 80, 12)], ids=["chunks", "shards"])
def test_a_store_is_read_to_the_gpu(name: str, shards: Any, tmp_path: Path) -> None:
    from tricodec.compress.zarr import use_for_standard_codecs

    stored = zarr.create_array(
        tmp_path / "a",
        shape=VALUES.shape,
        dtype="<i4",
        chunks=(32, 40, 12),
        compressors=codecs()[name],
        shards=shards,
        fill_value=7,
    )
    stored[:64] = VALUES[:64]  # without shards the last chunks are not there
    with use_for_standard_codecs(device="cuda"):
        array = zarr.open_array(tmp_path / "a", mode="r")
        whole, part = array[:], array[40:50, 3:9, 5]

    assert isinstance(whole, cupy.ndarray)
    np.testing.assert_array_equal(cupy.asnumpy(whole)[:64], VALUES[:64])
    assert (whole[64:] == 7).all()
    np.testing.assert_array_equal(cupy.asnumpy(part), VALUES[40:50, 3:9, 5])
    assert isinstance(zarr.open_array(tmp_path / "a", mode="r")[:], np.ndarray), "the block's end brings the CPU back"
