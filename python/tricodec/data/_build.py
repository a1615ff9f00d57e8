# SPDX-License-Identifier: Apache-2.0
"""The rows of an index: those of files that have not changed are kept, and the other videos are read by threads."""

from __future__ import annotations

import dataclasses
import threading
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor, as_completed
from pathlib import Path
from typing import Any

from tricodec._tricodec import __version__, resolve_device
from tricodec.data._describe import READINGS, Reading, describe
from tricodec.data._locate import Located, locate
from tricodec.data._table import arrow, open_index, schema
from tricodec.remote import is_remote_url
from tricodec.video._cores import num_cores

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


def build_table(
    names: list[str],
    path: Path,
    root: str,
    read: Reading,
    workers: int,
    remote_options: Mapping[str, Any],
    on_progress: Callable[[int, int], object] | None,
) -> tuple[Any, IndexSummary]:
    """The rows of the videos of some sources, a pyarrow.Table, and what was done, as `DatasetIndex.build` says it.

    `root` is the folder that relative paths start in, and `path` an index that may be there.
    """
    pa = arrow()
    known = _Known(path, root, read)
    least = _REMOTE_THREADS if any(map(is_remote_url, names)) else 1
    stop = threading.Event()
    with ThreadPoolExecutor(workers or max(num_cores(), least), "tricodec-index") as threads:
        located = locate(names, root, remote_options)
        videos = {each.path: each for each in threads.map(lambda each: each.with_version(remote_options), located)}
        changed = [each for each in videos.values() if not known.has(each)]
        kept = [known.numbers[each.path] for each in videos.values() if known.has(each)]
        device = resolve_device("auto")
        gpu = int(device.partition(":")[2] or 0) if device.startswith("cuda") else None
        futures = [threads.submit(describe, each, read, gpu, remote_options, stop) for each in changed]
        try:
            for number, _ in enumerate(as_completed(futures), 1):
                if on_progress is not None:
                    on_progress(len(kept) + number, len(videos))
        except BaseException:
            stop.set()
            threads.shutdown(wait=False, cancel_futures=True)
            raise
    new = pa.Table.from_pylist([each.result() for each in futures], schema())
    table = pa.concat_tables([known.table.take(pa.array(kept, pa.int64())), new]).sort_by("path").combine_chunks()
    counts = sorted(table["status"].value_counts().to_pylist(), key=str)
    statuses = {each["values"]: each["counts"] for each in counts}
    return table, IndexSummary(table.num_rows, len(changed), len(kept), statuses)


class _Known:
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
        """True if the row of a video is still right."""
        row = self._facts.get(video.path)
        if row is None or row["tricodec_version"] != __version__ or READINGS.index(row["read"]) < self._least:
            return False
        version = (video.size_bytes, video.mtime_ns, video.etag)
        is_same = version == (row["size_bytes"], row["mtime_ns"], row["etag"]) and version != (None, None, None)
        return is_same and row["status"] != "failed"
