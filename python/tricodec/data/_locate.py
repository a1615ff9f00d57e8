# SPDX-License-Identifier: Apache-2.0
"""Which videos an index is of: files of folders, members of archives, objects of stores, each with its version."""

from __future__ import annotations

import dataclasses
import json
import os
import re
import stat
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path, PurePosixPath
from typing import Any

from tricodec.data._tar import Member, TarPart, list_tar
from tricodec.errors import CorruptDataError, Error, MediaNotFoundError
from tricodec.remote import is_remote_url, open_remote
from tricodec.remote._stores import list_objects

SUFFIXES = frozenset(
    ".mp4 .m4v .mov .qt .3gp .3g2 .mkv .webm .avi .ts .mts .m2ts .mpg .mpeg .m2v .vob .flv .f4v .wmv .asf .ogv .ogg "
    ".mxf .ivf .obu .av1 .h264 .264 .avc .h265 .265 .hevc .mjpeg .mjpg .gif".split()
)  # fmt: skip
"""Names of videos end with one of them."""


@dataclasses.dataclass(frozen=True)
class Located:
    """A video, and its version as far as that is known before it is opened."""

    path: str
    """As the index has it: relative to the root, absolute, or a URL."""
    place: str
    """The absolute path or the URL that is opened: of the video, or of the archive that holds it."""
    size_bytes: int | None = None
    mtime_ns: int | None = None
    etag: str | None = None
    error: str = ""
    """Why it cannot be opened."""
    file: str | None = None
    """The archive that holds it, as the index has it."""
    member: Member | None = None
    """Where it is in the archive."""

    @property
    def is_remote(self) -> bool:
        """True for an object in a store or on a web server."""
        return is_remote_url(self.place)

    def columns(self) -> dict[str, Any]:
        """What the index says of its place and its version."""
        offset = sample = None
        if self.member is not None:
            offset = self.member.offset
            sample = json.dumps(self.member.others) if self.member.others else None
        return {
            "path": self.path, "file": self.file, "file_offset": offset, "sample": sample,
            "size_bytes": self.size_bytes, "mtime_ns": self.mtime_ns, "etag": self.etag,
        }  # fmt: skip

    def source(self, remote_options: Mapping[str, Any]) -> Any:
        """What ``FrameReader`` opens."""
        if self.member is not None:
            name = f"{self.place}/{self.member.name}"
            return TarPart(self.place, self.member.offset, self.member.size_bytes, name, remote_options)
        return open_remote(self.place, **remote_options) if self.is_remote else self.place

    def with_version(self, remote_options: Mapping[str, Any]) -> Located:
        """The same with the version of an object that was not listed, which takes a request."""
        if not self.is_remote or self.etag is not None or self.error:
            return self
        try:
            source = open_remote(self.place, **remote_options)
            return dataclasses.replace(self, size_bytes=source.size_bytes, etag=source.etag)
        except (Error, OSError) as error:
            return dataclasses.replace(self, error=one_line(error))


def located_row(row: Mapping[str, Any], root: str) -> Located:
    """The video of a row of an index, from its columns path, file, file_offset and size_bytes."""
    path, file = row["path"], row["file"]
    if file is None:
        return Located(path, place_of(path, root))
    member = Member(path.removeprefix(f"{file}/"), row["file_offset"], row["size_bytes"])
    return Located(path, place_of(file, root), file=file, member=member)


def locate(sources: Iterable[str], root: str, remote_options: Mapping[str, Any]) -> Iterator[Located]:
    """The videos that the sources of `DatasetIndex.build` mean; relative paths start in the folder `root`."""
    for source in sources:
        for found in _files_of(source, root, remote_options):
            if is_tar(found.place) and not found.error:
                yield from _members_of(found.with_version(remote_options), remote_options)
            else:
                yield found


def files_below(folder: str, accepts: Callable[[str], bool]) -> Iterator[tuple[str, Exception | None]]:
    """Paths of the files below a folder that `accepts` takes by name, in order, each with its error or None.

    Hidden files and links to folders are left out. A folder that may not be listed is given too, with its error.
    """
    failed: list[OSError] = []
    for parent, folders, names in os.walk(folder, onerror=failed.append):
        yield from ((error.filename, error) for error in failed)
        failed.clear()
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        for name in sorted(names):
            if not name.startswith(".") and accepts(name):
                path = os.path.join(parent, name)  # noqa: PTH118
                yield path, _error_of(path)
    yield from ((error.filename, error) for error in failed)


def common_root(sources: Iterable[str]) -> str:
    """The folder that all local sources lie in, or "" without any."""
    folders = [
        absolute(each) if Path(each).is_dir() else absolute(Path(each).parent)
        for each in sources
        if not is_remote_url(each)
    ]
    return os.path.commonpath(folders) if folders else ""


def is_video(name: str) -> bool:
    return PurePosixPath(name).suffix.lower() in SUFFIXES


def is_tar(place: str) -> bool:
    """True for the name of an archive. A compressed one is an archive too, and cannot be read."""
    return re.search(r"\.(tar(\.\w+)?|tgz)$", place.lower()) is not None


def place_of(path: str, root: str) -> str:
    """The absolute path or the URL of a path of an index."""
    return path if is_remote_url(path) or not root else str(Path(root, path))


def absolute(path: str | os.PathLike[str]) -> str:
    """An absolute path without "..", with links as they are."""
    return os.path.normpath(Path(path).absolute())


def one_line(error: BaseException) -> str:
    """Why a file cannot be read, in one line."""
    text = error.strerror if isinstance(error, OSError) and error.filename is not None else None
    return " ".join((text or str(error) or type(error).__name__).split())


def _error_of(path: str) -> Exception | None:
    """Why a path is not a file: a link that leads nowhere; a pipe, for which a reader would wait."""
    try:
        mode = os.stat(path).st_mode  # noqa: PTH116
    except OSError as error:
        return error
    if stat.S_ISREG(mode):
        return None
    return ValueError(f"'{path}' is a pipe, a socket or a device, and not a file")


def _files_of(source: str, root: str, remote_options: Mapping[str, Any]) -> Iterator[Located]:
    """The videos and archives that a source means."""
    if is_remote_url(source) and not source.endswith("/"):
        yield Located(source, source)
    elif is_remote_url(source):
        for url, version in list_objects(source, **remote_options):
            if _is_wanted(url):
                yield Located(url, url, version.size_bytes, None, version.tag or version.modified)
    elif Path(source).is_dir():
        for path, error in files_below(absolute(source), _is_wanted):
            found = _local(path, root)
            yield found if error is None else Located(found.path, path, error=one_line(error))
    elif Path(source).exists():
        yield _local(absolute(source), root)
    else:
        raise MediaNotFoundError(f"'{source}' does not exist; name a file, a folder or a URL")


def _members_of(archive: Located, remote_options: Mapping[str, Any]) -> Iterator[Located]:
    """The videos in an archive; the archive itself with an error if there is none or it cannot be read."""
    reason = archive.error or "no video is in it"
    try:
        for member in () if archive.error else list_tar(archive.place, is_video, remote_options):
            reason = ""
            yield dataclasses.replace(
                archive, path=f"{archive.path}/{member.name}", size_bytes=member.size_bytes, file=archive.path,
                member=member,
            )  # fmt: skip
    except (CorruptDataError, OSError) as error:
        reason = one_line(error)
    if reason:
        yield dataclasses.replace(archive, error=reason)


def _is_wanted(name: str) -> bool:
    return is_video(name) or is_tar(name)


def _local(place: str, root: str) -> Located:
    try:
        path = os.path.relpath(place, root) if root and os.path.commonpath([root, place]) == root else place
        path.encode()
        facts = Path(place).stat()
    except UnicodeEncodeError:
        shown = place.encode("utf-8", "backslashreplace").decode()
        return Located(shown, place, error="the name of the file is not UTF-8; rename it")
    except OSError as error:
        return Located(path, place, error=one_line(error))
    return Located(path, place, facts.st_size, facts.st_mtime_ns)
