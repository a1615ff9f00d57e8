# SPDX-License-Identifier: Apache-2.0
"""Sources on their way to a node: the client passes open files, and the node opens nothing by its name for a client."""

from __future__ import annotations

import contextlib
import io
import os
import pickle
import stat
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tricodec._tricodec import probe
from tricodec.errors import RefusedError
from tricodec.limits import get_limits
from tricodec.node import _channel
from tricodec.remote import RemoteSource

_PIECE_BYTES = 1 << 20


class SentSource:
    """A source as the client holds it: a description, and an open file. close() closes the file."""

    def __init__(self, source: Any) -> None:
        """Opens a file, or copies bytes into a memory file.

        Raises:
            TypeError: `source` is none that `tricodec.probe` accepts.
            Error: the file cannot be opened.
        """
        self.file = -1
        self.described: dict[str, Any] = {"kind": "file", "name": ""}
        if isinstance(source, str | os.PathLike):
            self.described["name"] = os.fsdecode(source)
            self.file = _opened(source)
        elif isinstance(source, RemoteSource):
            self.described = {"kind": "remote", "name": source.name}
            self.file = _channel.memory_file("tricodec-source", pickle.dumps(source))
        elif hasattr(source, "_open_reader"):  # a part of an archive
            self.file = _copied(source._open_reader())
        elif hasattr(source, "read"):
            self.file = _copied(source) if (file := _file_of(source)) is None else os.dup(file)
        else:
            try:
                data = memoryview(source)
                if not data.c_contiguous:
                    raise BufferError("the bytes are not contiguous")
            except (TypeError, BufferError):
                probe(source)  # raises the error of all calls
                raise
            self.file = _channel.memory_file("tricodec-source", data)

    def close(self) -> None:
        """Closes the file; once."""
        file, self.file = self.file, -1  # first: after Ctrl-C between both it would be closed twice
        if file >= 0:
            os.close(file)

    def __enter__(self) -> SentSource:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _opened(path: Any) -> int:
    try:
        file = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)  # a pipe without a writer would wait
    except (OSError, ValueError):
        probe(path)  # raises the error of all calls
        raise
    if not stat.S_ISREG(os.fstat(file).st_mode):
        os.close(file)
        probe(path)  # raises the error of all calls
        raise RefusedError(f"'{os.fsdecode(path)}' is not a regular file")
    return file


def _file_of(source: Any) -> int | None:
    """The descriptor of an object that reads a file as it is; None for others."""
    raw = source.raw if type(source) is io.BufferedReader else source
    is_file = type(raw) is io.FileIO and not raw.closed and raw.readable()
    return raw.fileno() if is_file and stat.S_ISREG(os.fstat(raw.fileno()).st_mode) else None


def _copied(source: Any) -> int:
    """A file with all that an object reads, within the limits of a reader in this process, and with its errors."""
    limits, size = get_limits(), 0
    can_seek = getattr(source, "seekable", lambda: False)()
    copy = _channel.memory_file("tricodec-source", b"")
    try:
        if can_seek:
            with contextlib.suppress(OSError):
                source.seek(0)
        while (piece := source.read(_PIECE_BYTES)) is None or len(piece):
            if not isinstance(piece, bytes | bytearray | memoryview):
                probe(source)  # raises the error of all calls
                raise TypeError(f"read() of the source returned {type(piece).__name__}, not bytes")
            _channel.write(copy, piece)
            is_in_memory, size = size <= limits.max_spool_memory_bytes, size + len(piece)
            if is_in_memory and size > limits.max_spool_memory_bytes:
                with tempfile.TemporaryFile(buffering=0) as file:
                    _channel.write(file.fileno(), os.pread(copy, size, 0))
                    os.dup2(file.fileno(), copy, inheritable=False)
            if size > limits.max_spool_bytes and not can_seek:
                name = getattr(source, "name", f"<{type(source).__name__}>")
                raise RefusedError(
                    f"'{name}' cannot seek, and more of it must be kept than limits.max_spool_bytes = "
                    f"{limits.max_spool_bytes} bytes; pass a path, bytes or an object that can seek, read it in order "
                    "with Demuxer or StreamReader, or raise the limit with set_limits()"
                )
    except BaseException:
        os.close(copy)
        raise
    return copy


class ReceivedSource:
    """A source in the process that decodes."""

    def __init__(self, described: dict[str, Any], file: int) -> None:
        """Takes over an open file."""
        self.name = str(described["name"]) or "<bytes>"
        self.file = file
        self.is_remote = described["kind"] == "remote"
        about = os.fstat(file)
        self.key: tuple[Any, ...] = (about.st_dev, about.st_ino, about.st_size, about.st_mtime_ns, about.st_ctime_ns)
        """The same for the same bytes: of a file its number, size and times, of which programs set the first one."""
        if self.is_remote:
            self.key = ("remote", os.pread(file, about.st_size, 0))

    @property
    def path(self) -> str:
        """Where a process that has the file reads it."""
        return f"/proc/self/fd/{self.file}"

    def open(self) -> Any:
        """What `FrameReader` takes. An open file can be opened again as long as this object lives."""
        # The pickle is of a process of the same user, which could run code as this user anyway.
        return pickle.loads(os.pread(self.file, os.fstat(self.file).st_size, 0)) if self.is_remote else Path(self.path)

    def close(self) -> None:
        """Closes the file; once."""
        if self.file >= 0:
            os.close(self.file)
            self.file = -1


def plain(value: Any) -> Any:
    """An option as JSON has it: arrays as lists, fractions as numbers."""
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if isinstance(value, slice):
        raise TypeError("a slice of frames has no meaning here; give start, stride and count")
    if hasattr(value, "tolist"):
        return value.tolist()
    if isinstance(value, Sequence):
        return [plain(each) for each in value]
    return float(value)
