# SPDX-License-Identifier: Apache-2.0
"""DatasetIndex: the rows of an index, and readers of its videos; indexes of folders in the user's cache."""

from __future__ import annotations

import bisect
import fcntl
import functools
import hashlib
import json
import os
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, SupportsIndex

from tricodec._tricodec import FrameReader, __version__, log
from tricodec.data._build import READINGS, IndexSummary, Reading, build_table
from tricodec.data._locate import absolute, common_root, is_tar, is_video, located_row, place_of
from tricodec.data._table import READABLE, NotAnIndexError, open_index, write_index
from tricodec.data._tar import TarPart
from tricodec.errors import CorruptDataError, SourceChangedError
from tricodec.installation import cache_dir
from tricodec.remote import is_remote_url

_KEPT_GROUPS = 8


class DatasetIndex:
    """The index of a set of videos, which `tricodec index` or `DatasetIndex.build` wrote: a row for each video.

        index = tricodec.data.DatasetIndex("videos.parquet")
        print(len(index), index[0]["num_frames"])
        with index.reader(0) as reader:
            frames = reader.batch([10, 50], size=(224, 224))

    A row has the facts of a video, the byte ranges of its groups of pictures, and the index of its packets. With that
    a reader opens without reading packets. An object can be pickled: another process opens the file again.

    Thread safety: safe.
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        *,
        root: str | os.PathLike[str] | None = None,
        remote_options: Mapping[str, Any] | None = None,
    ) -> None:
        """Opens an index.

        Args:
            path: the Parquet file.
            root: the folder that the videos are in, if they are not where they were indexed.
            remote_options: options of `tricodec.open_remote` for videos with URLs.

        Raises:
            FileNotFoundError: there is no such file.
            ValueError: the file is not an index, or is of another version.
            ImportError: pyarrow is not installed.
        """
        self.path = absolute(path)
        """The absolute path of the Parquet file."""
        self._given_root = None if root is None else absolute(root)
        self._remote_options = dict(remote_options or {})
        self._lock = threading.Lock()
        self._process = os.getpid()
        self._file, written_root = open_index(Path(self.path))
        self.root = written_root if self._given_root is None else self._given_root
        """The folder that relative paths of rows start in; "" if all rows have URLs."""
        names = [name for name in self._file.schema_arrow.names if name != "index"]
        self.table: Any = self._file.read(names, use_threads=False)
        """The rows as a pyarrow.Table with all columns but ``index``, for queries."""
        facts = self._file.metadata
        self._group_starts = [0]
        for group in range(facts.num_row_groups):
            self._group_starts.append(self._group_starts[-1] + facts.row_group(group).num_rows)
        self._group = _index_columns(self._file)

    @staticmethod
    def build(
        sources: Iterable[str | os.PathLike[str]],
        output: str | os.PathLike[str],
        *,
        read: Reading = "container",
        workers: int = 0,
        remote_options: Mapping[str, Any] | None = None,
        on_progress: Callable[[int, int], object] | None = None,
    ) -> IndexSummary:
        """Writes an index of all videos of some sources.

        If the file is there, its rows of files that have not changed (by size and time; of objects by size and ETag)
        are kept, and the other videos are read. The file is replaced when the new one is complete.

        Args:
            sources: files, tar archives, folders (with all folders below), URLs of objects, and URLs that end with
                "/", which mean the objects below.
            output: the Parquet file.
            read: what is read of each video. "container": what the container lists of its packets, and the packets
                where it lists none. "packets": the headers of all packets, which show files that are cut. "frames": all
                frames are decoded, which shows all damage.
            workers: videos at once; 0 is the number of cores, and at least 16 with remote ones.
            remote_options: options of `tricodec.open_remote`.
            on_progress: is called with the number of videos that are done, and of all.

        Returns:
            IndexSummary: what was done. A video that cannot be read is a row with the reason in ``error``.

        Raises:
            MediaNotFoundError: a source does not exist.
            ValueError: `output` is another file than an index, or `sources` is empty.
            ImportError: pyarrow is not installed.
        """
        if read not in READINGS:
            raise ValueError(f"read is {read!r}; accepted are {', '.join(map(repr, READINGS))}")
        names = [os.fspath(each) for each in sources]
        if workers < 0 or not names:
            raise ValueError(f"workers is {workers}, and there are {len(names)} sources; expected 0 or more, and some")
        root = common_root(names)
        table, summary = build_table(names, Path(output), root, read, workers, remote_options or {}, on_progress)
        write_index(Path(output), table, root)
        return summary

    def __len__(self) -> int:
        return int(self.table.num_rows)

    def __getitem__(self, i: SupportsIndex) -> dict[str, Any]:
        """The row of a video: its facts by the names of the columns."""
        row: dict[str, Any] = self.table.slice(self._checked(i), 1).to_pylist()[0]
        return row

    def __iter__(self) -> Iterator[dict[str, Any]]:
        for batch in self.table.to_batches(max_chunksize=1024):
            yield from batch.to_pylist()

    def source(self, i: SupportsIndex) -> Any:
        """The video of a row as in ``FrameReader``: an absolute path, a RemoteSource, or a part of an archive."""
        facts = self._values(self._checked(i), "path", "file", "file_offset", "size_bytes")
        return located_row(facts, self.root).source(self._remote_options)

    def sample(self, i: SupportsIndex) -> dict[str, bytes]:
        """The other files of a row's sample in its tar archive, by their extensions: captions, labels, ..."""
        row = self._checked(i)
        place = place_of(self.table["file"][row].as_py() or "", self.root)
        others = json.loads(self.table["sample"][row].as_py() or "{}")
        return {
            name: TarPart(place, offset, size, f"{place}/{name}", self._remote_options).read()
            for name, (offset, size) in others.items()
        }

    def index_bytes(self, i: SupportsIndex) -> bytes | None:
        """The index of the packets of a row's video, for ``FrameReader(index=)``; None if it could not be read."""
        row = self._checked(i)
        with self._lock_here():
            group = bisect.bisect_right(self._group_starts, row) - 1
            data: bytes | None = self._group(group)[row - self._group_starts[group]].as_py()
            return data

    def reader(self, i: SupportsIndex, **options: Any) -> FrameReader:
        """Opens the video of a row. No packet is read until frames are asked for.

        Args:
            i: number of the row; a negative one counts from the end.
            **options: options of `FrameReader` other than ``index`` and ``stream_index``.

        Raises:
            IndexError: there is no such row.
            CorruptDataError: the row says that the video cannot be read.
            SourceChangedError: the file or object is not the one that was indexed; build the index again.
            Error: the other errors of `FrameReader`.
        """
        row = self._checked(i)
        names = ("path", "status", "error", "size_bytes", "etag", "stream_index", "tricodec_version")
        facts = self._values(row, *names)
        if facts["status"] not in READABLE:
            raise CorruptDataError(f"'{facts['path']}' is {facts['status']} in the index: {facts['error']}")
        source = self.source(row)
        if is_remote_url(facts["path"]) and source.etag != facts["etag"]:
            raise _changed(facts["path"], f"its ETag is {source.etag}, and was {facts['etag']}")
        options["stream_index"] = facts["stream_index"]
        if facts["tricodec_version"] == __version__:
            options["index"] = self.index_bytes(row)
        else:
            log("warning", f"'{facts['path']}' was indexed by another version, and its packets are read again")
        reader = FrameReader(source, **options)
        found = reader.info.size_bytes
        if found != facts["size_bytes"]:
            reader.close()
            raise _changed(facts["path"], f"it has {found} bytes, and had {facts['size_bytes']}")
        return reader

    def __reduce__(self) -> tuple[Any, ...]:
        opened = functools.partial(DatasetIndex, root=self._given_root, remote_options=self._remote_options)
        return opened, (self.path,)

    def __repr__(self) -> str:
        return f"<tricodec.data.DatasetIndex '{self.path}', {len(self)} videos>"

    def _checked(self, i: SupportsIndex) -> int:
        number = i.__index__()
        row = number + len(self) if number < 0 else number
        if not 0 <= row < len(self):
            raise IndexError(f"row {number} was asked for; the index has {len(self)} videos")
        return row

    def _values(self, row: int, *names: str) -> dict[str, Any]:
        """Some columns of a row: its lists of groups of pictures may be long."""
        return {name: self.table[name][row].as_py() for name in names}

    def _lock_here(self) -> threading.Lock:
        """The lock. A child made by fork() gets a new one and opens the file again: the parent may be using its own."""
        if self._process != os.getpid():
            self._process = os.getpid()
            self._lock = threading.Lock()
            self._file, _ = open_index(Path(self.path))
            self._group = _index_columns(self._file)
        return self._lock


def _index_columns(file: Any) -> Callable[[int], Any]:
    """Reads the column ``index`` of a group of rows, and keeps those of the groups used last."""
    return functools.lru_cache(_KEPT_GROUPS)(
        lambda group: file.read_row_group(group, ["index"], use_threads=False)["index"]
    )


def _changed(path: str, how: str) -> SourceChangedError:
    return SourceChangedError(f"'{path}' is not the file that was indexed: {how}; run tricodec index again")


IndexSource = DatasetIndex | str | os.PathLike[str] | Sequence[str | os.PathLike[str]]


def index_of(source: IndexSource) -> DatasetIndex:
    """The index that is given, by itself or its path, or that of the sources of `DatasetIndex.build` that are given."""
    if isinstance(source, DatasetIndex):
        return source
    if not isinstance(source, str | os.PathLike):
        return _cached([os.fspath(each) for each in source])
    name = os.fspath(source)
    if is_remote_url(name) or Path(name).is_dir() or is_video(name) or is_tar(name):
        return _cached([name])
    return DatasetIndex(name)


def _cached(sources: list[str]) -> DatasetIndex:
    """The index in the folder for caches, which is XDG_CACHE_HOME, or .cache in the home folder."""
    names = [each if is_remote_url(each) else absolute(each) for each in sources]
    key = hashlib.sha256("\n".join(names).encode("utf-8", "surrogateescape")).hexdigest()[:32]
    folder = cache_dir() / "indexes"
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{key}.parquet"
    with (folder / f"{key}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # the ranks of a training start together: one of them reads the videos
        try:
            DatasetIndex.build(names, path)
        except NotAnIndexError:  # an index of another version
            path.unlink()
            DatasetIndex.build(names, path)
        return DatasetIndex(path)
