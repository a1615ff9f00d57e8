# SPDX-License-Identifier: Apache-2.0
"""Memory files that a client hands to a server on the same machine: the video in one, the frames in another.

The worker that decodes reads and writes them itself, so Triton copies nothing. They have no name in a file system and
end with their last user: no region is registered, and nothing is left behind if a process is killed.
"""

from __future__ import annotations

import collections
import fcntl
import json
import mmap
import os
import secrets
import shutil
import threading
import weakref
from typing import Any, BinaryIO

import numpy as np
import numpy.typing as npt

_ROUND_BYTES = 1 << 20
_MOST_KEPT_BYTES = 256 << 20
"""Of files without readers, which the next requests use again: fresh memory costs as much as decoding into it."""


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


class _Forks:
    """How often this process has forked, and was forked. Arrays of earlier files may be read by the other process."""

    count = 0

    @classmethod
    def add(cls) -> None:
        cls.count += 1


os.register_at_fork(after_in_parent=_Forks.add, after_in_child=_Forks.add)


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
        self._num_forks = _Forks.count

    @property
    def is_shared(self) -> bool:
        """Whether another process got it by a fork, and may read or use it."""
        return self._num_forks != _Forks.count


class FramesFiles:
    """Files for frames that requests use in turn. A file is used again when no array of its data is left.

    Thread safety: safe.
    """

    def __init__(self) -> None:
        """Has no file."""
        self._lock = threading.Lock()
        self._free: list[FramesFile] = []
        # Arrays are dropped on any thread, also on one that holds the lock; a deque may be appended to on all of them.
        self._dropped: collections.deque[FramesFile] = collections.deque()

    def take(self, size: int | None = None) -> FramesFile:
        """A file that no array uses, of at least `size` bytes; None takes the largest there is, if any."""
        with self._lock:
            while self._dropped:
                self._free.append(self._dropped.popleft())
            self._free = [file for file in self._free if not file.is_shared]
            self._free.sort(key=lambda file: file.size)
            while sum(file.size for file in self._free) > _MOST_KEPT_BYTES:
                self._free.pop(0)
            if size is None and self._free:
                return self._free.pop()
            for file in self._free:
                if size is not None and file.size >= size:
                    self._free.remove(file)
                    return file
        return FramesFile(size or 1)

    def give_back(self, file: FramesFile) -> None:
        """Takes back a file that no worker and no array uses."""
        self._dropped.append(file)

    def lend(self, file: FramesFile, shape: tuple[int, ...], dtype: npt.DTypeLike) -> npt.NDArray[Any]:
        """The frames in a file, without a copy; the file is free when the last view of them is gone."""
        whole: npt.NDArray[np.uint8] = np.ndarray((file.size,), np.uint8, file.memory)
        weakref.finalize(whole, self._dropped.append, file).atexit = False
        frames: npt.NDArray[Any] = np.ndarray(shape, dtype, whole)
        return frames
