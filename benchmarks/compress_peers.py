# SPDX-License-Identifier: Apache-2.0
"""Who else compresses: the C libraries themselves on one thread, and Python packages on all cores."""

from __future__ import annotations

import ctypes
import importlib.util
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import tricodec


class Contender:
    """Compresses data in chunks of a fixed size, on however many threads it has."""

    def __init__(
        self,
        name: str,
        pack: Callable[[bytes], Any],
        unpack: Callable[[Any, int], Any],
        pool: ThreadPoolExecutor | None,
    ) -> None:
        self.name = name
        self._pack = pack
        self._unpack = unpack
        self._pool = pool

    def _map(self, work: Callable[..., Any], *arguments: Sequence[Any]) -> list[Any]:
        mapped = map if self._pool is None else self._pool.map
        return list(mapped(work, *arguments))

    def compress(self, data: bytes, chunks: list[bytes]) -> Any:
        """The chunks, compressed."""
        del data
        return self._map(self._pack, chunks)

    def decompress(self, packed: Any, data: bytes, chunks: list[bytes]) -> Any:
        """The chunks again."""
        del data
        return self._map(self._unpack, packed, [len(chunk) for chunk in chunks])

    def restored(self, packed: Any, data: bytes, chunks: list[bytes]) -> bool:
        """Whether the data come back."""
        return b"".join(bytes(part) for part in self.decompress(packed, data, chunks)) == data

    def size(self, packed: Any) -> int:
        """Compressed bytes."""
        return sum(len(part) for part in packed)


class Ours(Contender):
    """tricodec: one call for all chunks."""

    def __init__(self, chunk_bytes: int, **options: Any) -> None:
        self.name = "tricodec"
        self._codec = tricodec.Codec(uncomp_chunk_size=chunk_bytes, device="cpu", **options)

    def compress(self, data: bytes, chunks: list[bytes]) -> Any:
        """All of it in one container."""
        del chunks
        return self._codec.encode(data)

    def decompress(self, packed: Any, data: bytes, chunks: list[bytes]) -> Any:
        """All of it at once."""
        del data, chunks
        return [self._codec.decode(packed)]

    def size(self, packed: Any) -> int:
        """Bytes of the container."""
        return int(packed.size)


def _library(*names: str) -> ctypes.CDLL | None:
    for name in names:
        try:
            return ctypes.CDLL(name)
        except OSError:
            continue
    return None


def _c_functions(family: str, chunk_bytes: int) -> tuple[Callable[..., Any], Callable[..., Any]] | None:
    """The C library's own calls into memory that is there already."""
    size_t = ctypes.c_size_t
    room = ctypes.create_string_buffer(chunk_bytes + chunk_bytes // 4 + 4096)
    target = ctypes.create_string_buffer(chunk_bytes)
    if family == "LZ4" and (lz4 := _library("liblz4.so.1")):
        return (
            lambda d: room.raw[: lz4.LZ4_compress_default(d, room, len(d), len(room))],
            lambda p, n: lz4.LZ4_decompress_safe(p, target, len(p), n) and target,
        )
    if family == "Snappy" and (snappy := _library("libsnappy.so.1")):

        def pack(data: bytes) -> bytes:
            size = size_t(len(room))
            snappy.snappy_compress(data, size_t(len(data)), room, ctypes.byref(size))
            return room.raw[: size.value]

        def unpack(packed: bytes, n: int) -> Any:
            snappy.snappy_uncompress(packed, size_t(len(packed)), target, ctypes.byref(size_t(n)))
            return target

        return pack, unpack
    if family == "Zstd" and (zstd := _library("libzstd.so.1")):
        for name in ("ZSTD_createCCtx", "ZSTD_createDCtx"):
            getattr(zstd, name).restype = ctypes.c_void_p
        zstd.ZSTD_compressCCtx.restype = size_t
        compressor = ctypes.c_void_p(zstd.ZSTD_createCCtx())
        decompressor = ctypes.c_void_p(zstd.ZSTD_createDCtx())
        return (
            lambda d: room.raw[: zstd.ZSTD_compressCCtx(compressor, room, size_t(len(room)), d, size_t(len(d)), 3)],
            lambda p, n: zstd.ZSTD_decompressDCtx(decompressor, target, size_t(n), p, size_t(len(p))) and target,
        )
    if family.startswith("Deflate") and (deflate := _library("libdeflate.so.0")):
        deflate.libdeflate_alloc_compressor.restype = ctypes.c_void_p
        deflate.libdeflate_alloc_decompressor.restype = ctypes.c_void_p
        deflate.libdeflate_deflate_compress.restype = size_t
        level = {"Deflate 1": 1, "Deflate 4": 7}[family]
        compressor = ctypes.c_void_p(deflate.libdeflate_alloc_compressor(level))
        decompressor = ctypes.c_void_p(deflate.libdeflate_alloc_decompressor())

        def pack_deflate(data: bytes) -> bytes:
            return room.raw[
                : deflate.libdeflate_deflate_compress(compressor, data, size_t(len(data)), room, size_t(len(room)))
            ]

        def unpack_deflate(packed: bytes, n: int) -> Any:
            deflate.libdeflate_deflate_decompress(decompressor, packed, size_t(len(packed)), target, size_t(n), None)
            return target

        return pack_deflate, unpack_deflate
    return None


class CLibrary(Contender):
    """A C library on one thread."""

    def restored(self, packed: Any, data: bytes, chunks: list[bytes]) -> bool:
        """Whether the data come back, chunk by chunk: their memory is used again."""
        parts = zip(packed, chunks, strict=True)
        return all(bytes(self._unpack(part, len(chunk)))[: len(chunk)] == chunk for part, chunk in parts)


def _has(package: str) -> bool:
    return importlib.util.find_spec(package) is not None


def _packages(family: str) -> list[tuple[str, Callable[[bytes], Any], Callable[[Any, int], Any]]]:
    found: list[tuple[str, Callable[[bytes], Any], Callable[[Any, int], Any]]] = []
    if _has("cramjam"):
        import cramjam

        if family == "LZ4":
            found.append(("cramjam", lambda d: cramjam.lz4.compress_block(d, store_size=False),
                          lambda p, n: cramjam.lz4.decompress_block(p, output_len=n)))  # fmt: skip
        elif family == "Snappy":
            found.append(("cramjam", cramjam.snappy.compress_raw, lambda p, n: cramjam.snappy.decompress_raw(p)))
        elif family == "Zstd":
            found.append(("cramjam", lambda d: cramjam.zstd.compress(d, level=3),
                          lambda p, n: cramjam.zstd.decompress(p, output_len=n)))  # fmt: skip
        elif family.startswith("Deflate"):
            level = {"Deflate 1": 1, "Deflate 4": 6}[family]
            found.append(("cramjam", lambda d: cramjam.deflate.compress(d, level=level),
                          lambda p, n: cramjam.deflate.decompress(p, output_len=n)))  # fmt: skip
    if family == "LZ4" and _has("lz4"):
        import lz4.block

        found.append(("python-lz4", lambda d: lz4.block.compress(d, store_size=False),
                      lambda p, n: lz4.block.decompress(p, uncompressed_size=n)))  # fmt: skip
    if family == "Snappy" and _has("snappy"):
        import snappy

        found.append(("python-snappy", snappy.compress, lambda p, n: snappy.uncompress(p)))
    if family == "Zstd" and _has("zstandard"):
        import threading

        import zstandard

        local = threading.local()

        def context(kind: str) -> Any:
            if not hasattr(local, kind):
                made = zstandard.ZstdCompressor(level=3) if kind == "pack" else zstandard.ZstdDecompressor()
                setattr(local, kind, made)
            return getattr(local, kind)

        found.append(("zstandard", lambda d: context("pack").compress(d), lambda p, n: context("unpack").decompress(p)))
    if family.startswith("Deflate"):
        if _has("isal") and family == "Deflate 1":
            from isal import isal_zlib

            found.append(
                ("isal", lambda d: isal_zlib.compress(d, 1, -15), lambda p, n: isal_zlib.decompress(p, -15, n))
            )
        if _has("deflate"):
            import deflate

            level = {"Deflate 1": 1, "Deflate 4": 7}[family]
            found.append(("deflate", lambda d: deflate.deflate_compress(d, level),
                          deflate.deflate_decompress))  # fmt: skip
    return found


def _blosc2(family: str, threads: int) -> list[Contender]:
    names = {"LZ4": "LZ4", "Zstd": "ZSTD"}
    if family not in names or not _has("blosc2"):
        return []
    import blosc2

    blosc2.set_nthreads(threads)
    codec = getattr(blosc2.Codec, names[family])
    level = 1 if family == "LZ4" else 3

    def pack(chunk: bytes) -> Any:
        return blosc2.compress2(chunk, codec=codec, clevel=level, filters=[blosc2.Filter.NOFILTER], typesize=1)

    return [Contender("blosc2", pack, lambda p, n: blosc2.decompress2(p), None)]


def contenders(chunk_bytes: int, threads: int) -> dict[str, list[Contender]]:
    """For each algorithm: tricodec, the C library on one thread, packages on as many threads as there are cores."""
    pool = ThreadPoolExecutor(threads)
    ours: dict[str, dict[str, Any]] = {
        "LZ4": {"algorithm": "LZ4"},
        "Snappy": {"algorithm": "Snappy"},
        "Zstd": {"algorithm": "Zstd"},
        "Deflate 1": {"algorithm": "Deflate", "algorithm_type": 1},
        "Deflate 4": {"algorithm": "Deflate", "algorithm_type": 4},
        "GDeflate": {"algorithm": "GDeflate"},
        "Cascaded": {"algorithm": "Cascaded"},
    }
    if not tricodec.compress.compression_algorithms()["Bitcomp"]:
        ours["Bitcomp"] = {"algorithm": "Bitcomp", "data_type": "<i4"}
    groups: dict[str, list[Contender]] = {}
    for family, options in ours.items():
        group: list[Contender] = [Ours(chunk_bytes, **options)]
        if functions := _c_functions(family, chunk_bytes):
            group.append(CLibrary(f"C {family}", *functions, None))
        group += [Contender(name, pack, unpack, pool) for name, pack, unpack in _packages(family)]
        group += _blosc2(family, threads)
        groups[family] = group
    return groups
