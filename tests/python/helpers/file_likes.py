# SPDX-License-Identifier: Apache-2.0
"""Objects of a program that a source may be, with few methods of a file. They count the bytes that are read."""

from __future__ import annotations

import io
import os


class ReadOnly:
    """An object with read() and nothing else."""

    def __init__(self, data: bytes) -> None:
        self._file = io.BytesIO(data)
        self.num_read = 0

    def read(self, size: int) -> bytes:
        data = self._file.read(size)
        self.num_read += len(data)
        return data


class FileLike(ReadOnly):
    """read() and seek() and nothing else."""

    def seek(self, offset: int, whence: int = os.SEEK_SET) -> int:
        return self._file.seek(offset, whence)
