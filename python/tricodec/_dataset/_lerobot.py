# SPDX-License-Identifier: Apache-2.0
"""Clips of a LeRobot data set of version 3, in which a video file holds several episodes.

Note [Frames of LeRobot]: the frame of a row of an episode is the one nearest to the episode's `from_timestamp` plus the
row's `timestamp`, within `tolerance_s`, as LeRobot says. Times are added in double precision, and compared with the
times of all frames: no rate of the container enters.
"""

from __future__ import annotations

import dataclasses
import json
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from tricodec._dataset._cached import index_of
from tricodec._dataset._clip_list import ClipList
from tricodec._dataset._clips import Dataset
from tricodec._dataset._columns import arrow
from tricodec._dataset._damage import OnDamage
from tricodec._dataset._locate import absolute, place_of

_VERSION = "v3."
_FILES = "chunk-*/file-*.parquet"


@dataclasses.dataclass(frozen=True)
class _Episodes:
    """The episodes of a data set, in order, and the rows of all of them."""

    numbers: npt.NDArray[np.int64]
    files: list[str]
    """The video file of each."""
    begins: npt.NDArray[np.float64]
    """Where each begins in its file, in seconds."""
    firsts: npt.NDArray[np.int64]
    """The first row of each."""
    lengths: npt.NDArray[np.int64]
    rows: Any
    """A pyarrow.Table."""


class _EpisodeClips(ClipList):
    """Clips of rows of episodes that are `stride` apart."""

    def __init__(
        self, rows: Any, episodes: _Episodes, length: int, stride: int, step: int, tolerance_s: float
    ) -> None:  # fmt: skip
        span = (length - 1) * stride + 1
        counts = np.maximum(episodes.lengths - span + step, 0) // step
        super().__init__(rows, counts, f"episodes {length} {stride} {step} {tolerance_s}")
        self._times = episodes.rows["timestamp"].to_numpy().astype(np.float64)
        self._episodes = episodes
        self._step = step
        self._offsets = np.arange(length) * stride
        self._tolerance_s = tolerance_s

    def table_rows(self, clip: int) -> npt.NDArray[np.int64]:
        """The rows of the frames of a clip."""
        episode, number = self.place(clip)
        rows: npt.NDArray[np.int64] = self._episodes.firsts[episode] + number * self._step + self._offsets
        return rows

    def words(self, clip: int) -> dict[str, Any]:
        """As `ClipList`."""
        times = self._episodes.begins[self.place(clip)[0]] + self._times[self.table_rows(clip)]
        return {"times": times.tolist(), "policy": "nearest", "tolerance_s": self._tolerance_s}


class LeRobotClips(Dataset):
    """Clips of the episodes of a LeRobot data set (version 3), with the columns of their rows.

        clips = tricodec.LeRobotClips("pusht", clip_length=16, columns=["action"], size=(96, 96))
        clip = clips[0]
        print(clip["frames"].shape, clip["action"].shape, clip["episode"])

    Clips do not go past the end of an episode. A clip is as that of `Dataset`, with ``episode`` and ``frame_index``
    (of its first row in the episode), and an array with one element a frame for each of `columns`.

    Thread safety: safe.
    """

    _PART = "episode"

    def __init__(
        self,
        root: str | os.PathLike[str],
        *,
        clip_length: int,
        camera: str | None = None,
        stride: int = 1,
        step: int | None = None,
        columns: Sequence[str] = (),
        episodes: Sequence[int] | None = None,
        tolerance_s: float = 1e-4,
        on_damage: OnDamage = "raise",
        device: str = "cpu",
        num_workers: int = 1,
        **transform_options: Any,
    ) -> None:
        """Lists the clips of a data set.

        Args:
            root: the folder with ``meta/info.json``.
            clip_length: frames of a clip, which are rows of the episode.
            camera: the key of the video, such as "observation.images.top"; None is the only one. The clips of several
                cameras have the same numbers.
            stride, step: as `Dataset` takes them.
            columns: columns of the rows that a clip has too.
            episodes: numbers of the episodes; None is all of them.
            tolerance_s: greatest distance in seconds of a row's time from that of its frame.
            on_damage, device, num_workers: as `Dataset` takes them.
            **transform_options: as `Dataset` takes them.

        Raises:
            FileNotFoundError: there is no such data set, or a file of it is missing.
            ValueError: it is of another version, there is no such camera, column or episode, an option is not
                accepted, or there is no clip.
        """
        arrow()
        root = absolute(root)
        info = json.loads(Path(root, "meta", "info.json").read_text())
        if not str(info.get("codebase_version")).startswith(_VERSION):
            raise ValueError(
                f"'{root}' is of LeRobot's version {info.get('codebase_version')}; version 3 is read: convert it with "
                "lerobot's convert_dataset_v21_to_v30"
            )
        self._columns = tuple(columns)
        self._tolerance_s = tolerance_s
        self._episodes = _read_episodes(root, info, _camera(root, info, camera), self._columns, episodes)
        videos = index_of(sorted(set(self._episodes.files)))
        super().__init__(
            videos, clip_length=clip_length, stride=stride, step=step, on_damage=on_damage, device=device,
            num_workers=num_workers, **transform_options,
        )  # fmt: skip
        self._names += ["episode", "frame_index", *self._columns]
        self._opened_with = {
            "root": root, "clip_length": clip_length, "camera": camera, "stride": stride, "step": step,
            "columns": self._columns, "episodes": episodes, "tolerance_s": tolerance_s, "on_damage": on_damage,
            "device": device, "num_workers": num_workers, **transform_options,
        }  # fmt: skip

    def __reduce__(self) -> tuple[Any, ...]:
        return _opened, (self._opened_with,)

    def _list(
        self,
        clip_length: int | None,
        stride: int,
        step: int | None,
        fps: float | None,
        parts: list[dict[str, Any]] | None,
    ) -> ClipList:
        assert clip_length is not None
        step = clip_length * stride if step is None else step
        for name, value in (("clip_length", clip_length), ("stride", stride), ("step", step)):
            if value < 1:
                raise ValueError(f"{name} is {value}; expected 1 or more")
        places = {place_of(path, self.index.root): row for row, path in enumerate(self.index.table["path"].to_pylist())}
        rows = np.array([places[file] for file in self._episodes.files], np.int64)
        return _EpisodeClips(rows, self._episodes, clip_length, stride, step, self._tolerance_s)

    def _more(self, row: int, clip: int) -> dict[str, Any]:
        assert isinstance(self._clips, _EpisodeClips)
        episode, _ = self._clips.place(clip)
        rows = self._clips.table_rows(clip)
        first = int(rows[0])
        part = self._episodes.rows.slice(first, int(rows[-1]) - first + 1).take(rows - first)
        found = {name: np.array(part[name].to_pylist()) for name in self._columns}
        number = int(self._episodes.numbers[episode])
        return {"episode": number, "frame_index": first - int(self._episodes.firsts[episode]), **found}


def _camera(root: str, info: dict[str, Any], camera: str | None) -> str:
    cameras: list[str] = [name for name, feature in info["features"].items() if feature["dtype"] == "video"]
    if camera is None and len(cameras) == 1:
        return cameras[0]
    if camera is None or camera not in cameras:
        raise ValueError(f"camera is {camera!r}; the videos of '{root}' are {', '.join(map(repr, cameras)) or 'none'}")
    return camera


def _read_episodes(
    root: str, info: dict[str, Any], camera: str, columns: Sequence[str], wanted: Sequence[int] | None
) -> _Episodes:
    video = {name: f"videos/{camera}/{name}" for name in ("chunk_index", "file_index", "from_timestamp")}
    data = ["data/chunk_index", "data/file_index"]
    names = ["episode_index", "length", *data, *video.values()]
    table = _read(sorted(Path(root, "meta", "episodes").glob(_FILES)), names, root).sort_by("episode_index")
    if wanted is not None:
        missing = sorted(set(wanted) - set(table["episode_index"].to_pylist()))
        if missing:
            raise ValueError(f"'{root}' has no episode {', '.join(map(str, missing))}")
        import pyarrow.compute as pc

        chosen = arrow().array(sorted(set(wanted)))
        table = table.filter(pc.is_in(table["episode_index"], value_set=chosen))
    episodes = table.to_pylist()
    files = sorted({(each[data[0]], each[data[1]]) for each in episodes})
    paths = [Path(root, info["data_path"].format(chunk_index=chunk, file_index=file)) for chunk, file in files]
    rows = _read(paths, ["episode_index", "timestamp", *columns], root)
    owners = rows["episode_index"].to_numpy()
    numbers = np.array([each["episode_index"] for each in episodes], np.int64)
    lengths = np.array([each["length"] for each in episodes], np.int64)
    runs = np.flatnonzero(np.diff(owners, prepend=-1))  # the rows of an episode follow one another
    first_of = dict(zip(owners[runs].tolist(), runs.tolist(), strict=True))
    num_rows = dict(zip(owners[runs].tolist(), np.diff(runs, append=len(owners)).tolist(), strict=True))
    for number, length in zip(numbers.tolist(), lengths.tolist(), strict=True):
        if num_rows.get(number) != length:
            raise ValueError(
                f"episode {number} of '{root}' has {num_rows.get(number, 0)} rows, and should have {length}"
            )
    return _Episodes(
        numbers=numbers,
        files=[
            str(Path(root, info["video_path"].format(
                video_key=camera, chunk_index=each[video["chunk_index"]], file_index=each[video["file_index"]])))
            for each in episodes
        ],
        begins=np.array([each[video["from_timestamp"]] for each in episodes], np.float64),
        firsts=np.array([first_of[number] for number in numbers.tolist()], np.int64),
        lengths=lengths,
        rows=rows,
    )  # fmt: skip


def _read(paths: Sequence[Path], columns: Sequence[str], root: str) -> Any:
    """Some columns of Parquet files, one after another."""
    import pyarrow.parquet as pq

    if not paths:
        raise FileNotFoundError(f"'{root}' has no files {_FILES} of its episodes")
    tables = []
    for path in paths:
        file = pq.ParquetFile(path)
        missing = [name for name in columns if name not in file.schema_arrow.names]
        if missing:
            known = ", ".join(file.schema_arrow.names)
            raise ValueError(f"'{path}' has no column {', '.join(missing)}; it has {known}")
        tables.append(file.read(list(dict.fromkeys(columns)), use_threads=False))
    return arrow().concat_tables(tables, promote_options="permissive")


def _opened(words: dict[str, Any]) -> LeRobotClips:
    return LeRobotClips(**words)
