# SPDX-License-Identifier: Apache-2.0
"""Memory files of a client on the same machine: it hands over a video in one, and gets frames in another.

A request names the client's process, its descriptor and the random name of the file. The file opens through /proc, and
only if that name is right, so a request cannot name anything else. No copy is made between the client and a worker:
Triton carries the names alone. tricodec.client makes the files.
"""

from __future__ import annotations

import dataclasses
import fcntl
import json
import mmap
import os
import re
import weakref
from pathlib import Path
from typing import Any

from tricodec.triton_backend.runtime.errors import MemoryFileError

_FIXED_SIZE = fcntl.F_SEAL_SHRINK | fcntl.F_SEAL_GROW
_FIXED_DATA = _FIXED_SIZE | fcntl.F_SEAL_WRITE
_NAME = re.compile(r"[0-9a-f]{32}")
_MOST_BYTES = 256
_MOST_KEPT_BYTES = 256 << 20


@dataclasses.dataclass(frozen=True, slots=True)
class ClientFile:
    """What a request says of a file.

    Attributes:
        pid: of the client's process.
        descriptor: the file's number there.
        name: its random part, 32 hexadecimal digits.
    """

    pid: int
    descriptor: int
    name: str

    @classmethod
    def parse(cls, text: bytes, named: str) -> ClientFile:
        """The file that the value of the input `named` describes, a JSON object.

        Raises:
            ValueError: it describes none.
        """
        try:
            found = json.loads(text[:_MOST_BYTES])
            file = cls(int(found["pid"]), int(found["descriptor"]), str(found["name"]))
        except (KeyError, TypeError, ValueError) as error:
            raise ValueError(
                f"{named} is {bytes(text[:_MOST_BYTES])!r}; expected a JSON object with pid, descriptor and name"
            ) from error
        if min(file.pid, file.descriptor) < 0 or not _NAME.fullmatch(file.name):
            raise ValueError(f"{named} names {file}; expected numbers from 0 and a name of 32 hexadecimal digits")
        return file

    def _open(self, access: int, seals: int) -> int:
        """A descriptor of the file, which the caller closes.

        Raises:
            MemoryFileError: it cannot be opened here, or its owner could still change what must not change.
        """
        try:
            descriptor = os.open(f"/proc/{self.pid}/fd/{self.descriptor}", access | os.O_CLOEXEC | os.O_NONBLOCK)
        except OSError as error:
            raise MemoryFileError(f"the file of the process {self.pid} cannot be opened: {error.strerror}") from error
        try:
            link = str(Path(f"/proc/self/fd/{descriptor}").readlink())
            if link != f"/memfd:tricodec-client-{self.name} (deleted)":
                raise MemoryFileError(f"the process {self.pid} has no file of this name")
            if fcntl.fcntl(descriptor, fcntl.F_GET_SEALS) & seals != seals:
                raise MemoryFileError("the file is not sealed: its owner could still change it")
        except BaseException:
            os.close(descriptor)
            raise
        return descriptor

    def map_for_writing(self, num_bytes: int) -> mmap.mmap | None:
        """The file, or None if it has fewer bytes. In a worker it stays mapped for the next request that names it.

        Raises:
            MemoryFileError: as above.
        """
        memory = _kept.files.pop(self, None) or self._map()
        _kept.add(self, memory)
        return memory if len(memory) >= num_bytes else None

    def _map(self) -> mmap.mmap:
        descriptor = self._open(os.O_RDWR, _FIXED_SIZE)
        try:
            if not os.fstat(descriptor).st_size:
                raise MemoryFileError("the file is empty")
            return mmap.mmap(descriptor, 0, flags=mmap.MAP_SHARED | mmap.MAP_POPULATE)
        finally:
            os.close(descriptor)


class _KeptFiles:
    """Files of the last requests of a worker, the latest at the end.

    To map 44 MB again takes a tenth of the time of decoding them.
    """

    def __init__(self) -> None:
        self.most_bytes = 0
        self.files: dict[ClientFile, mmap.mmap] = {}

    def add(self, file: ClientFile, memory: mmap.mmap) -> None:
        """Keeps a file if its size allows that, and as many of the others as fit beside it."""
        if len(memory) > self.most_bytes:
            return
        self.files[file] = memory
        while sum(map(len, self.files.values())) > self.most_bytes:
            self.files.pop(next(iter(self.files)))


_kept = _KeptFiles()


def keep_files() -> None:
    """Lets files stay mapped in this process, which works on one request at a time."""
    _kept.most_bytes = _MOST_KEPT_BYTES


def forget_files() -> None:
    """Unmaps the files, so that clients that are gone leave no memory behind."""
    _kept.files.clear()


class ClientVideo(mmap.mmap):
    """The bytes of a client's file, for reading. They cannot change.

    Attributes:
        descriptor: of the file, valid as long as this object.
    """

    descriptor: int

    @classmethod
    def open(cls, file: ClientFile) -> ClientVideo:
        """Maps the file.

        Raises:
            MemoryFileError: as ClientFile.
        """
        descriptor = file._open(os.O_RDONLY, _FIXED_DATA)
        try:
            if not os.fstat(descriptor).st_size:
                raise ValueError("VIDEO_FILE is empty; it must have the bytes of a media file")
            video = cls(descriptor, 0, prot=mmap.PROT_READ)
        except BaseException:
            os.close(descriptor)
            raise
        video.descriptor = descriptor
        weakref.finalize(video, os.close, descriptor).atexit = False
        return video


def text_of(element: Any) -> bytes:
    """The bytes of an element of a tensor of BYTES."""
    return element if isinstance(element, bytes) else str(element).encode()
