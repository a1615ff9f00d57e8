# SPDX-License-Identifier: Apache-2.0
"""The C libraries themselves, compiled into loops over chunks (cpp/compress_library.cpp), on one thread or several."""

from __future__ import annotations

import ctypes
import functools
import importlib.util
import shutil
import subprocess
import tempfile
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.environment import ROOT

_SOURCE = ROOT / "benchmarks/cpp/compress_library.cpp"
_SONAMES = {
    "liblz4.a": "liblz4.so.1",
    "libsnappy.a": "libsnappy.so.1",
    "libzstd.a": "libzstd.so.1",
    "libdeflate.a": "libdeflate.so.0",
    "libisal.a": "libisal.so.2",
}
_MARGIN = 64 << 10  # beyond what any of them needs for a chunk


def use(prefix: Path) -> None:
    """Takes the libraries of tools/build_libraries.py under `prefix` in place of the system's from now on.

    Their archives become shared objects that are loaded under the system's names, by which the loops then find them.

    Raises:
        RuntimeError: where an archive is missing or cannot be linked.
    """
    with tempfile.TemporaryDirectory() as folder:
        for archive, name in _SONAMES.items():
            target = Path(folder) / name
            whole = ["-Wl,--whole-archive", str(prefix / "lib" / archive), "-Wl,--no-whole-archive"]
            command = ["c++", "-shared", f"-Wl,-soname,{name}", "-o", str(target), *whole]
            result = subprocess.run(command, capture_output=True, text=True, check=False)
            if result.returncode != 0:
                raise RuntimeError(
                    f"{archive} of {prefix} is not to be had (tools/build_libraries.py):\n{result.stderr}"
                )
            ctypes.CDLL(str(target))


@functools.cache
def _loops() -> ctypes.CDLL:
    """The compiled loops.

    Raises:
        RuntimeError: where there is no compiler, or a library's headers are missing.
    """
    compiler = shutil.which("c++")
    if compiler is None:
        raise RuntimeError("the C libraries' own speed needs a C++ compiler (c++)")
    with tempfile.TemporaryDirectory() as folder:
        target = Path(folder) / "library.so"
        command = [compiler, "-std=c++20", "-O2", "-shared", "-fPIC", str(_SOURCE), "-o", str(target), "-ldl"]
        result = subprocess.run(command, capture_output=True, text=True, check=False)
        if result.returncode != 0:
            raise RuntimeError(f"{_SOURCE.name} does not compile (tools/install_system_packages.sh):\n{result.stderr}")
        loops = ctypes.CDLL(str(target))
    pointer, size = ctypes.c_void_p, ctypes.c_size_t
    loops.library_make.restype = pointer
    loops.library_make.argtypes = [ctypes.c_char_p, ctypes.c_int, ctypes.c_char_p]
    loops.library_compress.argtypes = [pointer, pointer, size, size, pointer, size, pointer]
    loops.library_decompress.argtypes = [pointer, pointer, size, pointer, size, pointer, size]
    return loops


def _nvcomp_folder() -> str:
    try:
        spec = importlib.util.find_spec("nvidia.libnvcomp")
    except (ImportError, ValueError):
        return ""
    folders = spec.submodule_search_locations if spec else None
    return str(Path(next(iter(folders))) / "lib64") if folders else ""


class CLibrary:
    """A C library's own calls on each chunk, the chunks in as many stretches as there are threads.

    Memory for the results is there already and is used again. Thread safety: none.
    """

    def __init__(self, name: str, level: int, data: np.ndarray, chunk_bytes: int, threads: int) -> None:
        """Raises LookupError if the library is missing."""
        words = (name.encode(), level, _nvcomp_folder().encode())
        made = [_loops().library_make(*words) for _ in range(threads)]
        if None in made:
            raise LookupError(name)
        self._loops = _loops()
        self._libraries = made
        self._data = data
        self._chunk = chunk_bytes
        self._count = -(-data.size // chunk_bytes)
        self._slot = chunk_bytes + chunk_bytes // 4 + _MARGIN
        self._slots = np.zeros(self._count * self._slot, np.uint8)
        self._sizes = np.zeros(self._count, np.uintp)
        self._restored = np.zeros_like(data)
        self._pool = ThreadPoolExecutor(threads) if threads > 1 else None

    def _each_part(self, work: Callable[[Any, int, int], int]) -> None:
        step = -(-self._count // len(self._libraries))
        starts = range(0, self._count, step)
        mapped = map if self._pool is None else self._pool.map
        counts = [min(step, self._count - first) for first in starts]
        if not all(mapped(work, self._libraries, starts, counts)):
            raise RuntimeError("the library refused a chunk")

    def _place(self, first: int, count: int) -> tuple[int, int]:
        begin = first * self._chunk
        return begin, min(count * self._chunk, self._data.size - begin)

    def compress(self) -> None:
        """All chunks."""

        def work(library: Any, first: int, count: int) -> int:
            begin, size = self._place(first, count)
            return int(
                self._loops.library_compress(
                    library,
                    self._data.ctypes.data + begin,
                    size,
                    self._chunk,
                    self._slots.ctypes.data + first * self._slot,
                    self._slot,
                    self._sizes.ctypes.data + first * self._sizes.itemsize,
                )
            )

        self._each_part(work)

    def decompress(self) -> np.ndarray:
        """All chunks again."""

        def work(library: Any, first: int, count: int) -> int:
            begin, size = self._place(first, count)
            return int(
                self._loops.library_decompress(
                    library,
                    self._slots.ctypes.data + first * self._slot,
                    self._slot,
                    self._sizes.ctypes.data + first * self._sizes.itemsize,
                    self._chunk,
                    self._restored.ctypes.data + begin,
                    size,
                )
            )

        self._each_part(work)
        return self._restored

    def compressed_bytes(self) -> int:
        """What compress() made, in all."""
        return int(self._sizes.sum())
