# SPDX-License-Identifier: Apache-2.0
"""Rows that an unfinished run has made, kept beside the index until it is whole."""

from __future__ import annotations

import fcntl
import os
from pathlib import Path
from types import TracebackType
from typing import Any

from tricodec._dataset._columns import arrow, schema

_LENGTH_BYTES = 8
_ROOT = b"root"


class Journal:
    """A file of tables of rows, each after its length in bytes. A table that a killed process left cut is dropped.

    Thread safety: one thread at a time; one process at a time, which a lock ensures.
    """

    def __init__(self, output: Path) -> None:
        self._path = output.with_name(f".{output.name}.progress")
        self._descriptor = os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o666)
        try:
            fcntl.flock(self._descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(self._descriptor)
            raise BlockingIOError(f"another process is writing '{output}'; wait for it, or name another file") from None

    def tables(self, root: str) -> list[Any]:
        """The tables so far, if their paths begin in `root`. What is appended comes after them."""
        pa = arrow()
        tables, end = [], 0
        with os.fdopen(os.dup(self._descriptor), "rb") as file:
            file.seek(0)
            while len(head := file.read(_LENGTH_BYTES)) == _LENGTH_BYTES:
                length = int.from_bytes(head, "little")
                try:
                    table = pa.ipc.open_stream(pa.BufferReader(file.read(length))).read_all()
                except pa.ArrowInvalid:
                    break
                if not table.schema.equals(schema()) or table.schema.metadata != {_ROOT: root.encode()}:
                    break
                tables.append(table.replace_schema_metadata(None))
                end += _LENGTH_BYTES + length
        os.ftruncate(self._descriptor, end)
        os.lseek(self._descriptor, end, os.SEEK_SET)
        return tables

    def append(self, table: Any, root: str) -> None:
        """Adds rows with paths that begin in `root`."""
        pa = arrow()
        table = table.replace_schema_metadata({_ROOT: root.encode()})
        sink = pa.BufferOutputStream()
        with pa.ipc.new_stream(sink, table.schema) as writer:
            writer.write_table(table)
        data = sink.getvalue()
        left = memoryview(data.size.to_bytes(_LENGTH_BYTES, "little") + data.to_pybytes())
        while left:
            left = left[os.write(self._descriptor, left) :]

    def discard(self) -> None:
        """Removes the file: the index has its rows."""
        self._path.unlink(missing_ok=True)

    def __enter__(self) -> Journal:
        return self

    def __exit__(
        self, exc_type: type[BaseException] | None, exc: BaseException | None, traceback: TracebackType | None
    ) -> None:
        if os.fstat(self._descriptor).st_size == 0:
            self.discard()
        os.close(self._descriptor)
