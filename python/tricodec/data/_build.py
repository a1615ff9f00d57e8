# SPDX-License-Identifier: Apache-2.0
"""The rows of an index: those of files that have not changed are kept, and the other videos are read by threads."""

from __future__ import annotations

import dataclasses
import threading
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor, as_completed
from pathlib import Path
from typing import Any

from tricodec._cores import num_cores
from tricodec._tricodec import __version__, resolve_device
from tricodec.data._describe import READINGS, Reading, describe, failed_row
from tricodec.data._locate import Located
from tricodec.data._table import open_index, schema
from tricodec.errors import Error

#: Requests wait for a server most of their time.
_REMOTE_THREADS = 16


@dataclasses.dataclass(frozen=True)
class IndexSummary:
    """What `DatasetIndex.build` did."""

    num_videos: int
    """Rows of the index."""
    num_read: int
    """Videos that were read, because they are new or have changed."""
    num_kept: int
    """Rows that were taken from the index before."""
    statuses: dict[str, int]
    """Number of rows by status."""


class Known:
    """The rows of the index that is there, if its paths start in the same folder."""

    def __init__(self, path: Path, root: str, read: Reading) -> None:
        self.table = schema().empty_table()
        if path.exists():
            file, written_root = open_index(path)
            if written_root == root:
                self.table = file.read(schema().names).cast(schema())
        names = ["path", "size_bytes", "mtime_ns", "etag", "status", "read", "tricodec_version"]
        self._facts = {row["path"]: row for row in self.table.select(names).to_pylist()}
        self.numbers = {path: number for number, path in enumerate(self._facts)}
        self._least = READINGS.index(read)

    def has(self, video: Located) -> bool:
        """True if the row of a video is still right. False for an object with a version that is not known yet."""
        row = self._facts.get(video.path)
        if row is None or row["tricodec_version"] != __version__ or READINGS.index(row["read"]) < self._least:
            return False
        version = (video.size_bytes, video.mtime_ns, video.etag)
        is_same = version == (row["size_bytes"], row["mtime_ns"], row["etag"]) and version != (None, None, None)
        return is_same and row["status"] != "failed"

    def row(self, video: Located) -> dict[str, Any]:
        """The row of a video that `has` accepts."""
        found: dict[str, Any] = self.table.slice(self.numbers[video.path], 1).to_pylist()[0]
        return found


class RowMaker:
    """Makes the rows of videos. Thread safety: safe."""

    def __init__(self, known: Known, read: Reading, remote_options: Mapping[str, Any]) -> None:
        self._known, self._read, self._remote_options = known, read, remote_options
        device = resolve_device("auto")
        self._gpu = int(device.partition(":")[2] or 0) if device.startswith("cuda") else None
        self._lock = threading.Lock()
        self.num_kept = 0
        """Objects with a version that was not listed, and that have not changed."""
        self.stop = threading.Event()
        """Set to end the reading of frames."""

    def row(self, video: Located) -> dict[str, Any]:
        """The row of a video. A video that cannot be read has a row with the reason."""
        if video.error:
            return failed_row(video, self._read, video.error)
        try:
            source = video.source(self._remote_options)
            if video.is_remote:
                video = dataclasses.replace(video, size_bytes=source.size_bytes, etag=source.etag)
        except (Error, OSError) as error:
            return failed_row(video, self._read, error)
        if self._known.has(video):
            with self._lock:
                self.num_kept += 1
            return self._known.row(video)
        return describe(video, source, self._read, self._gpu, self.stop)


def make_rows(
    maker: RowMaker, videos: list[Located], workers: int, on_done: Callable[[int], object]
) -> list[dict[str, Any]]:
    """The rows of videos. An exception such as KeyboardInterrupt ends the threads."""
    cores = num_cores()
    workers = workers or (max(cores, _REMOTE_THREADS) if any(each.is_remote for each in videos) else cores)
    with ThreadPoolExecutor(workers, "tricodec-index") as threads:
        futures = [threads.submit(maker.row, each) for each in videos]
        try:
            for number, _ in enumerate(as_completed(futures), 1):
                on_done(number)
            return [each.result() for each in futures]
        except BaseException:
            maker.stop.set()
            threads.shutdown(wait=False, cancel_futures=True)
            raise
