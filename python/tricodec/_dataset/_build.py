# SPDX-License-Identifier: Apache-2.0
"""Building and updating an index."""

from __future__ import annotations

import dataclasses
import os
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from itertools import islice
from pathlib import Path
from typing import Any

from tricodec._cores import num_cores
from tricodec._dataset._columns import arrow, schema
from tricodec._dataset._describe import READINGS, Reader, Reading
from tricodec._dataset._file import open_index, write_index
from tricodec._dataset._journal import Journal
from tricodec._dataset._locate import Located, common_root, locate_videos, place_of, stat_of
from tricodec._remote._stores import is_remote_url
from tricodec._tricodec import __version__, resolve_device

#: What an interrupted run loses at most.
_JOURNAL_ROWS = 256
_JOURNAL_SECONDS = 2.0
#: Requests wait for a server most of their time.
_REMOTE_THREADS = 16


@dataclasses.dataclass(frozen=True)
class IndexSummary:
    """What `DatasetIndex.build` did."""

    num_videos: int
    """Rows of the index."""
    num_read: int
    """Videos that were read, since they are new or have changed."""
    num_kept: int
    """Rows of an earlier or an interrupted run that are still right."""
    statuses: dict[str, int]
    """Number of rows by status."""


def build(
    sources: Iterable[str | os.PathLike[str]],
    output: str | os.PathLike[str],
    *,
    read: Reading,
    workers: int,
    prune: bool,
    remote_options: Mapping[str, Any],
    on_progress: Callable[[int, int], object] | None,
) -> IndexSummary:
    """What `DatasetIndex.build` says."""
    if read not in READINGS:
        raise ValueError(f"read is {read!r}; accepted are {', '.join(map(repr, READINGS))}")
    if workers < 0:
        raise ValueError(f"workers is {workers}; expected 0 (chosen here) or more")
    arrow()  # first: without it nothing is written
    path = Path(output)
    names = [os.fspath(each) for each in sources]
    from pyarrow import compute

    with Journal(path) as journal:
        if not names and not path.exists():
            raise ValueError("there is nothing to index: name files, folders or URLs, or an index to update")
        known = _Known(path, journal, read, common_root(names))
        root = known.root
        videos = {each.path: each for each in locate_videos(names, root, remote_options)}
        if not names or not prune:  # what was indexed before and is not below one of the sources
            videos |= {each.path: each for each in known.again(videos, remote_options)}
        changed = [each for each in videos.values() if not known.has(each)]
        kept = [known.rows[each.path] for each in videos.values() if known.has(each)]
        tables = [known.table.take(kept)] if kept else []

        def save(rows: list[dict[str, Any]]) -> None:
            tables.append(arrow().Table.from_pylist(rows, schema()))
            journal.append(tables[-1], root)

        reader = Reader(read, _gpu(), remote_options, known.row_of)
        _read(changed, reader, workers, known, save, on_progress, len(kept))
        table = arrow().concat_tables([schema().empty_table(), *tables])
        if prune:
            table = table.filter(compute.not_equal(table["status"], "missing"))
        table = table.sort_by("path").combine_chunks()
        write_index(path, table, root)
        journal.discard()
    return IndexSummary(table.num_rows, len(changed), len(kept), _counts(table["status"]))


class _Known:
    """The rows of an earlier index and of an interrupted run."""

    def __init__(self, path: Path, journal: Journal, read: Reading, root: str) -> None:
        self.root = root
        tables = [schema().empty_table()]
        if path.exists():
            file, self.root = open_index(path)
            tables.append(file.read(schema().names).cast(schema()))
        self.paths = tables[-1]["path"].to_pylist()
        self.table = arrow().concat_tables([*tables, *journal.tables(self.root)])
        columns = self.table.select(
            ["path", "file", "size_bytes", "mtime_ns", "etag", "status", "read", "tricodec_version"]
        )
        self.rows: dict[str, int] = {}
        self._facts: dict[str, dict[str, Any]] = {}
        for number, row in enumerate(columns.to_pylist()):
            self.rows[row["path"]] = number
            self._facts[row["path"]] = row
        self._least = READINGS.index(read)

    def has(self, video: Located) -> bool:
        """True if the row of a video is still right. Of a remote one without a version, False."""
        row = self._facts.get(video.path)
        if row is None or row["tricodec_version"] != __version__ or READINGS.index(row["read"]) < self._least:
            return False
        version = (video.size_bytes, video.mtime_ns, video.etag)
        is_same = version == (row["size_bytes"], row["mtime_ns"], row["etag"]) and version != (None, None, None)
        return is_same and row["status"] not in ("failed", "missing")

    def again(self, found: Mapping[str, Located], remote_options: Mapping[str, Any]) -> Iterator[Located]:
        """The videos of the earlier index that were not found below the sources."""
        missing = [path for path in self.paths if path not in found]
        files: dict[str, dict[str, Located]] = {}
        for path in missing:
            file = self._facts[path]["file"]
            if file is None:
                place = place_of(path, self.root)
                if is_remote_url(path) or not Path(place).is_dir():  # a folder had a row while it could not be listed
                    yield Located(path, path) if is_remote_url(path) else stat_of(place, self.root)
                continue
            if file not in files:
                place = place_of(file, self.root)
                there = is_remote_url(place) or Path(place).exists()
                members = locate_videos([place], self.root, remote_options) if there else ()
                files[file] = {each.path: each for each in members}
                yield from files[file].values()
            if path not in files[file]:
                yield Located(path, place_of(path, self.root))

    def row_of(self, video: Located) -> dict[str, Any] | None:
        """The row of a video, if it is still right."""
        return self._row(video.path) if self.has(video) else None

    def completed(self, row: dict[str, Any]) -> dict[str, Any]:
        """A row; of a video that is gone or cannot be reached, with the facts from before."""
        if row["status"] not in ("missing", "failed") or row["path"] not in self.rows:
            return row
        return {**self._row(row["path"]), "status": row["status"], "error": row["error"]}

    def _row(self, path: str) -> dict[str, Any]:
        row: dict[str, Any] = self.table.slice(self.rows[path], 1).to_pylist()[0]
        return row


def _gpu() -> int | None:
    """The GPU that "auto" means here."""
    device = resolve_device("auto")
    return int(device.partition(":")[2] or 0) if device.startswith("cuda") else None


def _read(
    videos: list[Located],
    reader: Reader,
    workers: int,
    known: _Known,
    save: Callable[[list[dict[str, Any]]], None],
    on_progress: Callable[[int, int], object] | None,
    num_kept: int,
) -> None:
    """Makes the rows of videos by threads, and saves them as they come; also those of a run that ends early."""
    cores = num_cores()
    workers = workers or (max(cores, _REMOTE_THREADS) if any(each.is_remote for each in videos) else cores)
    rows: list[dict[str, Any]] = []
    num_done, saved = num_kept, time.monotonic()
    queue = iter(videos)
    running: set[Future[dict[str, Any]]] = set()
    with ThreadPoolExecutor(workers, "tricodec-index") as threads:
        try:
            while True:
                running |= {threads.submit(reader.row, each) for each in islice(queue, 4 * workers - len(running))}
                if not running:
                    break
                done, running = wait(running, return_when=FIRST_COMPLETED)
                rows += [known.completed(each.result()) for each in done]
                num_done += len(done)
                if on_progress is not None:
                    on_progress(num_done, num_kept + len(videos))
                if len(rows) >= _JOURNAL_ROWS or time.monotonic() - saved > _JOURNAL_SECONDS:
                    save(rows)
                    rows, saved = [], time.monotonic()
        finally:
            reader.stop.set()
            for each in running:
                each.cancel()
            if rows:
                save(rows)


def _counts(column: Any) -> dict[str, int]:
    return {each["values"]: each["counts"] for each in sorted(column.value_counts().to_pylist(), key=str)}
