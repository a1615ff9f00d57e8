# SPDX-License-Identifier: Apache-2.0
"""An output file for packages that write to a file of Python."""

from __future__ import annotations

import io
from typing import Any

from tricodec._tricodec import OutputFile


class OutputStream(io.RawIOBase):
    """Appends to an OutputFile, which stays open."""

    def __init__(self, file: OutputFile) -> None:
        """Args: file is where the bytes go."""
        super().__init__()
        self._file = file

    def writable(self) -> bool:
        """True."""
        return True

    def write(self, data: Any) -> int:
        """Appends."""
        return self._file.write(data)
