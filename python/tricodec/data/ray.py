# SPDX-License-Identifier: Apache-2.0
"""Videos on a cluster, by Ray Data: frames of many videos, and transcoding of many files.

    import tricodec.data.ray

    frames = tricodec.data.ray.read_video("videos.parquet", size=(224, 224))
    tricodec.data.ray.transcode("videos/", "small/", size=(360, 640))

Paths must mean the same files on all machines: a shared file system, or URLs. The extra ``ray`` installs Ray. Tasks
with TRICODEC_NODE=auto in their environment decode by the node of their machine.
"""

from __future__ import annotations

import inspect
import itertools
import os
import pickle
from collections.abc import Iterable, Iterator
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Any

import numpy as np

from tricodec._tricodec import FrameReader
from tricodec.arrays import asnumpy
from tricodec.data._index import DatasetIndex, index_of
from tricodec.data._table import READABLE
from tricodec.encode.transcoding import transcode as transcode_file
from tricodec.node import active
from tricodec.options import transform_of
from tricodec.show import needed

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from tricodec._option_types import TransformOptions

__all__ = ["read_video", "transcode"]

Sources = str | os.PathLike[str] | DatasetIndex | Iterable[str | os.PathLike[str]]
_MOST_BLOCKS = 4096
#: Frames that a task decodes and hands on at a time.
_BATCH_FRAMES = 16


def read_video(
    sources: Sources,
    *,
    frames_per_block: int = 128,
    device: str = "cpu",
    num_cpus: float = 1,
    num_gpus: float = 0,
    **transform_options: Unpack[TransformOptions],
) -> Any:
    """All frames of videos, as a data set of Ray.

    A task decodes the groups of pictures of `frames_per_block` frames or more. So a long video is decoded by many
    workers at once. The order of the rows is Ray's; ``number`` and ``path`` say which frame a row is.

    Args:
        sources: an index of `tricodec index` (``.parquet``, or a DatasetIndex), or files, folders and URLs, which are
            indexed here first, as those of `Dataset`. URLs that need options of `tricodec.open_remote` have them in a
            DatasetIndex.
        frames_per_block: frames of a task, at least; a group of pictures is never divided.
        device: as in `FrameReader`. With `num_gpus` "cuda" is the GPU that Ray gives to the task.
        num_cpus, num_gpus: what a task needs, as Ray counts it.
        **transform_options: options of `Transform`: crop, size, color, dtype, layout, ...

    Returns:
        A ray.data.Dataset with the columns ``path`` (as the index has it), ``number`` (int64), ``seconds`` (float64)
        and ``frames`` (tensors, by default uint8 [H, W, 3]). Of a damaged video the frames that can be decoded.

    Raises:
        ValueError, TypeError: an option is not accepted.
        MediaNotFoundError: a source does not exist.
        ImportError: Ray is not installed.
    """
    data = needed("ray.data", "tricodec[ray]", "clusters")
    import ray

    transform_of(read_video, transform_options)  # refuses wrong options here
    if frames_per_block < 1:
        raise ValueError(f"frames_per_block is {frames_per_block}; expected 1 or more")
    items: list[dict[str, Any]] = []
    shared = {}  # the indexes of videos with several tasks
    index = _index_of(sources)
    facts = index.table.select(["path", "status", "num_frames", "gop_first_frame"]).to_pylist()
    for row, video in enumerate(facts):
        if video["status"] not in READABLE or not video["num_frames"]:
            continue
        packets = index.index_bytes(row) or b""
        source = pickle.dumps(index.source(row))
        ranges = list(itertools.pairwise(_cut([*video["gop_first_frame"], video["num_frames"]], frames_per_block)))
        if len(ranges) > 1:
            shared[video["path"]], packets = ray.put(packets), b""
        items += [
            {"path": video["path"], "source": source, "first": first, "count": end - first, "index": packets}
            for first, end in ranges
        ]
    reading = {"device": device, "transform": dict(transform_options), "indexes": shared}
    # Ray has no data set with columns and without rows.
    items = items or [{"path": "", "source": b"", "first": 0, "count": 0, "index": b""}]
    return data.from_items(items, override_num_blocks=min(len(items), _MOST_BLOCKS)).map_batches(
        _decode, batch_size=1, num_cpus=num_cpus, num_gpus=num_gpus or None, fn_kwargs={"reading": reading}
    )


def transcode(
    sources: Sources,
    output: str | os.PathLike[str],
    *,
    suffix: str = ".mp4",
    resume: bool = False,
    num_cpus: float = 1,
    num_gpus: float = 0,
    **options: Any,
) -> list[dict[str, Any]]:
    """Transcode many files: ``videos/a/b.mov`` gives ``small/a/b.mp4``.

    A file gets its name when it is complete. A task that runs again because its node died writes the same bytes, so
    each source has one output.

    Args:
        sources: as in `read_video`.
        output: a folder that all nodes see; it is made.
        suffix: of the outputs.
        resume: keep outputs that are there. Otherwise one that is there is an error.
        num_cpus, num_gpus: what a file needs, as Ray counts it.
        **options: options of `tricodec.transcode`. device is "cpu" and num_threads is 1 unless they are given, since
            the bytes of an encoder depend on both.

    Returns:
        A dict for each source that is not kept: ``source``, ``output``, ``num_frames``, ``num_damaged_packets`` and
        ``error``, which is "" where the output was made.

    Raises:
        TypeError: `tricodec.transcode` does not take an option.
        ValueError: two sources would have the same output.
        FileExistsError: an output is there, and resume is False.
        MediaNotFoundError: a source does not exist.
        ImportError: Ray is not installed.
    """
    data = needed("ray.data", "tricodec[ray]", "clusters")
    options = {"device": "cpu", "num_threads": 1, **options}
    inspect.signature(transcode_file).bind("source", "target", **options)  # refuses wrong options here
    items: dict[str, dict[str, Any]] = {}
    index = _index_of(sources)
    for row, path in enumerate(index.table["path"].to_pylist()):
        parts = [part for part in PurePosixPath(path.partition("://")[2] or path).parts if part not in ("/", "..")]
        target = str(Path(output).absolute().joinpath(*parts).with_suffix(suffix))
        if target in items:
            raise ValueError(f"'{items[target]['path']}' and '{path}' would both become '{target}'; use two calls")
        items[target] = {"path": path, "source": pickle.dumps(index.source(row)), "target": target}
    there = [target for target in items if Path(target).exists()]
    if there and not resume:
        raise FileExistsError(f"'{there[0]}' exists; name another output, or keep such files with resume=True")
    wanted = [item for target, item in sorted(items.items()) if target not in there]
    if not wanted:
        return []
    rows = data.from_items(wanted, override_num_blocks=min(len(wanted), _MOST_BLOCKS)).map(
        _transcode, num_cpus=num_cpus, num_gpus=num_gpus or None, fn_kwargs={"options": options}
    )
    return sorted(rows.iter_rows(), key=lambda row: str(row["output"]))


def _index_of(sources: Sources) -> DatasetIndex:
    return index_of(sources if isinstance(sources, str | os.PathLike | DatasetIndex) else list(sources))


def _cut(bounds: list[int], least: int) -> list[int]:
    """Some of the bounds, the first and the last one too, that lie `least` apart or more."""
    kept = [0]
    for bound in sorted(bounds)[:-1]:
        if bound - kept[-1] >= least:
            kept.append(bound)
    return [*kept, max(bounds)]


def _decode(item: dict[str, Any], reading: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Runs on a worker: the frames of a range, some at a time."""
    import ray

    first, count, path = int(item["first"][0]), int(item["count"][0]), str(item["path"][0])
    if count == 0:
        return
    index = ray.get(reading["indexes"][path]) if path in reading["indexes"] else item["index"][0]
    source, node = pickle.loads(item["source"][0]), active()
    with (
        FrameReader(source, device=reading["device"], num_workers=1, index=index or None)
        if node is None
        else node.open(source, device=reading["device"])
    ) as reader:
        # A damaged video may have fewer frames than its packets say.
        count = min(count, max(0, len(reader) - first))
        for frames in reader.batches(_BATCH_FRAMES, start=first, count=count, **reading["transform"]):
            numbers = np.arange(first, first + len(frames))
            first += len(frames)
            yield {
                "path": np.full(len(frames), path), "number": numbers, "seconds": reader.pts_seconds[numbers],
                "frames": asnumpy(frames),
            }  # fmt: skip


def _transcode(item: dict[str, Any], options: dict[str, Any]) -> dict[str, Any]:
    """Runs on a worker: transcodes a file, and says how that ended."""
    row = {"source": item["path"], "output": item["target"], "num_frames": 0, "num_damaged_packets": 0, "error": ""}
    try:
        Path(item["target"]).parent.mkdir(parents=True, exist_ok=True)
        done = transcode_file(pickle.loads(item["source"]), item["target"], **options)
        row |= {"num_frames": done.num_frames, "num_damaged_packets": done.num_damaged_packets}
    except Exception as error:
        row["error"] = f"{type(error).__name__}: {error}"
    return row
