# SPDX-License-Identifier: Apache-2.0
"""Videos on a cluster, by Ray Data: frames as data sets, and jobs over many files.

    import tricodec.ray

    frames = tricodec.ray.read_video("videos.parquet", size=(224, 224))
    vectors = tricodec.ray.embed(frames, Model, num_gpus=1)
    tricodec.ray.transcode("videos/", "small/", options={"size": [360, 640]})

Paths must mean the same files on all nodes: a shared file system, or URLs. A job does what `tricodec.batch` does, by
the same functions, with the same manifest. It needs the extra ``ray``.
"""

from __future__ import annotations

import inspect
import itertools
import json
import os
import tempfile
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from tricodec._dataset._columns import READABLE
from tricodec._dataset._index import DatasetIndex
from tricodec._dataset._locate import LOCATED_COLUMNS, located_row
from tricodec._host_arrays import asnumpy
from tricodec._jobs._batch import BatchSummary, run_job
from tricodec._jobs._job import make_job
from tricodec._jobs._processes import perform_here
from tricodec._jobs._task import Task, source_of
from tricodec._keywords import TRANSFORM_WORDS, unknown_keyword
from tricodec._public import public_names
from tricodec._tricodec import FrameReader, Transform

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from tricodec._tricodec import TransformOptions

__all__ = ["batch", "compress", "embed", "frames", "probe", "read_video", "scene_cuts", "transcode"]
__dir__ = public_names(globals())

_MOST_BLOCKS = 4096


def read_video(
    sources: str | os.PathLike[str] | DatasetIndex | Iterable[str | os.PathLike[str]],
    *,
    frames_per_block: int = 128,
    batch_frames: int = 16,
    device: str = "cpu",
    num_cpus: float = 1,
    num_gpus: float = 0,
    remote_options: Mapping[str, Any] | None = None,
    **transform_options: Unpack[TransformOptions],
) -> Any:
    """All frames of videos, as a data set of Ray.

    A task decodes the groups of pictures of `frames_per_block` frames or more. So a long video is decoded by many
    workers at once. The order of the rows is Ray's; ``number`` and ``path`` say which frame a row is.

    Args:
        sources: an index of `tricodec index` (``.parquet``, or a DatasetIndex), or files, folders and URLs, which are
            indexed here first.
        frames_per_block: frames of a task, at least; a group of pictures is never divided.
        batch_frames: frames that a task decodes and hands on at a time.
        device: as `FrameReader` takes it. With `num_gpus` "cuda" is the GPU that Ray gives to the task.
        num_cpus, num_gpus: what a task needs, as Ray counts it.
        remote_options: options of `tricodec.remote` for URLs.
        **transform_options: options of `Transform`: crop, size, color, dtype, layout, ...

    Returns:
        A ray.data.Dataset with the columns ``path`` (as the index has it), ``number`` (int64), ``seconds`` (float64)
        and ``frames`` (tensors, by default uint8 [H, W, 3]). Of a damaged video the frames that can be decoded.

    Raises:
        ValueError, TypeError: an option is not accepted.
        MediaNotFoundError: a source does not exist.
        ImportError: Ray is not installed.
    """
    data = _ray_data()
    for name in transform_options:
        if name not in TRANSFORM_WORDS:
            raise unknown_keyword("read_video", name, TRANSFORM_WORDS)
    Transform(**transform_options)
    for name, value in (("frames_per_block", frames_per_block), ("batch_frames", batch_frames)):
        if value < 1:
            raise ValueError(f"{name} is {value}; expected 1 or more")
    items, indexes = _ranges(sources, frames_per_block, dict(remote_options or {}))
    reading = {
        "device": device, "batch": batch_frames, "remote_options": dict(remote_options or {}),
        "transform": dict(transform_options), "indexes": indexes,
    }  # fmt: skip
    blocks = data.from_items(items or [_NO_RANGE], override_num_blocks=max(1, min(len(items), _MOST_BLOCKS)))
    return blocks.map_batches(
        _decode, batch_size=1, num_cpus=num_cpus, num_gpus=num_gpus or None, fn_kwargs={"reading": reading}
    )


def embed(
    dataset: Any,
    model: type[Callable[[npt.NDArray[Any]], Any]],
    *,
    batch_size: int = 32,
    workers: int = 1,
    num_cpus: float = 1,
    num_gpus: float = 0,
    arguments: Mapping[str, Any] | None = None,
    keep_frames: bool = False,
) -> Any:
    """A vector for each frame of a data set of `read_video`.

    Args:
        dataset: with a column ``frames``.
        model: a class. Each worker makes one object, and calls it with frames [N, ...]; it returns N vectors, as an
            array or a tensor.
        batch_size: frames of a call.
        workers: actors, each with a model.
        num_cpus, num_gpus: what an actor needs, as Ray counts it.
        arguments: keywords of the model's constructor.
        keep_frames: keep the column ``frames``.

    Returns:
        The data set with a column ``embedding``.

    Raises:
        ImportError: Ray is not installed.
    """
    data = _ray_data()
    return dataset.map_batches(
        _Embedder, batch_size=batch_size, compute=data.ActorPoolStrategy(size=workers), num_cpus=num_cpus,
        num_gpus=num_gpus or None,
        fn_constructor_kwargs={"model": model, "arguments": dict(arguments or {}), "keep_frames": keep_frames},
    )  # fmt: skip


def batch(
    job: str,
    inputs: str | os.PathLike[str] | Iterable[str | os.PathLike[str]],
    output: str | os.PathLike[str],
    *,
    num_cpus: float = 1,
    num_gpus: float = 0,
    **words: Any,
) -> BatchSummary:
    """Do a job over many files on a cluster: what `tricodec.batch` does on one machine.

    The manifest is written here, by the driver. If a node dies, its tasks run again on another one and write the same
    bytes, so each file has one output. Each file is done in a child process of Ray's worker: a crash costs the file a
    try and not the worker.

    Args:
        job, inputs, output: as `tricodec.batch` takes them.
        num_cpus, num_gpus: what a file needs, as Ray counts it.
        **words: the other words of `tricodec.batch`, except workers and on_progress.

    Returns:
        What was done.

    Raises:
        ValueError, TypeError: a word or a value is not accepted, or two inputs have the same output.
        MediaNotFoundError: an input does not exist.
        BlockingIOError: another process runs a job with the same manifest.
        ImportError: Ray is not installed.
    """
    data = _ray_data()
    given = dict(words)
    tries = {name: given.pop(name, default) for name, default in (("retries", 2), ("timeout_s", 0))}
    for name, value in tries.items():
        if value < 0:
            raise ValueError(f"{name} is {value}; expected 0 or more")
    accepted = [name for name in inspect.signature(make_job).parameters if name not in ("kind", "inputs", "output")]
    for name in given:
        if name not in accepted:
            raise unknown_keyword("batch", name, [*accepted, *tries, "num_cpus", "num_gpus"])

    def rows_of(todo: list[Task], _num_files: int) -> Generator[dict[str, Any]]:
        if not todo:
            return
        items = [{"task": json.dumps(task.to_dict())} for task in todo]
        rows = data.from_items(items, override_num_blocks=min(len(items), _MOST_BLOCKS)).map_batches(
            _perform, batch_size=1, num_cpus=num_cpus, num_gpus=num_gpus or None, fn_kwargs=tries
        )
        for each in rows.iter_rows():
            yield json.loads(each["row"])

    return run_job(make_job(job, inputs, output, **given), rows_of)


def transcode(inputs: Any, output: Any, **words: Any) -> BatchSummary:
    """``batch("transcode", ...)``: other words as `batch` takes them."""
    return batch("transcode", inputs, output, **words)


def compress(inputs: Any, output: Any, **words: Any) -> BatchSummary:
    """``batch("compress", ...)``: other words as `batch` takes them."""
    return batch("compress", inputs, output, **words)


def frames(inputs: Any, output: Any, **words: Any) -> BatchSummary:
    """``batch("frames", ...)``: other words as `batch` takes them."""
    return batch("frames", inputs, output, **words)


def scene_cuts(inputs: Any, output: Any, **words: Any) -> BatchSummary:
    """``batch("scene_cuts", ...)``: other words as `batch` takes them."""
    return batch("scene_cuts", inputs, output, **words)


def probe(inputs: Any, output: Any, **words: Any) -> BatchSummary:
    """``batch("probe", ...)``: other words as `batch` takes them."""
    return batch("probe", inputs, output, **words)


def _ray_data() -> Any:
    try:
        import ray.data
    except ImportError as error:
        raise ImportError(f"tricodec.ray needs Ray Data: pip install 'tricodec[ray]' ({error})") from error
    return ray.data


_NO_RANGE = {"path": "", "place": "", "member": "null", "first": 0, "count": 0, "index": b""}
"""An item without frames: Ray has no data sets with columns and without rows."""


def _ranges(
    sources: Any, frames_per_block: int, remote_options: dict[str, Any]
) -> tuple[list[dict[str, Any]], dict[str, Any]]:
    """An item for each task, with frames from ``first`` on of a video and the index of its packets.

    Of a video with several items the index is an object of Ray instead, by the video's path.
    """
    import ray

    items, indexes = [], {}
    with tempfile.TemporaryDirectory() as folder:
        index = _index_of(sources, Path(folder) / "index.parquet", remote_options)
        facts = index.table.select([*LOCATED_COLUMNS, "status", "num_frames", "gop_first_frame"]).to_pylist()
        for number, row in enumerate(facts):
            if row["status"] not in READABLE or not row["num_frames"]:
                continue
            found, packets = located_row(row, index.root), index.index_bytes(number) or b""
            member = found.member and {name: getattr(found.member, name) for name in ("name", "offset", "size_bytes")}
            video = {"path": row["path"], "place": found.place, "member": json.dumps(member)}
            ranges = list(itertools.pairwise(_cut([*row["gop_first_frame"], row["num_frames"]], frames_per_block)))
            if len(ranges) > 1 and packets:
                indexes[row["path"]], packets = ray.put(packets), b""
            items += [{**video, "first": first, "count": end - first, "index": packets} for first, end in ranges]
    return items, indexes


def _index_of(sources: Any, path: Path, remote_options: dict[str, Any]) -> DatasetIndex:
    if isinstance(sources, DatasetIndex):
        return sources
    names = [sources] if isinstance(sources, str | os.PathLike) else list(sources)
    texts = [os.fspath(name) for name in names]
    if len(texts) == 1 and texts[0].endswith(".parquet"):
        return DatasetIndex(texts[0])
    DatasetIndex.build(texts, path, remote_options=remote_options)
    return DatasetIndex(path)


def _cut(bounds: list[int], least: int) -> list[int]:
    """Some of the bounds, the first and the last one too, that lie `least` apart or more."""
    kept = [0]
    for bound in sorted(bounds)[:-1]:
        if bound - kept[-1] >= least:
            kept.append(bound)
    end = max(bounds)
    return [*kept, end] if end > kept[-1] else kept


def _decode(item: dict[str, Any], reading: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Runs on a worker: the frames of a range, some at a time."""
    import ray

    first, count = int(item["first"][0]), int(item["count"][0])
    if count == 0:
        return
    path, place = str(item["path"][0]), str(item["place"][0])
    source = source_of(path, place, json.loads(str(item["member"][0])), reading["remote_options"])
    reference = reading["indexes"].get(path)
    index = (item["index"][0] or None) if reference is None else ray.get(reference)
    transform = Transform(**reading["transform"])
    with FrameReader(source, device=reading["device"], num_workers=1, index=index) as reader:
        # A damaged video may have fewer frames than its packets say.
        count = min(count, max(0, len(reader) - first))
        number = first
        for pictures in reader.batches(reading["batch"], transform, first, 1, count):
            array = asnumpy(pictures)
            numbers = np.arange(number, number + len(array))
            number += len(array)
            yield {
                "path": np.full(len(array), path), "number": numbers, "seconds": reader.pts_seconds[numbers],
                "frames": array,
            }  # fmt: skip


class _Embedder:
    """An actor with a model."""

    def __init__(self, model: Any, arguments: dict[str, Any], keep_frames: bool) -> None:
        self._model = model(**arguments)
        self._keeps = keep_frames

    def __call__(self, columns: dict[str, Any]) -> dict[str, Any]:
        vectors = self._model(columns["frames"])
        kept = {name: values for name, values in columns.items() if self._keeps or name != "frames"}
        return {**kept, "embedding": asnumpy(vectors)}


def _perform(item: dict[str, Any], retries: int, timeout_s: float) -> dict[str, Any]:
    """Runs on a worker: the row of the manifest of a file."""
    row = perform_here(Task(**json.loads(str(item["task"][0]))), retries=retries, timeout_s=timeout_s)
    return {"row": [json.dumps(row)]}
