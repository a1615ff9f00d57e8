# SPDX-License-Identifier: Apache-2.0
"""Files that a client hands to a server on the same machine: the video in one, memory for the frames in another.

The worker that decodes reads and writes them itself, so Triton copies nothing. A memory file has no name in a file
system and ends with its last user: no region is registered, and nothing is left behind if a process is killed.
"""

from __future__ import annotations

import fcntl
import json
import mmap
import os
import secrets
import weakref
from typing import Any, BinaryIO

import numpy as np

_FIXED_SIZE = fcntl.F_SEAL_SHRINK | fcntl.F_SEAL_GROW


class _MemoryFile:
    """A file of this process.

    Attributes:
        descriptor: its number, valid as long as this object.
    """

    def __init__(self) -> None:
        self._name = secrets.token_hex(16)
        flags = os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING
        self.descriptor = os.memfd_create(f"tricodec-client-{self._name}", flags)
        weakref.finalize(self, os.close, self.descriptor).atexit = False

    def reference(self, **facts: Any) -> bytes:
        """What a request says of this file."""
        return json.dumps({"pid": os.getpid(), "descriptor": self.descriptor, "name": self._name, **facts}).encode()


class SharedFile(_MemoryFile):
    """Memory for one video or the frames of one answer at a time.

    Attributes:
        size: in bytes.
        memory: the file, mapped.
    """

    def __init__(self, size: int) -> None:
        super().__init__()
        self.size = -(-size // 2**20) * 2**20  # whole MiB
        os.ftruncate(self.descriptor, self.size)
        fcntl.fcntl(self.descriptor, fcntl.F_ADD_SEALS, _FIXED_SIZE)
        self.memory = mmap.mmap(self.descriptor, self.size)

    def put(self, video: bytes) -> bytes:
        """Copies a video into the file, without the interpreter's lock: what a request says of it."""
        np.frombuffer(self.memory, np.uint8)[: len(video)] = np.frombuffer(video, np.uint8)
        return self.reference(size=len(video))


class Permit(_MemoryFile):
    """Lets a server read a file on disk that this process has open. It holds the number of that file's descriptor."""

    def __init__(self, file: BinaryIO) -> None:
        super().__init__()
        self._file = file  # stays open
        os.write(self.descriptor, str(file.fileno()).encode())
        fcntl.fcntl(self.descriptor, fcntl.F_ADD_SEALS, _FIXED_SIZE | fcntl.F_SEAL_WRITE)

    @property
    def video(self) -> bytes:
        """What a request says of the file on disk."""
        return self.reference(size=os.fstat(self._file.fileno()).st_size, on_disk=True)
