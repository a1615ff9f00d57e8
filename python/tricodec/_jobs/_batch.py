# SPDX-License-Identifier: Apache-2.0
"""batch(): a job over many files on one machine."""

from __future__ import annotations

import dataclasses
import inspect
import os
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Generator, Iterable, Mapping
from contextlib import closing
from pathlib import Path
from typing import Any

from tricodec._cores import num_cores
from tricodec._jobs._job import Job, make_job, remove_parts, tasks_of, undone
from tricodec._jobs._kinds import refuse_other
from tricodec._jobs._manifest import Manifest
from tricodec._jobs._processes import run_tasks
from tricodec._jobs._task import DONE, Task
from tricodec.errors import MediaIOError


@dataclasses.dataclass(frozen=True)
class BatchSummary:
    """What `batch` did."""

    num_files: int
    """Files of the job."""
    num_made: int
    """Outputs that this run made."""
    num_kept: int
    """Files that an earlier run did, and that have not changed since."""
    statuses: dict[str, int]
    """Number of files by status: done, damaged, unreadable, failed."""
    num_frames: int
    """Frames of the outputs of this run."""
    bytes_written: int
    """Size of the outputs of this run."""
    seconds: float
    """Time that this run took."""
    manifest: str
    """The file with a row for each file of the job."""
    errors: dict[str, str]
    """By input: why it has no output; of at most 20 files. The manifest has all."""

    @property
    def is_complete(self) -> bool:
        """True if each file has its output."""
        return all(status in DONE for status in self.statuses)

    def to_dict(self) -> dict[str, Any]:
        """For JSON."""
        return {**dataclasses.asdict(self), "is_complete": self.is_complete}


_MOST_ERRORS = 20


@dataclasses.dataclass(frozen=True)
class BatchProgress:
    """How far a run of `batch` is."""

    num_done: int
    """Files that have ended, whatever their status; those of earlier runs too."""
    num_files: int
    """Files of the job."""
    num_frames: int
    """Frames that this run has done, those of files in work too."""
    seconds: float
    """Since the run began."""


def batch(
    job: str,
    inputs: str | os.PathLike[str] | Iterable[str | os.PathLike[str]],
    output: str | os.PathLike[str],
    *,
    options: Mapping[str, Any] | None = None,
    suffix: str = "",
    manifest: str | os.PathLike[str] | None = None,
    workers: int = 0,
    retries: int = 2,
    timeout_s: float = 0,
    check: str = "size",
    keep_suffix: bool = False,
    remote_options: Mapping[str, Any] | None = None,
    on_progress: Callable[[BatchProgress], object] | None = None,
) -> BatchSummary:
    """Do the same to many files, in worker processes on this machine.

        summary = tricodec.batch("transcode", "videos/", "small/", options={"size": [360, 640], "crf": 28})
        print(summary.statuses, summary.manifest)

    Each input gets exactly one output. Its name follows from the input's place: ``videos/a/b.mov`` gets
    ``small/a/b.mp4``. An output has its name when it is complete. The manifest has a row for each file, with its
    status, size and SHA-256. A call that is repeated makes what is missing, changed or failed, and keeps the rest. So a
    job that was interrupted or killed continues.

    A damaged or unreadable file never ends the job: its row says what is wrong. A worker process that dies costs its
    file a try. After Ctrl-C the outputs in work are removed, and KeyboardInterrupt is raised.

    Args:
        job: "transcode" writes videos as `transcode` does. "compress" writes ``.tcz`` files as `compress.compress_file`
            does. "frames" writes ``.npz`` files with ``frames``, ``index`` and ``seconds``. "scene_cuts" and "probe"
            write ``.json`` files.
        inputs: files, folders (with all folders below), URLs, and indexes of `tricodec index` (``.parquet``). Of
            folders and tar archives the videos are meant; of "compress" all files.
        output: a folder, which is made.
        options: of the job: those of `transcode`, of `compress.compress_file`, of `decode_video` for "frames" (but out,
            context, stream and pinned), of `scenes.scene_cuts`. Plain numbers, texts and lists. "transcode" has
            device "cpu" and num_threads 1 unless they are given, since encoders write other bytes with others.
        suffix: of the outputs of "transcode"; default ".mp4".
        manifest: a file of JSON lines, or ``.parquet`` (which needs pyarrow). Default: ``manifest.jsonl`` in `output`.
        workers: processes; 0 is the number of cores. Each does one file at a time.
        retries: further tries of a file that failed for a reason that may pass: reading, writing, memory, a GPU, or a
            process that died.
        timeout_s: a try that takes longer is ended and has failed; 0 is no bound.
        check: how outputs of earlier runs are checked: "size", or "sha256", which reads them.
        keep_suffix: name outputs ``a.mov.mp4`` instead of ``a.mp4``.
        remote_options: options of `remote` for URLs.
        on_progress: is called with a BatchProgress, from this thread and from others.

    Returns:
        What was done. Files without an output are counted in ``statuses``.

    Raises:
        ValueError, TypeError: a word or a value is not accepted, or two inputs have the same output.
        MediaNotFoundError: an input does not exist.
        BlockingIOError: another process runs a job with the same manifest.
        MediaIOError: the manifest cannot be written.
        FileExistsError: a file has the name of an output, and there is no manifest yet.

    Thread safety: safe. Two jobs need two manifests.
    """
    for name, value in (("workers", workers), ("retries", retries), ("timeout_s", timeout_s)):
        if value < 0:
            raise ValueError(f"{name} is {value}; expected 0 or more")
    spec = make_job(
        job, inputs, output, options=options, suffix=suffix, manifest=manifest, check=check, keep_suffix=keep_suffix,
        remote_options=remote_options,
    )  # fmt: skip

    def rows_of(todo: list[Task], num_files: int) -> Generator[dict[str, Any]]:
        shown = _Shown(num_files, num_files - len(todo), time.monotonic(), on_progress)
        processes = workers or num_cores()
        with closing(
            run_tasks(todo, workers=processes, retries=retries, timeout_s=timeout_s, on_frames=shown.frames)
        ) as rows:  # fmt: skip
            for row in rows:
                yield row
                shown.end(row)  # it is in the manifest

    return run_job(spec, rows_of)


def run_job(spec: Job, rows_of: Callable[[list[Task], int], Generator[dict[str, Any]]]) -> BatchSummary:
    """Does what a job still has to do, and keeps its manifest.

    Args:
        spec: the job.
        rows_of: does tasks, given them and the number of all; gives the row of each when it has ended.

    Raises:
        MediaNotFoundError, BlockingIOError, MediaIOError, FileExistsError: as `batch`.
    """
    start = time.monotonic()
    tasks = tasks_of(spec)
    if not Manifest.is_at(spec.manifest) and (foreign := [each.target for each in tasks if Path(each.target).exists()]):
        raise FileExistsError(
            f"'{foreign[0]}' exists, and no job wrote it: there is no manifest '{spec.manifest}'; name another output"
        )
    made: list[dict[str, Any]] = []
    with Manifest(spec.manifest) as known:
        remove_parts(tasks)
        todo = undone(tasks, spec, known)
        try:
            with closing(rows_of(todo, len(tasks))) as rows:
                for row in rows:
                    try:
                        known.add(row)
                    except OSError as error:
                        raise MediaIOError(f"writing the manifest '{spec.manifest}' failed: {error}") from error
                    made.append(row)
        finally:
            remove_parts(todo)
    ends = [known.rows[task.output] for task in tasks if task.output in known.rows]
    failed = [row for row in ends if row["status"] not in DONE]
    return BatchSummary(
        num_files=len(tasks),
        num_made=sum(row["status"] in DONE for row in made),
        num_kept=len(tasks) - len(todo),
        statuses=dict(sorted(Counter(row["status"] for row in ends).items())),
        num_frames=sum(row.get("num_frames") or 0 for row in made),
        bytes_written=sum(row.get("size_bytes") or 0 for row in made),
        seconds=time.monotonic() - start,
        manifest=str(spec.manifest),
        errors={row["source"]: row["error"] for row in failed[:_MOST_ERRORS]},
    )


def load_job(path: str | os.PathLike[str]) -> dict[str, Any]:
    """The arguments of `batch` that a TOML file has. Paths in it begin in the file's folder.

    Raises:
        FileNotFoundError: there is no such file.
        ValueError: it is not TOML, a word is missing, or one is not accepted; the text names the nearest one.
    """
    tomllib = _tomllib()
    try:
        words: dict[str, Any] = tomllib.loads(Path(path).read_text("utf-8"))
    except ValueError as error:
        raise ValueError(f"'{path}' is not TOML: {error}") from error
    accepted = [name for name in inspect.signature(batch).parameters if name != "on_progress"]
    for name in words:
        refuse_other(f"'{path}': a key", name, accepted)
    for name in ("job", "inputs", "output"):
        if name not in words:
            raise ValueError(f"'{path}' lacks {name}; a job has job, inputs and output")
    folder = Path(path).resolve().parent
    for name in ("inputs", "output", "manifest"):
        if name in words:
            words[name] = _placed(words[name], folder)
    return words


def _placed(value: Any, folder: Path) -> Any:
    if isinstance(value, list):
        return [_placed(each, folder) for each in value]
    return value if not isinstance(value, str) or "://" in value else str(folder / value)


def _tomllib() -> Any:
    if sys.version_info >= (3, 11):
        import tomllib

        return tomllib
    try:
        import tomli
    except ImportError as error:
        raise ImportError("a job file needs tomli on Python 3.10: pip install tomli") from error
    return tomli


class _Shown:
    """Counts for `on_progress`."""

    def __init__(
        self, num_files: int, num_done: int, start: float, call: Callable[[BatchProgress], object] | None
    ) -> None:
        self._num_files, self._num_done, self._start, self._call = num_files, num_done, start, call
        self._lock = threading.Lock()
        self._ended_frames = 0
        self._running: dict[str, int] = {}

    def frames(self, task: Task, frames: int) -> None:
        """A task in work has so many frames."""
        with self._lock:
            self._running[task.output] = frames
        self._tell()

    def end(self, row: dict[str, Any]) -> None:
        """A task has ended."""
        with self._lock:
            self._running.pop(row["output"], None)
            self._ended_frames += row.get("num_frames") or 0
            self._num_done += 1
        self._tell()

    def _tell(self) -> None:
        if self._call is None:
            return
        with self._lock:
            frames = self._ended_frames + sum(self._running.values())
            now = BatchProgress(self._num_done, self._num_files, frames, time.monotonic() - self._start)
        self._call(now)
