# SPDX-License-Identifier: Apache-2.0
"""Videos in tar archives as WebDataset writes them: the samples of an archive, and one member as a source."""

from __future__ import annotations

import dataclasses
import os
import tarfile
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

from tricodec.errors import CorruptDataError
from tricodec.remote import is_remote_url, open_remote
from tricodec.remote._source import PlacedFile


@dataclasses.dataclass(frozen=True)
class Member:
    """A file in an archive."""

    name: str
    offset: int
    """The first byte of its data."""
    size_bytes: int
    others: dict[str, tuple[int, int]] = dataclasses.field(default_factory=dict)
    """Offset and size of the other files of its sample, by their extensions."""


class TarPart:
    """The bytes of a member of an archive, as a source of their own. Thread safety: safe."""

    def __init__(self, place: str, offset: int, size_bytes: int, name: str, remote_options: Mapping[str, Any]) -> None:
        self.name = name
        self.size_bytes = size_bytes
        self._place, self._offset = place, offset
        self._remote = open_remote(place, **remote_options) if is_remote_url(place) else None

    @property
    def etag(self) -> str | None:
        """The ETag of the archive if it is an object in a store."""
        return None if self._remote is None else self._remote.etag

    def read(self) -> bytes:
        with self._open_reader() as file:
            return file.readall()

    def _open_reader(self) -> PlacedFile:
        if self._remote is not None:
            return self._remote.open_part(self._offset, self.size_bytes, self.name)
        return _Part(Path(self._place).open("rb", buffering=0), self._offset, self.size_bytes, self.name)


class _Part(PlacedFile):
    """Some bytes of a file."""

    def __init__(self, file: Any, offset: int, size_bytes: int, name: str) -> None:
        super().__init__(name, offset, offset + size_bytes)
        self._file = file

    def read(self, size: int | None = -1) -> bytes:
        if size is None or size < 0:
            return self.readall()
        size = min(size, self._end - self._position)
        if size <= 0:
            return b""
        self._file.seek(self._position)
        data: bytes = self._file.read(size)
        if not data:
            raise CorruptDataError(f"'{self.name}' ends early: its archive is cut off; write the archive again")
        self._position += len(data)
        return data

    def close(self) -> None:
        if not self.closed:
            self._file.close()
        super().close()


def list_tar(place: str, is_video: Callable[[str], bool], remote_options: Mapping[str, Any]) -> Iterator[Member]:
    """The videos in an archive, each with the other files of its sample: those of the same name up to the first dot."""
    with open_remote(place, **remote_options).open() if is_remote_url(place) else Path(place).open("rb") as file:
        size = file.seek(0, os.SEEK_END)
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
                        yield from _videos_of(sample, is_video)
                        sample = []
                    sample.append((key, member.name, member.offset_data, member.size))
        except tarfile.TarError as error:
            raise CorruptDataError(f"'{place}' is no tar archive, or is compressed or cut off: {error}") from error
        yield from _videos_of(sample, is_video)


def _videos_of(sample: list[tuple[str, str, int, int]], is_video: Callable[[str], bool]) -> Iterator[Member]:
    others = {
        name.rpartition("/")[2].partition(".")[2]: (offset, size)
        for _, name, offset, size in sample
        if not is_video(name)
    }
    for _, name, offset, size in sample:
        if is_video(name):
            yield Member(name, offset, size, others)
