# SPDX-License-Identifier: Apache-2.0
"""build_info() names the GPUs that the kernels are compiled for: read from the fat binaries in the library."""

from __future__ import annotations

import re
import struct
from pathlib import Path

import pytest
import tricodec

pytestmark = pytest.mark.needs_kernels

_MAGIC = struct.pack("<I", 0xBA55ED50)  # of a fat binary; then version, size of this header, size of the parts
_PTX, _ELF = 1, 2
_HEADER = struct.Struct("<IHHQ")
_PART = struct.Struct("<HHIQ12xI")  # kind, version, size of this header, size of what follows, then the architecture


def fat_binaries(library: bytes) -> list[set[tuple[int, int]]]:
    """The kinds and architectures of the parts of each fat binary in a library."""
    found = []
    for match in re.finditer(re.escape(_MAGIC), library):
        _, version, header_size, size = _HEADER.unpack_from(library, match.start())
        if version != 1:  # the same bytes by chance
            continue
        at = match.start() + header_size
        end, parts = at + size, set()
        while at < end:
            kind, _, part_header, part_size, architecture = _PART.unpack_from(library, at)
            parts.add((kind, architecture))
            at += part_header + part_size
        assert at == end
        found.append(parts)
    return found


def test_build_info_names_the_architectures_that_are_in_every_fat_binary() -> None:
    words = next(line for line in tricodec.build_info().splitlines() if line.startswith("cuda_kernels: "))
    named = {(_ELF, int(number)) for number in re.findall(r"sm_(\d+)", words)}
    named |= {(_PTX, int(number)) for number in re.findall(r"PTX of compute_(\d+)", words)}
    library = next(Path(tricodec.__file__).parent.glob("lib/libtricodec.so*"))

    binaries = fat_binaries(library.read_bytes())

    assert named
    assert len(binaries) == 3  # two of the Transform, one of compression
    assert all(parts == named for parts in binaries), (words, binaries)
