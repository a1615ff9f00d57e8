# SPDX-License-Identifier: Apache-2.0
"""Videos on a cluster, by Ray Data: frames as data sets, and transcoding of many files.

    import tricodec.ray

    frames = tricodec.ray.read_video("videos.parquet", size=(224, 224))
    vectors = tricodec.ray.embed(frames, Model, num_gpus=1)
    tricodec.ray.transcode("videos/", "small/", size=(360, 640))

Paths must mean the same files on all nodes: a shared file system, or URLs. It needs the extra ``ray``.
"""

from __future__ import annotations

import inspect
import itertools
import json
import os
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from tricodec._dataset._columns import READABLE
from tricodec._dataset._index import DatasetIndex
from tricodec._dataset._locate import LOCATED_COLUMNS, Located, located_row
from tricodec._dataset._parts import Member
from tricodec._host_arrays import asnumpy
from tricodec._keywords import TRANSFORM_WORDS, unknown_keyword
from tricodec._public import public_names
from tricodec._tricodec import FrameReader, Transform
from tricodec.encode.transcoding import transcode as transcode_file

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from tricodec._tricodec import TransformOptions

__all__ = ["embed", "read_video", "transcode"]
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


def transcode(
    sources: str | os.PathLike[str] | DatasetIndex | Iterable[str | os.PathLike[str]],
    output: str | os.PathLike[str],
    *,
    suffix: str = ".mp4",
    resume: bool = False,
    num_cpus: float = 1,
    num_gpus: float = 0,
    remote_options: Mapping[str, Any] | None = None,
    **options: Any,
) -> list[dict[str, Any]]:
    """Transcode many files: ``videos/a/b.mov`` gives ``small/a/b.mp4``.

    A file gets its name when it is complete. A task that runs again because its node died writes the same bytes, so
    each source has one output.

    Args:
        sources: as `read_video` takes them.
        output: a folder that all nodes see; it is made.
        suffix: of the outputs.
        resume: keep outputs that are there. Otherwise one that is there is an error.
        num_cpus, num_gpus: what a file needs, as Ray counts it.
        remote_options: options of `tricodec.remote` for URLs.
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
    data = _ray_data()
    accepted = [name for name in inspect.signature(transcode_file).parameters if name not in ("source", "target")]
    for name in options:
        if name not in accepted:
            raise unknown_keyword("transcode", name, [*accepted, "suffix", "resume", "num_cpus", "num_gpus"])
    items = _outputs(sources, Path(output).absolute(), suffix, resume, dict(remote_options or {}))
    if not items:
        return []
    doing = {"options": {"device": "cpu", "num_threads": 1, **options}, "remote_options": dict(remote_options or {})}
    rows = data.from_items(items, override_num_blocks=min(len(items), _MOST_BLOCKS)).map_batches(
        _transcode, batch_size=1, num_cpus=num_cpus, num_gpus=num_gpus or None, fn_kwargs=doing
    )
    return sorted((json.loads(each["row"]) for each in rows.iter_rows()), key=lambda row: str(row["output"]))


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
            packets = index.index_bytes(number) or b""
            video = _video(row, index.root)
            ranges = list(itertools.pairwise(_cut([*row["gop_first_frame"], row["num_frames"]], frames_per_block)))
            if len(ranges) > 1 and packets:
                indexes[row["path"]], packets = ray.put(packets), b""
            items += [{**video, "first": first, "count": end - first, "index": packets} for first, end in ranges]
    return items, indexes


def _video(row: Mapping[str, Any], root: str) -> dict[str, Any]:
    """A video of an index, as plain data that goes to a worker."""
    found = located_row(row, root)
    member = found.member and {name: getattr(found.member, name) for name in ("name", "offset", "size_bytes")}
    return {"path": row["path"], "place": found.place, "member": json.dumps(member)}


def _source(item: Mapping[str, Any], remote_options: Mapping[str, Any]) -> Any:
    """The source of an item that `_video` made."""
    member = json.loads(str(item["member"][0]))
    place = Located(str(item["path"][0]), str(item["place"][0]), member=None if member is None else Member(**member))
    return place.source(remote_options)


def _outputs(
    sources: Any, output: Path, suffix: str, resume: bool, remote_options: dict[str, Any]
) -> list[dict[str, Any]]:
    """An item for each video, with its target; those that are kept are left out."""
    items: dict[str, dict[str, Any]] = {}
    with tempfile.TemporaryDirectory() as folder:
        index = _index_of(sources, Path(folder) / "index.parquet", remote_options)
        for row in index.table.select(list(LOCATED_COLUMNS)).to_pylist():
            path = row["path"].partition("://")[2] or row["path"]
            parts = [part for part in PurePosixPath(path).parts if part not in ("/", "..")]
            target = str(output.joinpath(*parts).with_suffix(suffix))
            other = items.setdefault(target, {**_video(row, index.root), "target": target})
            if other["path"] != row["path"]:
                raise ValueError(f"'{other['path']}' and '{row['path']}' would both become '{target}'; use two calls")
    there = [target for target in items if Path(target).exists()]
    if there and not resume:
        raise FileExistsError(f"'{there[0]}' exists; name another output, or keep such files with resume=True")
    return [item for target, item in sorted(items.items()) if target not in there]


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
    path = str(item["path"][0])
    source = _source(item, reading["remote_options"])
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


def _transcode(item: dict[str, Any], options: dict[str, Any], remote_options: dict[str, Any]) -> dict[str, Any]:
    """Runs on a worker: transcodes a file, and says how that ended."""
    target = Path(str(item["target"][0]))
    source = str(item["path"][0])
    row = {"source": source, "output": str(target), "num_frames": 0, "num_damaged_packets": 0, "error": ""}
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        done = transcode_file(_source(item, remote_options), target, **options)
        row |= {"num_frames": done.num_frames, "num_damaged_packets": done.num_damaged_packets}
    except Exception as error:
        row["error"] = f"{type(error).__name__}: {error}"
    return {"row": [json.dumps(row)]}
