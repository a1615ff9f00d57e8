# SPDX-License-Identifier: Apache-2.0
"""What compresses: tricodec, the C libraries themselves, and Python packages, all on all cores."""

from __future__ import annotations

import contextlib
import functools
import importlib.util
import threading
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import numpy as np
import tricodec

from benchmarks.compress.goals import LIBRARY, OURS
from benchmarks.compress.library import CLibrary


@dataclass(frozen=True)
class Family:
    """An algorithm at one strength: tricodec's options, and which library does it at which level."""

    name: str
    options: dict[str, Any]
    library: str = ""
    level: int = 0
    slow: bool = False  # measured on less data
    library_chunk: int = 1 << 30  # the most that the library takes


FAMILIES = (
    Family("LZ4", {"algorithm": "LZ4"}, "LZ4"),
    Family("Snappy", {"algorithm": "Snappy"}, "Snappy"),
    Family("Zstd", {"algorithm": "Zstd"}, "Zstd", 3),
    Family("Deflate 1", {"algorithm": "Deflate", "algorithm_type": 1}, "ISA-L", 1),
    Family("Deflate 4", {"algorithm": "Deflate", "algorithm_type": 4}, "libdeflate", 7, slow=True),
    Family("Gzip 1", {"algorithm": "Gzip", "algorithm_type": 1}, "ISA-L gzip", 1),
    Family("Gzip 4", {"algorithm": "Gzip", "algorithm_type": 4}, "libdeflate gzip", 7, slow=True),
    Family("GDeflate", {"algorithm": "GDeflate"}, "GDeflate", 1, slow=True, library_chunk=65536),
    Family("Cascaded", {"algorithm": "Cascaded"}),
    Family("Bitcomp", {"algorithm": "Bitcomp", "data_type": "<i4"}, "Bitcomp"),
)


class Contender(ABC):
    """Compresses and restores the data it was made with."""

    name: str

    @abstractmethod
    def compress(self) -> None:
        """Compresses all of it."""

    @abstractmethod
    def decompress(self) -> None:
        """Restores all of it, from what compress() made last."""

    @abstractmethod
    def check(self) -> float:
        """The ratio; raises where the data did not come back."""


class Ours(Contender):
    """tricodec: one call for all chunks, one container."""

    name = OURS

    def __init__(self, family: Family, data: np.ndarray, chunk_bytes: int) -> None:
        self._data = data
        self._codec = tricodec.Codec(uncomp_chunk_size=chunk_bytes, device="cpu", **family.options)
        self._packed: Any = None

    def compress(self) -> None:  # noqa: D102
        self._packed = None  # freed first, as a loop over arrays frees them
        self._packed = self._codec.encode(self._data)

    def decompress(self) -> None:  # noqa: D102
        self._codec.decode(self._packed)

    def check(self) -> float:  # noqa: D102
        assert np.array_equal(np.asarray(self._codec.decode(self._packed)), self._data), self.name
        return float(self._data.size / self._packed.size)


class Library(Contender):
    """The C library itself."""

    name = LIBRARY

    def __init__(self, family: Family, data: np.ndarray, chunk_bytes: int, threads: int) -> None:
        self._data = data
        self._library = CLibrary(family.library, family.level, data, chunk_bytes, threads)

    def compress(self) -> None:  # noqa: D102
        self._library.compress()

    def decompress(self) -> None:  # noqa: D102
        self._library.decompress()

    def check(self) -> float:  # noqa: D102
        assert np.array_equal(self._library.decompress(), self._data), self.name
        return self._data.size / self._library.compressed_bytes()


class Package(Contender):
    """A package's call for each chunk, from a pool of threads unless it has threads of its own."""

    def __init__(
        self,
        name: str,
        pack: Callable[[Any], Any],
        unpack: Callable[[Any, int], Any],
        data: np.ndarray,
        chunk_bytes: int,
        pool: ThreadPoolExecutor | None,
    ) -> None:
        self.name = name
        self._pack = pack
        self._unpack = unpack
        whole = data.tobytes()
        self._chunks = [whole[i : i + chunk_bytes] for i in range(0, len(whole), chunk_bytes)]
        self._lengths = [len(chunk) for chunk in self._chunks]
        self._map: Callable[..., Iterator[Any]] = map if pool is None else pool.map
        self._packed: list[Any] = []

    def compress(self) -> None:  # noqa: D102
        self._packed = []
        self._packed = list(self._map(self._pack, self._chunks))

    def decompress(self) -> None:  # noqa: D102
        list(self._map(self._unpack, self._packed, self._lengths))

    def check(self) -> float:  # noqa: D102
        restored = self._map(self._unpack, self._packed, self._lengths)
        assert all(bytes(part) == chunk for part, chunk in zip(restored, self._chunks, strict=True)), self.name
        return sum(self._lengths) / sum(len(bytes(part)) for part in self._packed)


Calls = tuple[Callable[[Any], Any], Callable[[Any, int], Any]]


def _cramjam(family: str) -> Calls | None:
    import cramjam

    if family == "LZ4":
        return (
            lambda d: cramjam.lz4.compress_block(d, store_size=False),
            lambda p, n: cramjam.lz4.decompress_block(p, output_len=n),
        )
    if family == "Snappy":
        return cramjam.snappy.compress_raw, lambda p, n: cramjam.snappy.decompress_raw(p)
    if family == "Zstd":
        return lambda d: cramjam.zstd.compress(d, level=3), lambda p, n: cramjam.zstd.decompress(p, output_len=n)
    kind, _, strength = family.partition(" ")
    if kind in ("Deflate", "Gzip"):
        module = cramjam.deflate if kind == "Deflate" else cramjam.gzip
        level = {"1": 1, "4": 6}[strength]
        return lambda d: module.compress(d, level=level), lambda p, n: module.decompress(p, output_len=n)
    return None


def _python_lz4(family: str) -> Calls | None:
    import lz4.block

    if family != "LZ4":
        return None
    return (
        lambda d: lz4.block.compress(d, store_size=False),
        lambda p, n: lz4.block.decompress(p, uncompressed_size=n),
    )


def _python_snappy(family: str) -> Calls | None:
    import snappy

    return (snappy.compress, lambda p, n: snappy.uncompress(p)) if family == "Snappy" else None


def _zstandard(family: str) -> Calls | None:
    import zstandard

    if family != "Zstd":
        return None
    local = threading.local()  # its contexts are for one thread each

    def context(kind: str, make: Callable[[], Any]) -> Any:
        if not hasattr(local, kind):
            setattr(local, kind, make())
        return getattr(local, kind)

    return (
        lambda d: context("pack", functools.partial(zstandard.ZstdCompressor, level=3)).compress(d),
        lambda p, n: context("unpack", zstandard.ZstdDecompressor).decompress(p),
    )


def _isal(family: str) -> Calls | None:
    from isal import igzip, isal_zlib

    if family == "Deflate 1":
        return lambda d: isal_zlib.compress(d, 1, -15), lambda p, n: isal_zlib.decompress(p, -15, n)
    if family == "Gzip 1":
        return lambda d: igzip.compress(d, 1), lambda p, n: igzip.decompress(p)
    return None


def _deflate(family: str) -> Calls | None:
    import deflate

    kind, _, strength = family.partition(" ")
    if kind not in ("Deflate", "Gzip"):
        return None
    level = {"1": 1, "4": 7}[strength]
    if kind == "Deflate":
        return lambda d: deflate.deflate_compress(d, level), deflate.deflate_decompress
    return lambda d: deflate.gzip_compress(d, level), deflate.gzip_decompress


_PACKAGES: dict[str, tuple[str, Callable[[str], Calls | None]]] = {
    "cramjam": ("cramjam", _cramjam),
    "python-lz4": ("lz4", _python_lz4),
    "python-snappy": ("snappy", _python_snappy),
    "zstandard": ("zstandard", _zstandard),
    "isal": ("isal", _isal),
    "deflate": ("deflate", _deflate),
}


def absent() -> list[str]:
    """Peers that are not installed."""
    modules = {name: module for name, (module, _) in _PACKAGES.items()} | {"blosc2": "blosc2"}
    return [name for name, module in modules.items() if importlib.util.find_spec(module) is None]


def _blosc2(family: str, threads: int) -> Calls | None:
    if family not in ("LZ4", "Zstd") or importlib.util.find_spec("blosc2") is None:
        return None
    import blosc2

    blosc2.set_nthreads(threads)
    codec = blosc2.Codec.LZ4 if family == "LZ4" else blosc2.Codec.ZSTD
    options = {"codec": codec, "clevel": 1 if family == "LZ4" else 3, "filters": [blosc2.Filter.NOFILTER]}
    return lambda d: blosc2.compress2(d, typesize=1, **options), lambda p, n: blosc2.decompress2(p)


def contenders(
    family: Family, data: np.ndarray, chunk_bytes: int, pool: ThreadPoolExecutor, threads: int
) -> list[Contender]:
    """tricodec, the C library and every installed package that does the algorithm."""
    found: list[Contender] = [Ours(family, data, chunk_bytes)]
    if family.library and chunk_bytes <= family.library_chunk:
        with contextlib.suppress(LookupError):  # NVIDIA's, where its wheel is not installed
            found.append(Library(family, data, chunk_bytes, threads))
    for name, (module, calls_of) in _PACKAGES.items():
        if importlib.util.find_spec(module) is None:
            continue
        if calls := calls_of(family.name):
            found.append(Package(name, *calls, data, chunk_bytes, pool))
    if calls := _blosc2(family.name, threads):
        found.append(Package("blosc2", *calls, data, chunk_bytes, None))
    return found
