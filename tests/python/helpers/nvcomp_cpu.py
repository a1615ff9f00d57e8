# SPDX-License-Identifier: Apache-2.0
"""NVIDIA's own decoders and encoders for the CPU (libnvcomp_cpu), as oracles."""

from __future__ import annotations

import ctypes
import importlib.util
from pathlib import Path


def library_path() -> Path | None:
    spec = importlib.util.find_spec("nvidia.libnvcomp") if importlib.util.find_spec("nvidia") else None
    for folder in (spec.submodule_search_locations or []) if spec else []:
        path = Path(folder) / "lib64/libnvcomp_cpu.so.5"
        if path.is_file():
            return path
    return None


def _load() -> ctypes.CDLL:
    path = library_path()
    assert path is not None
    return ctypes.CDLL(str(path))


def _one(buffer: ctypes.Array[ctypes.c_char]) -> ctypes.Array[ctypes.c_void_p]:
    return (ctypes.c_void_p * 1)(ctypes.addressof(buffer))


def gdeflate_decompress(stream: bytes, size: int) -> bytes:
    """A page of GDeflate, decoded by NVIDIA's decoder; what it is given has zeros behind it."""
    source = ctypes.create_string_buffer(stream + bytes(1024), len(stream) + 1024)
    target = ctypes.create_string_buffer(max(1, size))
    function = _load()["_ZN8gdeflate13decompressCPUEPKPKvPKmmPKPvPmS9_"]
    sizes = (ctypes.c_size_t * 1)(len(stream))
    room = (ctypes.c_size_t * 1)(size)
    actual = (ctypes.c_size_t * 1)(0)
    function(_one(source), sizes, ctypes.c_size_t(1), _one(target), room, actual)
    assert actual[0] == size
    return target.raw[:size]


def gdeflate_compress(data: bytes, level: int = 12) -> bytes:
    """A page of at most 64 KiB, encoded by NVIDIA's encoder."""
    assert 0 < len(data) <= 65536
    source = ctypes.create_string_buffer(data, len(data))
    target = ctypes.create_string_buffer(2 * len(data) + 4096)
    function = _load()["_ZN8gdeflate11compressCPUEPKPKvPKmmmPKPvPmi"]
    sizes = (ctypes.c_size_t * 1)(len(data))
    written = (ctypes.c_size_t * 1)(0)
    function(
        _one(source), sizes, ctypes.c_size_t(65536), ctypes.c_size_t(1), _one(target), written, ctypes.c_int(level)
    )
    return target.raw[: written[0]]
