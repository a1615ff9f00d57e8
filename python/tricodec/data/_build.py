# SPDX-License-Identifier: Apache-2.0
"""The rows of an index: those of files that have not changed are kept, and the other videos are read by threads."""

from __future__ import annotations

import dataclasses
import threading
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor, as_completed
from pathlib import Path
from typing import Any, Literal

import numpy as np

from tricodec._tricodec import FrameReader, __version__, gpu_refusal, resolve_device
from tricodec.data._locate import Located, locate, one_line
from tricodec.data._table import arrow, open_index, schema
from tricodec.errors import CorruptDataError, Error, RefusedError, UnsupportedError
from tricodec.remote import is_remote_url
from tricodec.video.cores import num_cores

#: Requests wait for a server most of their time.
_REMOTE_THREADS = 16

Reading = Literal["container", "packets", "frames"]
#: How much of a video is read, from the least to the most.
READINGS: tuple[Reading, ...] = ("container", "packets", "frames")
_OF_STREAM = ("profile", "level", "width", "height", "rotation", "mirrored", "interlaced")
_OF_COLOR = ("matrix", "range", "primaries", "transfer")
_OF_GROUPS = ("gop_first_frame", "gop_num_frames", "gop_offset", "gop_size_bytes")


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
    """The rows of the videos of sources and what was done. `path` may have an index; relative paths start in `root`."""
    pa = arrow()
    old = _table_of(path, root)
    least = _REMOTE_THREADS if any(map(is_remote_url, names)) else 1
    stop = threading.Event()
    with ThreadPoolExecutor(workers or max(num_cores(), least), "tricodec-index") as threads:
        located = locate(names, root, remote_options)
        videos = {each.path: each for each in threads.map(lambda each: each.with_version(remote_options), located)}
        kept = _kept(old, videos, read)
        changed = [each for each in videos.values() if each.path not in kept]
        device = resolve_device("auto")
        gpu = int(device.partition(":")[2] or 0) if device.startswith("cuda") else None
        futures = [threads.submit(_described, each, read, gpu, remote_options, stop) for each in changed]
        try:
            for number, _ in enumerate(as_completed(futures), 1):
                if on_progress is not None:
                    on_progress(len(kept) + number, len(videos))
        except BaseException:
            stop.set()
            threads.shutdown(wait=False, cancel_futures=True)
            raise
    new = pa.Table.from_pylist([each.result() for each in futures], schema())
    table = pa.concat_tables([old.take(pa.array(kept.values(), pa.int64())), new]).sort_by("path").combine_chunks()
    counts = sorted(table["status"].value_counts().to_pylist(), key=str)
    statuses = {each["values"]: each["counts"] for each in counts}
    return table, IndexSummary(table.num_rows, len(changed), len(kept), statuses)


def _table_of(path: Path, root: str) -> Any:
    """The rows of the index that is there, if its paths start in the same folder."""
    if path.exists():
        file, written_root = open_index(path)
        if written_root == root:
            return file.read(schema().names).cast(schema())
    return schema().empty_table()


def _kept(table: Any, videos: Mapping[str, Located], read: Reading) -> dict[str, int]:
    """The rows that are still right, by the paths of their videos."""
    kept = {}
    names = ["path", "size_bytes", "mtime_ns", "etag", "status", "read", "tricodec_version"]
    for number, row in enumerate(table.select(names).to_pylist()):
        video = videos.get(row["path"])
        if video is None or row["tricodec_version"] != __version__ or row["status"] == "failed":
            continue
        version = (video.size_bytes, video.mtime_ns, video.etag)
        is_same = version == (row["size_bytes"], row["mtime_ns"], row["etag"]) and version != (None, None, None)
        if is_same and READINGS.index(row["read"]) >= READINGS.index(read):
            kept[video.path] = number
    return kept


def _described(
    video: Located, reading: Reading, gpu: int | None, remote_options: Mapping[str, Any], stop: threading.Event
) -> dict[str, Any]:
    """The row of a video, with the reason if it cannot be read. `stop` ends the reading of frames."""
    row = {**video.columns(), "read": reading, "tricodec_version": __version__}
    if video.error:
        return row | {"status": "failed", "error": video.error}
    try:
        index = "container" if reading == "container" else "packets"
        with FrameReader(video.source(remote_options), device="cpu", num_workers=1, index=index) as reader:
            if reading == "frames":
                for _ in reader:
                    if stop.is_set():  # the run ends, and writes no index
                        return row
            return row | _facts(reader, gpu)
    except (CorruptDataError, RefusedError, UnsupportedError, ValueError) as error:
        return row | {"status": "unreadable", "error": one_line(error)}
    except (Error, OSError, MemoryError) as error:  # the next run tries again
        return row | {"status": "failed", "error": one_line(error)}


def _facts(reader: FrameReader, gpu: int | None) -> dict[str, Any]:
    info, stream = reader.info, reader.stream
    times = reader.pts_seconds
    gops = reader._gops()
    issues = reader.issues
    audio = next((each for each in info.streams if each.kind == "audio"), None)
    base, rate = stream.time_base, stream.average_frame_rate or stream.real_frame_rate
    drift = None  # from the even rate of the stream's header, if it has one
    if rate and len(times):
        drift = float(np.abs(times - times[0] - np.arange(len(times)) / float(rate)).max())
    status, error = "ok", None
    if issues:
        # A file that is cut has its end as the last issue, after its last packet.
        status = "cut" if issues[-1].packet_number >= gops[:, 1].sum() else "damaged"
        error = issues[-1 if status == "cut" else 0].message
    return {
        "checksum": reader._source_checksum().hex(),
        "status": "unreadable" if len(times) == 0 else status,
        "error": error,
        "num_damaged_packets": reader.num_damaged_packets,
        "container": info.format_name,
        "stream_index": stream.index,
        "codec": stream.codec_name,
        "sample_aspect_ratio": None if stream.sample_aspect_ratio is None else str(stream.sample_aspect_ratio),
        "pixel_format": stream.pixel_format_name,
        **{name: getattr(stream, name) for name in _OF_STREAM},
        **{f"color_{name}": getattr(stream.color, name) for name in _OF_COLOR},
        "gpu_refusal": gpu_refusal(stream, gpu) or None,
        "audio_codec": audio and audio.codec_name,
        "audio_sample_rate": audio and audio.sample_rate,
        "audio_channels": audio and audio.num_channels,
        "num_frames": len(times),
        "fps": reader.fps,
        "start_seconds": float(times[0]) if len(times) else None,
        "duration_seconds": reader.duration,
        "time_base_num": base and base.numerator,
        "time_base_den": base and base.denominator,
        "max_drift_seconds": drift,
        "num_times_back": int((times[1:] <= times[:-1]).sum()),
        **dict(zip(_OF_GROUPS, gops[:, :4].T.tolist(), strict=True)),
        "gop_open": gops[:, 4].astype(bool).tolist(),
        "index": reader.index_bytes(),
    }
