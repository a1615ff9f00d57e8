# SPDX-License-Identifier: Apache-2.0
"""The memory between a worker and its stub: used again when no client reads it, never while one does."""

from __future__ import annotations

import contextlib
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tricodec.triton_backend.runtime.frame_files import FrameFile, FrameFiles, FrameMappings

MIB = 1 << 20


class Line:
    """Both sides without the processes: what one announces reaches the other."""

    def __init__(self) -> None:
        self.files = FrameFiles()
        self.mappings = FrameMappings()

    def take(self, size: int) -> FrameFile:
        self.files.accept(self.mappings.released())
        return self.files.take(size)

    def answer(self, file: FrameFile, size: int) -> np.ndarray:
        announced, descriptor = self.files.announce(file)
        memory, number = self.mappings.map(announced, descriptor, size)
        self.files.sent(file)
        array: np.ndarray = np.ndarray((size,), np.uint8, memory)
        self.mappings.watch(array, number)
        return array

    def exchange(self, size: int, value: int) -> np.ndarray:
        file = self.take(size)
        np.ndarray((size,), np.uint8, file.memory)[:] = value
        return self.answer(file, size)


def descriptors() -> int:
    """How many of this process are of such files, mappings included."""
    found = 0
    for entry in Path("/proc/self/fd").iterdir():
        with contextlib.suppress(FileNotFoundError):  # the one that lists them
            found += "memfd:tricodec-frames" in str(entry.readlink())
    return found


def test_a_file_is_used_again_when_its_array_is_gone() -> None:
    line = Line()
    line.exchange(3 * MIB, 1)
    before = descriptors()

    for value in range(2, 9):
        array = line.exchange(3 * MIB - 100 * value, value)
        assert (array == value).all()
        assert not array.flags.writeable
        del array

    assert descriptors() == before
    assert line.take(MIB).number == 1


def test_a_file_is_left_alone_while_a_view_of_it_lives() -> None:
    line = Line()
    view = line.exchange(MIB, 1)[np.newaxis, 10:]

    other = line.exchange(MIB, 2)

    assert (view == 1).all()
    assert (other == 2).all()


def test_free_files_that_are_too_small_are_closed_on_both_sides() -> None:
    line = Line()
    arrays = [line.exchange(MIB, value) for value in range(4)]
    before = descriptors()
    del arrays

    large = line.exchange(5 * MIB, 9)

    assert (large == 9).all()
    assert descriptors() < before
    assert len(line.mappings._memory) == 1


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"number": 7}, "file 7, which is not there"),
        ({"number": 1}, "file 1, which is not there or still read"),
    ],
)
def test_answers_that_make_no_sense_are_refused(change: dict[str, Any], words: str) -> None:
    line = Line()
    held = line.exchange(MIB, 1)

    with pytest.raises(ValueError, match=words):
        line.mappings.map({"number": 1, "kept": True, "closed": []} | change, None, MIB)
    assert (held == 1).all()
    file = line.take(MIB)
    announced, descriptor = line.files.announce(file)
    with pytest.raises(ValueError, match=f"has {MIB} bytes, {2 * MIB} were announced"):
        line.mappings.map(announced, descriptor, 2 * MIB)
