# SPDX-License-Identifier: Apache-2.0
"""DatasetIndex: the rows of an index, and readers of its videos."""

from __future__ import annotations

import bisect
import itertools
import json
import os
import threading
from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, SupportsIndex

from tricodec._cores import num_cores
from tricodec._dataset import _build
from tricodec._dataset._columns import READABLE
from tricodec._dataset._examine import Examination, examine
from tricodec._dataset._file import open_index
from tricodec._dataset._locate import LOCATED_COLUMNS, absolute, located_row, place_of
from tricodec._dataset._parts import TarPart
from tricodec._remote._stores import is_remote_url
from tricodec._tricodec import FrameReader, log
from tricodec.errors import CorruptDataError, SourceChangedError

if TYPE_CHECKING:
    from tricodec._dataset._build import IndexSummary
    from tricodec._dataset._describe import Reading

_KEPT_GROUPS = 8


class DatasetIndex:
    """The index of a set of videos, which `tricodec index` or `DatasetIndex.build` wrote: a row for each video.

        index = tricodec.DatasetIndex("videos.parquet")
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
            remote_options: options of `tricodec.remote` for videos with URLs.

        Raises:
            FileNotFoundError: there is no such file.
            ValueError: the file is not an index, or of another version.
            ImportError: pyarrow is not installed.
        """
        self._path = absolute(path)
        self._given_root = None if root is None else absolute(root)
        self._remote_options = dict(remote_options or {})
        self._lock = threading.Lock()
        self._process = os.getpid()
        self._file, written_root = open_index(Path(self._path))
        self._root = written_root if self._given_root is None else self._given_root
        names = [name for name in self._file.schema_arrow.names if name != "index"]
        self._table = self._file.read(names, use_threads=False)
        facts = self._file.metadata
        self._group_starts = [0]
        for group in range(facts.num_row_groups):
            self._group_starts.append(self._group_starts[-1] + facts.row_group(group).num_rows)
        self._groups: OrderedDict[int, Any] = OrderedDict()

    @staticmethod
    def build(
        sources: Iterable[str | os.PathLike[str]],
        output: str | os.PathLike[str],
        *,
        read: Reading = "container",
        workers: int = 0,
        prune: bool = False,
        remote_options: Mapping[str, Any] | None = None,
        on_progress: Callable[[int, int], object] | None = None,
    ) -> IndexSummary:
        """Writes an index, or updates one that is there.

        Rows of files that have not changed (size and time; of objects size and ETag) stay. Videos of the index that
        are not below one of the sources stay too; those that are gone have the status "missing". The file is replaced
        when the new one is complete. An interrupted call continues where it was when it is repeated.

        Args:
            sources: files, tar archives, folders (with all folders below), URLs of objects, URLs that end with "/",
                which mean the objects below, and Parquet files with videos in a column. Without any, the videos of the
                index are looked at again.
            output: the Parquet file.
            read: what is read of each video. "container": what the container lists of its packets, and the packets
                where it lists none. "packets": the headers of all packets, which show files that are cut. "frames": all
                frames are decoded, which shows all damage.
            workers: videos at once; 0 is the number of cores, and at least 16 with remote ones.
            prune: leave out rows of videos that are not below one of the sources, and of those that are gone.
            remote_options: options of `tricodec.remote`.
            on_progress: is called with the number of videos that are done, and of all.

        Returns:
            IndexSummary: what was done. A video that cannot be read is a row with the reason in ``error``.

        Raises:
            MediaNotFoundError: a source does not exist.
            ValueError: `output` is not an index, or `sources` is empty and there is no index.
            BlockingIOError: another process is writing the same index.
            ImportError: pyarrow is not installed.
        """
        return _build.build(
            sources, output, read=read, workers=workers, prune=prune, remote_options=remote_options or {},
            on_progress=on_progress,
        )  # fmt: skip

    @property
    def path(self) -> str:
        """The Parquet file, an absolute path."""
        return self._path

    @property
    def root(self) -> str:
        """The folder that relative paths of rows begin in; "" if all rows have URLs."""
        return self._root

    @property
    def table(self) -> Any:
        """The rows, a pyarrow.Table with all columns but ``index``, for queries."""
        return self._table

    def __len__(self) -> int:
        return int(self._table.num_rows)

    def __getitem__(self, i: SupportsIndex) -> dict[str, Any]:
        """The row of a video: its facts by the names of the columns."""
        row: dict[str, Any] = self._table.slice(self._checked(i), 1).to_pylist()[0]
        return row

    def __iter__(self) -> Iterator[dict[str, Any]]:
        for batch in self._table.to_batches(max_chunksize=1024):
            yield from batch.to_pylist()

    def source(self, i: SupportsIndex) -> Any:
        """The video of a row: an absolute path, a RemoteSource, or a source of a part of a file."""
        row = self._checked(i)
        columns = {name: self._table[name][row].as_py() for name in LOCATED_COLUMNS}
        return located_row(columns, self._root).source(self._remote_options)

    def sample(self, i: SupportsIndex) -> dict[str, bytes]:
        """The other files of a row's sample in its tar archive, by their extensions: captions, labels, ..."""
        row = self._checked(i)
        place = place_of(self._table["file"][row].as_py() or "", self._root)
        others = json.loads(self._table["sample"][row].as_py() or "{}")
        return {
            name: TarPart(place, offset, size, f"{place}/{name}", self._remote_options).read()
            for name, (offset, size) in others.items()
        }

    def index_bytes(self, i: SupportsIndex) -> bytes | None:
        """The index of the packets of a row's video, for ``FrameReader(index=)``; None if it could not be read."""
        row = self._checked(i)
        with self._lock_here():
            group = bisect.bisect_right(self._group_starts, row) - 1
            column = self._groups.get(group)
            if column is None:
                column = self._file.read_row_group(group, ["index"], use_threads=False)["index"]
                self._groups[group] = column
                if len(self._groups) > _KEPT_GROUPS:
                    self._groups.popitem(last=False)
            self._groups.move_to_end(group)
            data: bytes | None = column[row - self._group_starts[group]].as_py()
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
        names = ("path", "status", "error", "size_bytes", "etag", "stream_index", "checksum")
        facts = {name: self._table[name][row].as_py() for name in names}
        if facts["status"] not in READABLE:
            raise CorruptDataError(f"'{facts['path']}' is {facts['status']} in the index: {facts['error']}")
        source = self.source(row)
        is_remote = is_remote_url(facts["path"])
        if is_remote and source.etag != facts["etag"]:
            raise self._changed(facts["path"], f"its ETag is {source.etag}, and was {facts['etag']}")
        data = self.index_bytes(row)
        try:
            reader = FrameReader(source, index=data, stream_index=facts["stream_index"], **options)
        except ValueError as error:
            if "bytes of index" not in str(error):
                raise
            log("warning", f"'{facts['path']}' is opened without the index: {error}")
            return FrameReader(source, stream_index=facts["stream_index"], **options)
        if reader.info.size_bytes != facts["size_bytes"]:
            found = reader.info.size_bytes
            reader.close()
            raise self._changed(facts["path"], f"it has {found} bytes, and had {facts['size_bytes']}")
        return reader

    def labels(self, given: Any) -> tuple[list[int | float], list[str]]:
        """A number for each video, and the text of each number if labels are texts; else an empty list.

        Args:
            given: as `Dataset` takes `labels`.

        Raises:
            ValueError: a video that can be read has no label, or there is no such column.
        """
        from tricodec._dataset._labels import read_labels

        found = read_labels(given, self, range(len(self)), None)
        return found.values, found.names

    def scenes(self, *, threshold: float | None = None, device: str = "cpu", workers: int = 0) -> list[dict[str, Any]]:
        """The scenes of all videos, as ``parts`` of `Dataset`: ``path``, ``start`` and ``count``, in frames.

        All videos are decoded. Those that cannot be read have no scenes.

        Args:
            threshold: as `tricodec.scenes.scene_cuts` takes it; None is its default.
            device: as `FrameReader` takes it.
            workers: videos at once; 0 is the number of cores.

        Raises:
            ValueError: the threshold is not accepted.
            Error: the errors of `reader`.
        """
        from concurrent.futures import ThreadPoolExecutor

        from tricodec.scenes import THRESHOLD, scene_cuts

        def of(row: int) -> list[dict[str, Any]]:
            with self.reader(row, device=device, num_workers=1) as reader:
                cuts = scene_cuts(reader, threshold=THRESHOLD if threshold is None else threshold)
            starts = [0, *cuts.frames.tolist(), cuts.num_frames]
            path = self._table["path"][row].as_py()
            return [
                {"path": path, "start": start, "count": end - start} for start, end in itertools.pairwise(starts)
            ]  # fmt: skip

        rows = [row for row, status in enumerate(self._table["status"].to_pylist()) if status in READABLE]
        with ThreadPoolExecutor(workers or num_cores(), "tricodec-scenes") as threads:
            return [scene for scenes in threads.map(of, rows) for scene in scenes]

    def examine(self, *, on_progress: Callable[[int, int], object] | None = None) -> Examination:
        """Counts the videos by what they are, and finds what is wrong with them. Opens no video.

        Args:
            on_progress: is called with the number of checks and counts that are done, and of all.

        Returns:
            Examination: what `tricodec doctor` prints.
        """
        return examine(self, on_progress)

    def html_page(self, *, num_examples: int = 20) -> str:
        """A page of HTML that needs no other file: what `examine` finds, and a picture of each class of videos.

        Args:
            num_examples: the most videos of each finding that are named.
        """
        from tricodec._dataset._page import examination_page

        return examination_page(self, self.examine(), num_examples)

    def __reduce__(self) -> tuple[Any, ...]:
        return _opened, (self._path, self._given_root, self._remote_options)

    def __repr__(self) -> str:
        return f"<tricodec.DatasetIndex '{self._path}', {len(self)} videos>"

    def _checked(self, i: SupportsIndex) -> int:
        number = i.__index__()
        row = number + len(self) if number < 0 else number
        if not 0 <= row < len(self):
            raise IndexError(f"row {number} was asked for; the index has {len(self)} videos")
        return row

    def _changed(self, path: str, how: str) -> SourceChangedError:
        return SourceChangedError(f"'{path}' is not the file that was indexed: {how}; run tricodec index again")

    def _lock_here(self) -> threading.Lock:
        """The lock; in a child made by fork() a new one and a file of its own, since the parent's may be in use."""
        if self._process != os.getpid():
            self._process = os.getpid()
            self._lock = threading.Lock()
            self._file, _ = open_index(Path(self._path))
        return self._lock


def _opened(path: str, root: str | None, remote_options: dict[str, Any]) -> DatasetIndex:
    return DatasetIndex(path, root=root, remote_options=remote_options)
