# SPDX-License-Identifier: Apache-2.0
"""Memory files that a client hands to a server on the same machine: the video in one, the frames in another.

The worker that decodes reads and writes them itself, so Triton copies nothing. They have no name in a file system and
end with their last user: no region is registered, and nothing is left behind if a process is killed.
"""

from __future__ import annotations

import fcntl
import json
import mmap
import os
import secrets
import shutil
import weakref
from typing import BinaryIO

_ROUND_BYTES = 1 << 20


class _MemoryFile:
    """A file of this process.

    Attributes:
        descriptor: its number, valid as long as this object.
        size: in bytes.
    """

    def __init__(self) -> None:
        self._name = secrets.token_hex(16)
        flags = os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING
        self.descriptor = os.memfd_create(f"tricodec-client-{self._name}", flags)
        weakref.finalize(self, os.close, self.descriptor).atexit = False
        self.size = 0

    @property
    def reference(self) -> bytes:
        """What a request says of this file."""
        return json.dumps({"pid": os.getpid(), "descriptor": self.descriptor, "name": self._name}).encode()


class VideoFile(_MemoryFile):
    """The bytes of a video, which cannot change any more."""

    def __init__(self, source: bytes | BinaryIO) -> None:
        """Copy bytes, or a file from its position on."""
        super().__init__()
        with open(os.dup(self.descriptor), "wb", buffering=0) as output:  # noqa: PTH123
            if isinstance(source, bytes):
                rest = memoryview(source)
                while rest:
                    rest = rest[output.write(rest) :]
            else:
                shutil.copyfileobj(source, output, _ROUND_BYTES)
        self.size = os.fstat(self.descriptor).st_size
        sealed = fcntl.F_SEAL_WRITE | fcntl.F_SEAL_SHRINK | fcntl.F_SEAL_GROW
        fcntl.fcntl(self.descriptor, fcntl.F_ADD_SEALS, sealed)


class FramesFile(_MemoryFile):
    """Memory for the frames of one answer at a time.

    Attributes:
        memory: the file, mapped.
    """

    def __init__(self, size: int) -> None:
        super().__init__()
        self.size = -(-size // _ROUND_BYTES) * _ROUND_BYTES
        os.ftruncate(self.descriptor, self.size)
        fcntl.fcntl(self.descriptor, fcntl.F_ADD_SEALS, fcntl.F_SEAL_SHRINK | fcntl.F_SEAL_GROW)
        self.memory = mmap.mmap(self.descriptor, self.size)
