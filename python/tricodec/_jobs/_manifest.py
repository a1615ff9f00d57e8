# SPDX-License-Identifier: Apache-2.0
"""The manifest of a job: a row for each file, as lines of JSON or as a Parquet file."""

from __future__ import annotations

import fcntl
import json
import os
from collections.abc import Iterator
from pathlib import Path
from types import TracebackType
from typing import Any

from tricodec._dataset._columns import arrow
from tricodec._output_files import OutputStream
from tricodec._tricodec import OutputFile

_COLUMNS = {
    "source": "string", "output": "string", "job": "string", "key": "string", "status": "string", "error": "string",
    "size_bytes": "int64", "sha256": "string", "num_tries": "int64", "num_frames": "int64",
    "num_damaged_packets": "int64", "num_cuts": "int64", "num_streams": "int64", "bytes_read": "int64",
    "seconds": "float64", "engine": "string", "source_size_bytes": "int64", "source_mtime_ns": "int64",
    "source_etag": "string",
}  # fmt: skip


def _line(row: dict[str, Any]) -> bytes:
    try:
        return (json.dumps(row, ensure_ascii=False) + "\n").encode()
    except UnicodeEncodeError:  # a name that is not UTF-8
        return (json.dumps(row) + "\n").encode()


class Manifest:
    """Rows by output. Each is on disk when `add` returns; a process that is killed loses none.

    Rows go to a file of JSON lines. Of a name that ends in ``.parquet`` that file is beside it and hidden, and becomes
    the Parquet file when the manifest is closed.

    Thread safety: one thread at a time; one process at a time, which a lock ensures.
    """

    def __init__(self, path: Path) -> None:
        """Opens a manifest, or makes an empty one.

        Raises:
            BlockingIOError: another process is writing it.
            ValueError: the file is not a manifest.
        """
        self._path = path
        self._is_parquet = path.suffix == ".parquet"
        if self._is_parquet:
            arrow()
        path.parent.mkdir(parents=True, exist_ok=True)
        self._lines = lines = self._lines_of(path)
        self._descriptor = os.open(lines, os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o666)
        self.rows: dict[str, dict[str, Any]] = {}
        """The last row of each output."""
        try:
            fcntl.flock(self._descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            for row in [*self._parquet_rows(), *self._line_rows()]:
                self.rows[row["output"]] = row
        except BlockingIOError:
            os.close(self._descriptor)
            raise BlockingIOError(f"another process runs the job of '{path}'; wait for it, or name another") from None
        except BaseException:
            os.close(self._descriptor)
            raise

    @classmethod
    def is_at(cls, path: Path) -> bool:
        """True if a job has begun with this manifest."""
        return path.exists() or cls._lines_of(path).exists()

    @staticmethod
    def _lines_of(path: Path) -> Path:
        return path.with_name(f".{path.name}.jsonl") if path.suffix == ".parquet" else path

    def add(self, row: dict[str, Any]) -> None:
        """Appends a row, which replaces an earlier one of the same output."""
        self.rows[row["output"]] = row
        left = memoryview(_line(row))
        while left:
            left = left[os.write(self._descriptor, left) :]

    def _line_rows(self) -> Iterator[dict[str, Any]]:
        """The rows so far. A line that a killed process left without an end is cut off."""
        with os.fdopen(os.dup(self._descriptor), "rb") as file:
            file.seek(0)
            end = 0
            for line in file:
                if not line.endswith(b"\n"):
                    break
                end += len(line)
                try:
                    row = json.loads(line)
                    row["output"]
                except (ValueError, KeyError, TypeError) as error:
                    raise ValueError(f"'{self._lines}' is not a manifest; name another file ({error!r})") from error
                yield row
        os.ftruncate(self._descriptor, end)

    def _parquet_rows(self) -> list[dict[str, Any]]:
        if not (self._is_parquet and self._path.exists()):
            return []
        import pyarrow.parquet as pq

        table = pq.read_table(self._path)
        if not {"source", "output", "status"} <= set(table.column_names):
            raise ValueError(f"'{self._path}' is not a manifest; name another file")
        rows: list[dict[str, Any]] = table.to_pylist()
        return rows

    def _write_parquet(self) -> None:
        pa = arrow()
        import pyarrow.parquet as pq

        types = {"string": pa.string(), "int64": pa.int64(), "float64": pa.float64()}
        schema = pa.schema([(name, types[kind]) for name, kind in _COLUMNS.items()])
        rows = [self.rows[output] for output in sorted(self.rows)]
        with OutputFile(self._path) as file:
            pq.write_table(
                pa.Table.from_pylist(rows, schema), pa.PythonFile(OutputStream(file), mode="w"), compression="zstd"
            )
        self._lines.unlink()

    def __enter__(self) -> Manifest:
        return self

    def __exit__(
        self, exc_type: type[BaseException] | None, exc: BaseException | None, traceback: TracebackType | None
    ) -> None:
        try:
            if self._is_parquet:
                self._write_parquet()
            else:
                os.fsync(self._descriptor)
        finally:
            os.close(self._descriptor)
