# SPDX-License-Identifier: Apache-2.0
"""Videos inside other files: members of tar archives, and values of a column of Parquet files."""

from __future__ import annotations

import dataclasses
import io
import os
import tarfile
import threading
from collections import OrderedDict
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from tricodec._dataset._columns import arrow
from tricodec._remote._source import PlacedFile, remote
from tricodec._remote._stores import is_remote_url
from tricodec.errors import CorruptDataError, MediaIOError

_KEPT_GROUPS = 2


@dataclasses.dataclass(frozen=True)
class Member:
    """A file inside of another one."""

    name: str
    offset: int
    """The byte where it begins in a tar archive; the number of its row in a Parquet file."""
    size_bytes: int
    others: dict[str, tuple[int, int]] = dataclasses.field(default_factory=dict)
    """Offset and size of the other files of its sample, by their extensions."""


class TarPart:
    """Bytes of a file or an object, as a source of their own.

    Thread safety: safe.
    """

    def __init__(self, place: str, offset: int, size_bytes: int, name: str, remote_options: Mapping[str, Any]) -> None:
        self.name = name
        self.size_bytes = size_bytes
        self._place, self._offset = place, offset
        self._remote = remote(place, **remote_options) if is_remote_url(place) else None

    @property
    def etag(self) -> str | None:
        """Of the object that it is a part of."""
        return None if self._remote is None else self._remote.etag

    def _open_reader(self) -> io.RawIOBase:
        if self._remote is not None:
            return _RemotePart(self._remote.open(), self._offset, self.size_bytes, self.name)
        return _LocalPart(self._place, self._offset, self.size_bytes, self.name)

    def read(self) -> bytes:
        """All of it."""
        with self._open_reader() as file:
            return file.readall() or b""


class _Part(PlacedFile):
    """A place in some bytes of a file. Thread safety: one thread at a time."""

    def __init__(self, offset: int, size_bytes: int, name: str) -> None:
        super().__init__(name, size_bytes)
        self._offset = offset

    def _bytes(self, place: int, size: int) -> bytes:
        raise io.UnsupportedOperation

    def read(self, size: int | None = -1) -> bytes:
        """At most `size` bytes; -1 is all to the end."""
        if size is None or size < 0:
            return self.readall()
        size = min(size, self._size - self._position)
        if size <= 0:
            return b""
        data = self._bytes(self._offset + self._position, size)
        if not data:
            raise CorruptDataError(f"'{self.name}' ends early: its archive is cut off; write the archive again")
        self._position += len(data)
        return data


class _LocalPart(_Part):
    def __init__(self, place: str, offset: int, size_bytes: int, name: str) -> None:
        super().__init__(offset, size_bytes, name)
        self._file = Path(place).open("rb", buffering=0)  # noqa: SIM115  # close() closes it

    def _bytes(self, place: int, size: int) -> bytes:
        return os.pread(self._file.fileno(), size, place)

    def close(self) -> None:
        """Closes the file."""
        if not self.closed:
            self._file.close()
        super().close()


class _RemotePart(_Part):
    def __init__(self, file: Any, offset: int, size_bytes: int, name: str) -> None:
        super().__init__(offset, size_bytes, name)
        self._file = file

    def _bytes(self, place: int, size: int) -> bytes:
        self._file.seek(place)
        data: bytes = self._file.read(size)
        return data

    def lend(self, size: int) -> memoryview:
        """As RemoteFile.lend()."""
        left = self._size - self._position
        if left <= 0:
            return memoryview(b"")
        self._file.seek(self._offset + self._position)
        data: memoryview = self._file.lend(min(size, left))[:left]
        self._position += len(data)
        return data

    def will_read(self, ranges: Any) -> None:
        """Fetches ranges (offset, size in bytes) ahead."""
        self._file.will_read((self._offset + offset, min(size, self._size - offset)) for offset, size in ranges)

    def will_read_on(self) -> None:
        """Fetches the rest ahead."""
        self.will_read([(self._position, self._size - self._position)])


class ParquetValue:
    """A video that is a value of a Parquet file, as a source. One row group of its column is read at a time.

    Thread safety: safe.
    """

    etag = None

    def __init__(self, place: str, row: int, size_bytes: int, name: str) -> None:
        self.name = name
        self.size_bytes = size_bytes
        self._place, self._row = place, row

    def _open_reader(self) -> memoryview:
        values, start = _GROUPS.values(self._place, self._row)
        if self._row - start >= len(values):
            raise CorruptDataError(f"'{self._place}' has no row {self._row} any more; run tricodec index again")
        return memoryview(values[self._row - start].as_buffer())


class _Groups:
    """The columns of row groups that were read last."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._process = os.getpid()
        self._kept: OrderedDict[tuple[str, int], tuple[Any, int]] = OrderedDict()

    def values(self, place: str, row: int) -> tuple[Any, int]:
        """The values of a row's group, and the number of its first row."""
        import pyarrow.parquet as pq

        if self._process != os.getpid():
            self._lock, self._process = threading.Lock(), os.getpid()
        with self._lock:
            for (name, _), (values, start) in self._kept.items():
                if name == place and start <= row < start + len(values):
                    return values, start
            file = pq.ParquetFile(place)
            group, start = 0, 0
            while group < file.num_row_groups - 1 and start + file.metadata.row_group(group).num_rows <= row:
                start += file.metadata.row_group(group).num_rows
                group += 1
            self._kept[place, group] = _column(file, group), start
            if len(self._kept) > _KEPT_GROUPS:
                self._kept.popitem(last=False)
            return self._kept[place, group]


_GROUPS = _Groups()


def list_tar(place: str, is_video: Any, remote_options: Mapping[str, Any]) -> Iterator[Member]:
    """The videos in a tar archive, each with the other files of its sample: those of the same name up to a dot.

    Raises:
        CorruptDataError: it is no tar archive, is compressed, or ends early.
    """
    with remote(place, **remote_options).open() if is_remote_url(place) else Path(place).open("rb") as file:
        file.seek(0, os.SEEK_END)
        size = file.tell()
        file.seek(0)
        sample: list[tuple[str, str, int, int]] = []
        try:
            with tarfile.open(fileobj=file, mode="r:") as archive:
                for member in archive:
                    if not member.isreg():
                        continue
                    if member.offset_data + member.size > size:
                        raise CorruptDataError(
                            f"'{place}' ends early: '{member.name}' ends at byte {member.offset_data + member.size}, "
                            f"and there are {size} bytes"
                        )
                    folder, _, base = member.name.rpartition("/")
                    key = f"{folder}/{base.partition('.')[0]}"
                    if sample and sample[0][0] != key:
                        yield from _sample(sample, is_video)
                        sample = []
                    sample.append((key, member.name, member.offset_data, member.size))
        except tarfile.TarError as error:
            raise CorruptDataError(f"'{place}' is no tar archive, or is compressed or cut off: {error}") from error
        yield from _sample(sample, is_video)


def _sample(sample: list[tuple[str, str, int, int]], is_video: Any) -> Iterator[Member]:
    others = {
        name.rpartition("/")[2].partition(".")[2]: (offset, size)
        for _, name, offset, size in sample
        if not is_video(name)
    }
    for _, name, offset, size in sample:
        if is_video(name):
            yield Member(name, offset, size, others)


def list_parquet(place: str) -> Iterator[Member]:
    """The values of the first column of a Parquet file that holds bytes, or structs with bytes.

    Raises:
        CorruptDataError: there is no such column.
        MediaIOError: the file cannot be read.
    """
    pa = arrow()
    import pyarrow.parquet as pq

    try:
        file = pq.ParquetFile(place)
        row = 0
        for group in range(file.num_row_groups):
            for value in _column(file, group):
                if value.is_valid:
                    yield Member(str(row), row, value.as_buffer().size)
                row += 1
    except pa.ArrowException as error:
        raise MediaIOError(f"'{place}' cannot be read: {error}") from error


def _column(file: Any, group: int) -> Any:
    """The bytes of a row group, a list of scalars."""
    pa = arrow()
    for field in file.schema_arrow:
        inner = field.type.field("bytes").type if pa.types.is_struct(field.type) and _has_bytes(field.type) else None
        if pa.types.is_binary(field.type) or pa.types.is_large_binary(field.type) or inner is not None:
            name = field.name if inner is None else f"{field.name}.bytes"
            column = file.read_row_group(group, [name], use_threads=False)[field.name].combine_chunks()
            return column if inner is None else column.field("bytes")
    raise CorruptDataError("the Parquet file has no column of bytes, in which videos could be")


def _has_bytes(kind: Any) -> bool:
    return any(kind.field(number).name == "bytes" for number in range(kind.num_fields))
