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

from tricodec.data._clip_list import ClipList, check_clips, checked_step
from tricodec.data._clip_reader import OnDamage
from tricodec.data._clips import Dataset
from tricodec.data._index import index_of
from tricodec.data._locate import absolute, place_of
from tricodec.data._table import arrow

_VERSION = "v3."
_FILES = "chunk-*/file-*.parquet"


@dataclasses.dataclass(frozen=True)
class _Episodes:
    """The episodes of a data set, in order, and the rows of all of them."""

    numbers: npt.NDArray[np.int64]
    files: list[str]
    """The video file of each."""
    starts: npt.NDArray[np.float64]
    """Where each starts in its file, in seconds."""
    firsts: npt.NDArray[np.int64]
    """The first row of each."""
    lengths: npt.NDArray[np.int64]
    rows: Any
    """A pyarrow.Table."""


class _EpisodeClips(ClipList):
    """Clips of rows of episodes that are `stride` apart."""

    def __init__(self, rows: Any, episodes: _Episodes, length: int, stride: int, step: int, tolerance_s: float) -> None:
        super().__init__(rows, episodes.lengths, length, stride, step, f"episodes {tolerance_s}")
        self._times = episodes.rows["timestamp"].to_numpy().astype(np.float64)
        self._episodes = episodes
        self._tolerance_s = tolerance_s

    def table_rows(self, clip: int) -> Any:
        episode, place = self.place(clip)
        return self._episodes.firsts[episode] + place + self._offsets

    def selection(self, clip: int) -> dict[str, Any]:
        times = self._episodes.starts[self.place(clip)[0]] + self._times[self.table_rows(clip)]
        return {"times": times.tolist(), "policy": "nearest", "tolerance_s": self._tolerance_s}


class LeRobotClips(Dataset):
    """Clips of the episodes of a LeRobot data set (version 3), with the columns of their rows.

        clips = tricodec.data.LeRobotClips("pusht", clip_length=16, columns=["action"], size=(96, 96))
        clip = clips[0]
        print(clip["frames"].shape, clip["action"].shape, clip["episode"])

    Clips do not go past the end of an episode. A clip is as that of `Dataset`, with ``episode`` and ``frame_index``
    (of its first row in the episode), and an array with one element a frame for each of `columns`.

    Thread safety: safe.
    """

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
            stride, step: as in `Dataset`.
            columns: columns of the rows that a clip has too.
            episodes: numbers of the episodes; None is all of them.
            tolerance_s: greatest distance in seconds of a row's time from that of its frame.
            on_damage, device, num_workers: as in `Dataset`.
            **transform_options: as in `Dataset`.

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
        step = checked_step(clip_length, stride, step)
        self._columns = tuple(columns)
        self._episodes = _read_episodes(root, info, _camera(root, info, camera), self._columns, episodes)
        index = index_of(sorted(set(self._episodes.files)))
        row_of = {place_of(path, index.root): row for row, path in enumerate(index.table["path"].to_pylist())}
        rows = np.array([row_of[file] for file in self._episodes.files], np.int64)
        clips = _EpisodeClips(rows, self._episodes, clip_length, stride, step, tolerance_s)
        check_clips(index, clips, "episode")
        names = ["episode", "frame_index", *self._columns]
        self._set_up(index, clips, names, on_damage, {"device": device, "num_workers": num_workers}, transform_options)

    def _more(self, row: int, clip: int) -> dict[str, Any]:
        assert isinstance(self._clips, _EpisodeClips)
        episode, place = self._clips.place(clip)
        rows = self._clips.table_rows(clip)
        first = int(rows[0])
        part = self._episodes.rows.slice(first, int(rows[-1]) - first + 1).take(rows - first)
        found = {name: np.array(part[name].to_pylist()) for name in self._columns}
        return {"episode": int(self._episodes.numbers[episode]), "frame_index": place, **found}


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
    import pyarrow.compute as pc

    chunk, file, start = (f"videos/{camera}/{name}" for name in ("chunk_index", "file_index", "from_timestamp"))
    names = ["episode_index", "length", "data/chunk_index", "data/file_index", chunk, file, start]
    table = _read(sorted(Path(root, "meta", "episodes").glob(_FILES)), names, root).sort_by("episode_index")
    if wanted is not None:
        missing = sorted(set(wanted) - set(table["episode_index"].to_pylist()))
        if missing:
            raise ValueError(f"'{root}' has no episode {', '.join(map(str, missing))}")
        table = table.filter(pc.is_in(table["episode_index"], value_set=arrow().array(sorted(set(wanted)))))
    episodes = table.to_pylist()
    files = sorted({(each["data/chunk_index"], each["data/file_index"]) for each in episodes})
    paths = [Path(root, info["data_path"].format(chunk_index=chunk, file_index=file)) for chunk, file in files]
    rows = _read(paths, ["episode_index", "timestamp", *columns], root)
    # The rows of an episode follow one another.
    owners = rows["episode_index"].to_numpy()
    runs = np.flatnonzero(np.diff(owners, prepend=-1))
    firsts = dict(zip(owners[runs].tolist(), runs.tolist(), strict=True))
    lengths = dict(zip(owners[runs].tolist(), np.diff(runs, append=len(owners)).tolist(), strict=True))
    numbers = table["episode_index"].to_pylist()
    for number, length in zip(numbers, table["length"].to_pylist(), strict=True):
        found = lengths.get(number, 0)
        if found != length:
            raise ValueError(f"episode {number} of '{root}' has {found} rows, and should have {length}")
    name = info["video_path"]
    videos = [name.format(video_key=camera, chunk_index=each[chunk], file_index=each[file]) for each in episodes]
    return _Episodes(
        numbers=np.array(numbers, np.int64),
        files=[str(Path(root, video)) for video in videos],
        starts=np.array(table[start].to_pylist(), np.float64),
        firsts=np.array([firsts[number] for number in numbers], np.int64),
        lengths=np.array(table["length"].to_pylist(), np.int64),
        rows=rows,
    )


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
