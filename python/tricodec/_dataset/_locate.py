# SPDX-License-Identifier: Apache-2.0
"""Which videos an index is of: files of folders, objects of stores, and what tells their versions apart."""

from __future__ import annotations

import dataclasses
import json
import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path, PurePosixPath
from typing import Any

from tricodec._dataset._folders import SUFFIXES, files_below
from tricodec._dataset._lance import LanceValue, list_lance, version_of
from tricodec._dataset._parts import Member, ParquetValue, TarPart, list_parquet, list_tar
from tricodec._remote._listing import list_objects
from tricodec._remote._source import remote
from tricodec._remote._stores import is_remote_url
from tricodec.errors import CorruptDataError, MediaNotFoundError

#: The columns of an index that say which video a row is of.
LOCATED_COLUMNS = ("path", "size_bytes", "mtime_ns", "etag", "file", "file_offset")


@dataclasses.dataclass(frozen=True)
class Located:
    """A video, and its version as far as that is known before it is opened."""

    path: str
    """As the index has it: from the root on, absolute, or a URL."""
    place: str
    """What opens it: an absolute path or a URL."""
    size_bytes: int | None = None
    mtime_ns: int | None = None
    etag: str | None = None
    error: str = ""
    file: str | None = None
    """The archive that it is in, as the index has it; `place` opens that."""
    member: Member | None = None
    """Where it is in `file`."""

    @property
    def is_remote(self) -> bool:
        """True for an object in a store or on a web server."""
        return is_remote_url(self.place)

    def columns(self) -> dict[str, Any]:
        """What the index has about the archive."""
        if self.member is None:
            return {"file": None, "file_offset": None, "sample": None}
        sample = json.dumps(self.member.others) if self.member.others else None
        return {"file": self.file, "file_offset": self.member.offset, "sample": sample}

    def source(self, remote_options: Mapping[str, Any]) -> Any:
        """What ``FrameReader`` takes."""
        if self.member is not None:
            name, offset, size = f"{self.place}/{self.member.name}", self.member.offset, self.member.size_bytes
            if is_lance(self.place):
                return LanceValue(self.place, offset, size, name, self.etag)
            if is_parquet(self.place):
                return ParquetValue(self.place, offset, size, name)
            return TarPart(self.place, offset, size, name, remote_options)
        return remote(self.place, **remote_options) if self.is_remote else self.place


def common_root(sources: Iterable[str]) -> str:
    """The folder that all local sources lie in, or "" without any."""
    folders = [
        absolute(each) if Path(each).is_dir() and not is_lance(each) else absolute(Path(each).parent)
        for each in sources
        if not is_remote_url(each)
    ]
    return os.path.commonpath(folders) if folders else ""


def is_video(name: str) -> bool:
    """True for the name of a video file."""
    return PurePosixPath(name).suffix.lower() in SUFFIXES


def locate(
    sources: Iterable[str], root: str, remote_options: Mapping[str, Any], accept: Callable[[str], bool] = is_video
) -> Iterator[Located]:
    """The videos that sources mean.

    Args:
        sources: files, folders, URLs of objects, and URLs with "/" at their end, which mean the objects below them.
        root: the folder that paths of the index begin in.
        remote_options: for `tricodec.remote`.
        accept: which names in folders are meant.

    Raises:
        MediaNotFoundError: there is no such file or folder.
    """
    for source in sources:
        if is_remote_url(source):
            yield from _objects(source, remote_options, accept)
        elif is_lance(source) and Path(source).is_dir():
            yield dataclasses.replace(stat_of(absolute(source), root), size_bytes=None, mtime_ns=None)
        elif Path(source).is_dir():
            for path, error in files_below(absolute(source), accept):
                found = stat_of(path, root)
                yield found if error is None else Located(found.path, path, error=one_line(error))
        elif Path(source).exists():
            yield stat_of(absolute(source), root)
        else:
            raise MediaNotFoundError(f"'{source}' does not exist; name a file, a folder or a URL")


def locate_videos(sources: Iterable[str], root: str, remote_options: Mapping[str, Any]) -> Iterator[Located]:
    """The videos that sources mean, also those in tar archives, and in Parquet and Lance tables that are named.

    An archive that cannot be read is a row with the reason.

    Args:
        sources, root, remote_options: as `locate` takes them.

    Raises:
        MediaNotFoundError: there is no such file or folder.
    """
    for found in locate(sources, root, remote_options, lambda name: is_video(name) or is_tar(name)):
        if found.error or not (is_tar(found.place) or is_parquet(found.place) or is_lance(found.place)):
            yield found
            continue
        try:
            member = None
            etag = version_of(found.place) if is_lance(found.place) else found.etag
            for member in _members(found.place, etag, remote_options):
                name = f"{found.path}/{member.name}"
                yield dataclasses.replace(
                    found, path=name, size_bytes=member.size_bytes, etag=etag, file=found.path, member=member
                )
            if member is None:
                yield dataclasses.replace(found, error="no video is in it")
        except (CorruptDataError, OSError) as error:
            yield dataclasses.replace(found, error=one_line(error))


def _members(place: str, version: str | None, remote_options: Mapping[str, Any]) -> Iterator[Member]:
    if is_tar(place):
        return list_tar(place, is_video, remote_options)
    return list_lance(place, version) if is_lance(place) else list_parquet(place)


def is_lance(place: str) -> bool:
    """Whether a folder is a Lance data set."""
    return not is_remote_url(place) and place.rstrip("/").lower().endswith(".lance")


def is_tar(place: str) -> bool:
    """Whether a file is an archive. A compressed one is too, and cannot be read."""
    return re.search(r"\.(tar(\.\w+)?|tgz)$", place.lower()) is not None


def is_parquet(place: str) -> bool:
    """Whether a file is a table, of which each row holds a video."""
    return place.lower().endswith(".parquet")


def located_row(row: Mapping[str, Any], root: str) -> Located:
    """The video of a row of an index: of its columns path, size_bytes, mtime_ns, etag, file and file_offset."""
    path, file = row["path"], row["file"]
    version = (row["size_bytes"], row["mtime_ns"], row["etag"])
    if file is None:
        return Located(path, place_of(path, root), *version)
    member = Member(path.removeprefix(f"{file}/"), row["file_offset"], row["size_bytes"])
    return Located(path, place_of(file, root), *version, file=file, member=member)


def place_of(path: str, root: str) -> str:
    """Where the video of a row is."""
    return path if is_remote_url(path) or not root else str(Path(root, path))


def stat_of(place: str, root: str) -> Located:
    """The version of a local file; without one if it is not there."""
    try:
        named = os.path.relpath(place, root) if root and os.path.commonpath([root, place]) == root else place
        named.encode()
    except UnicodeEncodeError:
        shown = place.encode("utf-8", "backslashreplace").decode()
        return Located(shown, place, error="the name of the file is not UTF-8; rename it")
    try:
        facts = Path(place).stat()
    except OSError:
        return Located(named, place)
    return Located(named, place, facts.st_size, facts.st_mtime_ns)


def absolute(path: str | os.PathLike[str]) -> str:
    """An absolute path without "..", links as they are."""
    return os.path.normpath(Path(path).absolute())


def one_line(error: BaseException) -> str:
    """Why a file cannot be read, in one line."""
    text = error.strerror if isinstance(error, OSError) and error.filename is not None else None
    return " ".join((text or str(error) or type(error).__name__).split())


def _objects(url: str, remote_options: Mapping[str, Any], accept: Callable[[str], bool]) -> Iterator[Located]:
    if not url.endswith("/"):
        yield Located(url, url)
        return
    for each in list_objects(url, **remote_options):
        if accept(each.url):
            yield Located(each.url, each.url, each.version.size_bytes, None, each.version.tag or each.version.modified)
