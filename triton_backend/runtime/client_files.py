# SPDX-License-Identifier: Apache-2.0
"""Files of a client on the same machine: it hands over a video in one, and gets frames in another.

A request names the client's process, and the descriptor and random name of a memory file. That opens through /proc, and
only if the name is right, so a request cannot name anything else. A memory file may hold the number of another
descriptor: then the video is the file on disk which the client has open there. No copy is made between the client and a
worker: Triton carries the names alone. tricodec.triton.client makes the files.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import mmap
import os
import re
import stat
import threading
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from tricodec import Error
from tricodec._tricodec import lock_pages  # noqa: PLC2701
from tricodec.triton_backend.runtime.errors import MemoryFileError
from tricodec.triton_backend.runtime.rows import check_size
from tricodec.triton_backend.runtime.settings import Settings

_FIXED_SIZE = fcntl.F_SEAL_SHRINK | fcntl.F_SEAL_GROW
_FIXED_DATA = _FIXED_SIZE | fcntl.F_SEAL_WRITE
_NAME = re.compile(r"[0-9a-f]{32}")
_MOST_BYTES = 256
_MOST_KEPT_BYTES = 256 << 20
_USES_BEFORE_LOCKING = 8  # to lock the pages of a file for a GPU takes as long as so many copies
REST_SECONDS = 1.0  # after so long without a request a worker forgets the files of clients

Mapped = mmap.mmap | npt.NDArray[np.uint8]
"""The bytes of a file: an array once its pages are locked."""


class ClientFile(NamedTuple):
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
        return _parsed(text, named)[0]

    def _open(self, access: int, seals: int) -> int:
        """A descriptor of the file, which the caller closes.

        Raises:
            MemoryFileError: it cannot be opened here, or its owner could still change what must not change.
        """
        descriptor = _open(self.pid, self.descriptor, access)
        try:
            link = os.readlink(f"/proc/self/fd/{descriptor}")  # noqa: PTH115  # each request does this
            if link != f"/memfd:tricodec-client-{self.name} (deleted)":
                raise MemoryFileError(f"the process {self.pid} has no file of this name")
            if fcntl.fcntl(descriptor, fcntl.F_GET_SEALS) & seals != seals:
                raise MemoryFileError("the file is not sealed: its owner could still change it")
        except BaseException:
            os.close(descriptor)
            raise
        return descriptor

    def map(self, num_bytes: int, *, writable: bool, device: str = "cpu") -> Mapped | None:
        """The file, or None if it has fewer bytes. In a worker it stays mapped for the next request that names it.

        After several requests for a writable file its pages are locked: the GPU `device` then copies to it by itself.

        Raises:
            MemoryFileError: as above.
        """
        memory, num_uses = _kept.files.pop((self, writable), None) or (self._map(writable), 0)
        if num_uses == _USES_BEFORE_LOCKING and device != "cpu":
            with contextlib.suppress(Error):  # frames come without it too
                memory = lock_pages(memory, int(device.partition(":")[2]))
        _kept.add(self, writable, memory, num_uses + 1)
        return memory if len(memory) >= num_bytes else None

    def _map(self, writable: bool) -> mmap.mmap:
        descriptor = self._open(os.O_RDWR if writable else os.O_RDONLY, _FIXED_SIZE)
        try:
            if not os.fstat(descriptor).st_size:
                raise MemoryFileError("the file is empty")
            access = mmap.PROT_READ | (mmap.PROT_WRITE if writable else 0)
            return mmap.mmap(descriptor, 0, flags=mmap.MAP_SHARED | mmap.MAP_POPULATE, prot=access)
        finally:
            os.close(descriptor)

    def open_on_disk(self) -> int:
        """A descriptor, which the caller closes, of the file on disk that this one permits to read.

        Raises:
            MemoryFileError: as above, or there is no such file.
        """
        permit = self._open(os.O_RDONLY, _FIXED_DATA)
        try:
            number = int(os.read(permit, 16))
            client = os.fstat(permit).st_uid  # the user that made it, whatever the process is now
        except ValueError as error:
            raise MemoryFileError("the file does not hold the number of a descriptor") from error
        finally:
            os.close(permit)
        opened = _open(self.pid, number, os.O_RDONLY)
        found = os.fstat(opened)
        if stat.S_ISREG(found.st_mode) and _may_read(client, found):
            return opened
        os.close(opened)
        raise MemoryFileError(f"the descriptor {number} of the process {self.pid} is no file on disk that it may read")


def _may_read(user: int, file: os.stat_result) -> bool:
    """Whether a user may read a file that the server opened: a client can hold a descriptor without that right."""
    is_owner = user == file.st_uid and file.st_mode & stat.S_IRUSR
    return bool(user == os.geteuid() or is_owner or file.st_mode & stat.S_IROTH)


class _KeptFiles(threading.local):
    """Files of the last requests of a worker, a process or a thread, the latest at the end.

    To map 44 MB again takes a tenth of the time of decoding them.
    """

    def __init__(self) -> None:
        self.most_bytes = 0
        self.files: dict[tuple[ClientFile, bool], tuple[Mapped, int]] = {}

    def add(self, file: ClientFile, writable: bool, memory: Mapped, num_uses: int) -> None:
        """Keeps a file if its size allows that, and as many of the others as fit beside it."""
        if len(memory) > self.most_bytes:
            return
        self.files[file, writable] = memory, num_uses
        while sum(len(each) for each, _ in self.files.values()) > self.most_bytes:
            self.files.pop(next(iter(self.files)))


_kept = _KeptFiles()


def keep_files() -> None:
    """Lets files stay mapped for this thread, which works on one request at a time."""
    _kept.most_bytes = _MOST_KEPT_BYTES


def forget_files() -> None:
    """Unmaps the files of this thread, so that clients that are gone leave no memory behind."""
    _kept.files.clear()


class ClientVideo(NamedTuple):
    """A video that a client hands over.

    Attributes:
        file: where it is.
        size: in bytes, as the client says.
        on_disk: `file` only permits to read it.
    """

    file: ClientFile
    size: int
    on_disk: bool = False

    @classmethod
    def parse(cls, text: bytes, named: str) -> ClientVideo:
        """As ClientFile.parse().

        Raises:
            ValueError: it describes none.
        """
        file, facts = _parsed(text, named)
        size, on_disk = facts.get("size"), facts.get("on_disk", False)
        if not isinstance(size, int) or isinstance(size, bool) or size < 1 or not isinstance(on_disk, bool):
            raise ValueError(f"{named} has the size {size!r}; expected that of a media file in bytes, 1 or more")
        return cls(file, size, on_disk)

    @contextlib.contextmanager
    def opened(self, settings: Settings) -> Iterator[Any]:
        """The bytes of a video in memory, or the path of one on disk, which may be cut short while it is read.

        Raises:
            MemoryFileError: as ClientFile, or it has fewer bytes than the client says.
            ValueError: it is larger than the model accepts.
        """
        if not self.on_disk:
            memory = self.file.map(self.size, writable=False)
            if memory is None:
                raise MemoryFileError(f"the file has fewer bytes than the {self.size} of the video")
            yield memoryview(memory)[: self.size]
            return
        descriptor = self.file.open_on_disk()
        path = f"/proc/self/fd/{descriptor}"
        try:
            check_size(os.fstat(descriptor).st_size, "VIDEO_FILE", settings)
            yield path
        except Exception as error:
            texts = [each.replace(path, "VIDEO_FILE") if isinstance(each, str) else each for each in error.args]
            error.args = tuple(texts)
            raise
        finally:
            os.close(descriptor)


def _open(pid: int, descriptor: int, access: int) -> int:
    try:
        return os.open(f"/proc/{pid}/fd/{descriptor}", access | os.O_CLOEXEC | os.O_NONBLOCK)
    except OSError as error:
        raise MemoryFileError(f"the file of the process {pid} cannot be opened: {error.strerror}") from error


def _parsed(text: bytes, named: str) -> tuple[ClientFile, dict[str, Any]]:
    """The file that a JSON object describes, and the object."""
    try:
        found = json.loads(text[:_MOST_BYTES])
        file = ClientFile(int(found["pid"]), int(found["descriptor"]), str(found["name"]))
    except (KeyError, TypeError, ValueError) as error:
        raise ValueError(
            f"{named} is {bytes(text[:_MOST_BYTES])!r}; expected a JSON object with pid, descriptor and name"
        ) from error
    if min(file.pid, file.descriptor) < 0 or not _NAME.fullmatch(file.name):
        raise ValueError(f"{named} names {file}; expected numbers from 0 and a name of 32 hexadecimal digits")
    return file, found


def text_of(element: Any) -> bytes:
    """The bytes of an element of a tensor of BYTES."""
    return element if isinstance(element, bytes) else str(element).encode()
