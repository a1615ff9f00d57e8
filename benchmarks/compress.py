# SPDX-License-Identifier: Apache-2.0
"""Lossless compression: on the CPU beside Python packages, on a GPU beside NVIDIA's nvcomp.

On the CPU tricodec compresses an array in chunks of 64 KiB by one call, and a package each chunk, from a pool of as
many threads as there are cores. On a GPU the arrays are in its memory before and after.
"""

from __future__ import annotations

import contextlib
import os
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from importlib import import_module
from typing import TYPE_CHECKING, Any

import numpy as np

from benchmarks.results import Case
from benchmarks.suite import Options

if TYPE_CHECKING:
    from tricodec.measure.bench import Work

SECONDS = 1.0
_CHUNK = 65536
_BYTES = {"cpu": 32 << 20, "cuda": 256 << 20}
_MADE_BYTES = 8 << 20
_BATCH = 1000  # arrays of 64 KiB
_WAYS = ("compress", "decompress")
_INPUTS = ("text", "array", "runs")
_FORMATS: dict[str, dict[str, Any]] = {
    "LZ4": {"algorithm": "LZ4"},
    "Snappy": {"algorithm": "Snappy"},
    "Zstd": {"algorithm": "Zstd"},
    "Deflate 1": {"algorithm": "Deflate", "algorithm_type": 1},
    "Deflate 4": {"algorithm": "Deflate", "algorithm_type": 4},
    "Gzip 1": {"algorithm": "Gzip", "algorithm_type": 1},
    "Gzip 4": {"algorithm": "Gzip", "algorithm_type": 4},
}
_GPU_FORMATS = ("LZ4", "Snappy", "GDeflate", "Deflate", "Gzip", "Zstd", "Bitcomp", "ANS", "Cascaded")
_PEERS = {
    "LZ4": ("cramjam", "python-lz4"),
    "Snappy": ("cramjam", "python-snappy"),
    "Zstd": ("cramjam", "zstandard"),
    "Deflate 1": ("cramjam", "isal", "deflate"),
    "Deflate 4": ("cramjam", "deflate"),
    "Gzip 1": ("cramjam", "isal", "deflate"),
    "Gzip 4": ("cramjam", "deflate"),
}


def cases(options: Options) -> list[Case]:
    """Every format with every set of data, in both directions."""
    inputs = _INPUTS[:1] if options.quick else _INPUTS
    found = []
    for name in _GPU_FORMATS if options.device == "cuda" else _FORMATS:
        contenders = ("tricodec", *(("nvcomp",) if options.device == "cuda" else _PEERS[name]))
        settings = ("one array", f"{_BATCH} arrays of 64 KiB") if options.device == "cuda" else ("64 KiB",)
        for way in _WAYS:
            for data in inputs:
                for setting in settings:
                    found += [Case(f"{way} {name}", data, each, setting, unit="GB/s") for each in contenders]
    return found


def facts(cases: Sequence[Case]) -> dict[str, str]:
    """The data are made from a fixed seed in each process."""
    del cases
    return {"content": "words by frequency, a float32 random walk, int32 runs of eight, from a fixed seed"}


def _data(name: str, size: int) -> np.ndarray:
    """Made once and repeated; repeats lie further apart than a chunk."""
    return np.resize(_made(name, min(size, _MADE_BYTES)), size)


def _made(name: str, size: int) -> np.ndarray:
    rng = np.random.default_rng(3)
    if name == "text":
        words = np.array([f"word{number} " for number in range(2000)])
        made = "".join(words[np.minimum(rng.zipf(1.3, size // 5), 2000) - 1]).encode()[:size]
        return np.frombuffer(made, np.uint8)
    if name == "array":
        return np.cumsum(rng.normal(0, 1, size // 4)).astype("<f4").view(np.uint8)
    return np.repeat(rng.integers(0, 50, size // 32), 8).astype("<i4").view(np.uint8)


@contextlib.contextmanager
def open_work(case: Case) -> Iterator[Work]:
    """A query compresses or restores all of the data.

    Raises:
        RuntimeError: what is restored is not what was compressed.
    """
    way, _, name = case.task.partition(" ")
    on_gpu = case.setting != "64 KiB"
    data = _data(case.input, _BYTES["cuda" if on_gpu else "cpu"])
    if on_gpu:
        yield _on_gpu(case.contender, name, way, data if case.setting == "one array" else data[: _BATCH * _CHUNK],
                      1 if case.setting == "one array" else _BATCH)  # fmt: skip
        return
    with ThreadPoolExecutor(len(os.sched_getaffinity(0))) as pool:
        pack, unpack = _ours(name) if case.contender == "tricodec" else _package(case.contender, name, pool)
        packed = pack(data)
        if b"".join(map(bytes, unpack(packed))) != data.tobytes():
            message = f"{case.contender} does not restore the data"
            raise RuntimeError(message)
        yield _query(way, lambda: pack(data), lambda: unpack(packed), data.size, sum(map(len, packed)))


def _query(way: str, pack: Callable[[], Any], unpack: Callable[[], Any], size: int, compressed: int) -> Work:
    from tricodec.measure.bench import Done

    work = pack if way == "compress" else unpack

    def query() -> Done:
        work()
        return Done(0, size, compressed)

    return query


Pack = Callable[[np.ndarray], list[Any]]
Unpack = Callable[[list[Any]], list[Any]]


def _ours(name: str) -> tuple[Pack, Unpack]:
    import tricodec

    codec = tricodec.Codec(uncomp_chunk_size=_CHUNK, device="cpu", **_FORMATS[name])
    return lambda data: [np.asarray(codec.encode(data))], lambda packed: [np.asarray(codec.decode(packed[0]))]


def _package(contender: str, name: str, pool: ThreadPoolExecutor) -> tuple[Pack, Unpack]:
    pack, unpack = globals()[f"_{contender.removeprefix('python-')}"](*name.partition(" ")[::2])

    def chunks(data: np.ndarray) -> list[Any]:
        whole = data.tobytes()
        return list(pool.map(pack, (whole[start : start + _CHUNK] for start in range(0, len(whole), _CHUNK))))

    return chunks, lambda packed: list(pool.map(unpack, packed))


Calls = tuple[Callable[[bytes], Any], Callable[[Any], Any]]


def _cramjam(kind: str, strength: str) -> Calls:
    import cramjam

    if kind == "LZ4":
        return (
            lambda data: cramjam.lz4.compress_block(data, store_size=False),
            lambda packed: cramjam.lz4.decompress_block(packed, output_len=_CHUNK),
        )
    if kind == "Snappy":
        return cramjam.snappy.compress_raw, cramjam.snappy.decompress_raw
    if kind == "Zstd":
        return lambda data: cramjam.zstd.compress(data, level=3), cramjam.zstd.decompress
    module, level = getattr(cramjam, kind.lower()), {"1": 1, "4": 6}[strength]
    return lambda data: module.compress(data, level=level), module.decompress


def _lz4(*_: str) -> Calls:
    import lz4.block

    return (
        lambda data: lz4.block.compress(data, store_size=False),
        lambda packed: lz4.block.decompress(packed, uncompressed_size=_CHUNK),
    )


def _snappy(*_: str) -> Calls:
    import snappy

    return snappy.compress, snappy.uncompress


def _zstandard(*_: str) -> Calls:
    import zstandard

    class Contexts(threading.local):
        """A thread's own."""

        def __init__(self) -> None:
            self.pack, self.unpack = zstandard.ZstdCompressor(level=3), zstandard.ZstdDecompressor()

    local = Contexts()

    def pack(data: bytes) -> Any:
        return local.pack.compress(data)

    def unpack(packed: Any) -> Any:
        return local.unpack.decompress(packed)

    return pack, unpack


def _isal(kind: str, _: str) -> Calls:
    from isal import igzip, isal_zlib

    if kind == "Gzip":
        return lambda data: igzip.compress(data, 1), igzip.decompress
    return lambda data: isal_zlib.compress(data, 1, -15), lambda packed: isal_zlib.decompress(packed, -15, _CHUNK)


def _deflate(kind: str, strength: str) -> Calls:
    import deflate

    level = {"1": 1, "4": 7}[strength]
    if kind == "Gzip":
        return lambda data: deflate.gzip_compress(data, level), lambda packed: deflate.gzip_decompress(packed, _CHUNK)
    return lambda data: deflate.deflate_compress(data, level), lambda packed: deflate.deflate_decompress(packed, _CHUNK)


def _on_gpu(contender: str, name: str, way: str, data: np.ndarray, count: int) -> Work:
    import torch

    package: Any = import_module("tricodec.compress" if contender == "tricodec" else "nvidia.nvcomp")
    if contender == "nvcomp" and getattr(package, "__tricodec__", False):
        message = "nvidia.nvcomp is tricodec's here, not NVIDIA's"
        raise ImportError(message)
    options = {"device": "cuda:0"} if contender == "tricodec" else {}
    codec = package.Codec(algorithm=name, **options)
    arrays = [package.as_array(part).cuda() for part in np.split(data, count)]
    packed = codec.encode(arrays)
    if bytes(codec.decode(packed)[-1].cpu()) != np.split(data, count)[-1].tobytes():
        message = f"{contender} does not restore the data"
        raise RuntimeError(message)

    def finished(results: list[Any]) -> None:
        for array in (results[0], results[-1]):
            _ = array.__cuda_array_interface__
        torch.cuda.synchronize()

    compressed = sum(array.buffer_size for array in packed)
    return _query(
        way, lambda: finished(codec.encode(arrays)), lambda: finished(codec.decode(packed)), data.size, compressed
    )
