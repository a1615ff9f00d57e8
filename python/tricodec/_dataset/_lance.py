# SPDX-License-Identifier: Apache-2.0
"""Videos in a column of a Lance data set: blobs, which are read in part, or plain bytes."""

from __future__ import annotations

import io
import os
from collections.abc import Iterator
from typing import Any

from tricodec._dataset._columns import arrow
from tricodec._dataset._parts import Member
from tricodec.errors import CorruptDataError, MediaIOError, UnsupportedError

_BUFFER_BYTES = 512 << 10
#: The process that used Lance first. Its threads do not exist in a child made by fork().
_PROCESS: list[int] = []


class LanceValue:
    """A video that is a value of a Lance data set, as a source. Thread safety: safe."""

    def __init__(self, place: str, row: int, size_bytes: int, name: str, etag: str | None) -> None:
        self.name = name
        self.size_bytes = size_bytes
        self.etag = etag
        self._place, self._row = place, row

    def _open_reader(self) -> Any:
        data = _dataset(self._place, self.etag)
        column, is_blob = _column(data, self._place)
        if not is_blob:
            return io.BytesIO(data.take([self._row], columns=[column])[column][0].as_py())
        (blob,) = data.take_blobs(column, indices=[self._row], buffer_size=_BUFFER_BYTES)
        return blob


def version_of(place: str) -> str:
    """The newest version of a data set: what `LanceValue` takes as its ETag."""
    return str(_dataset(place, None).version)


def list_lance(place: str, version: str | None) -> Iterator[Member]:
    """The values of the first column of blobs or bytes. The number of a row is its place in this version.

    Raises:
        CorruptDataError: there is no such column.
        MediaIOError: the data set cannot be read.
        ImportError: pylance is not installed.
        UnsupportedError: in a child made by fork() after Lance was used.
    """
    data = _dataset(place, version)
    column, is_blob = _column(data, place)
    arrow()
    import pyarrow.compute as pc

    row = 0
    for batch in data.scanner(columns=[column], batch_size=None if is_blob else 16).to_batches():
        values = batch.column(column)
        sizes = values.field("size") if is_blob else pc.binary_length(values)
        for is_valid, size in zip(values.is_valid().to_pylist(), sizes.to_pylist(), strict=True):
            if is_valid:
                yield Member(str(row), row, size)
            row += 1


def _dataset(place: str, version: str | None) -> Any:
    try:
        import lance
    except ImportError as error:
        raise ImportError(
            f"'{place}' is a Lance data set, which needs pylance: pip install 'tricodec[lance]'"
        ) from error
    if not _PROCESS:
        _PROCESS.append(os.getpid())
    if os.getpid() not in _PROCESS:
        raise UnsupportedError(
            f"Lance was used before this process was forked, and cannot read '{place}' here; start worker processes by "
            "spawn or forkserver"
        )
    try:
        return lance.dataset(place, version=None if version is None else int(version))
    except (ValueError, OSError) as error:
        raise MediaIOError(f"'{place}' cannot be read: {' '.join(str(error).split())[:300]}") from error


def _column(data: Any, place: str) -> tuple[str, bool]:
    """The name of the column of videos, and whether they are blobs."""
    pa = arrow()
    for field in data.schema:
        is_blob = getattr(field.type, "extension_name", "") == "lance.blob.v2"
        if is_blob or (field.metadata or {}).get(b"lance-encoding:blob") == b"true":
            return field.name, True
        if pa.types.is_binary(field.type) or pa.types.is_large_binary(field.type):
            return field.name, False
    raise CorruptDataError(f"'{place}' has no column of blobs or bytes, in which videos could be")
