# SPDX-License-Identifier: Apache-2.0
"""A job: its words, its files, and which of them are to be made."""

from __future__ import annotations

import dataclasses
import hashlib
import json
import os
import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path, PurePosixPath
from typing import Any

from tricodec._dataset._columns import READABLE, NotAnIndexError
from tricodec._dataset._index import DatasetIndex
from tricodec._dataset._locate import (
    LOCATED_COLUMNS,
    Located,
    absolute,
    any_file,
    is_parquet,
    locate,
    locate_videos,
    located_row,
)
from tricodec._jobs._kinds import KINDS, checked_options, refuse_other
from tricodec._jobs._manifest import Manifest
from tricodec._jobs._task import DONE, Task, checksum_of, is_same_version
from tricodec._remote._stores import is_remote_url
from tricodec._tricodec import __version__
from tricodec.errors import MediaNotFoundError

CHECKS = ("size", "sha256")
_PART = re.compile(r"\.(?P<name>.+)\.[a-z0-9]{6}\.part")


@dataclasses.dataclass(frozen=True)
class Job:
    """The words of a job. Attributes are those of `tricodec.batch`."""

    kind: str
    inputs: tuple[str, ...]
    output: Path
    options: dict[str, Any]
    suffix: str
    manifest: Path
    check: str
    keep_suffix: bool
    remote_options: dict[str, Any]

    @property
    def key(self) -> str:
        """Tells outputs of this job from those of another one, or of another version of tricodec."""
        text = json.dumps([self.kind, self.options, self.suffix, __version__], sort_keys=True)
        return hashlib.sha256(text.encode()).hexdigest()[:16]


def make_job(
    kind: str,
    inputs: str | os.PathLike[str] | Iterable[str | os.PathLike[str]],
    output: str | os.PathLike[str],
    *,
    options: Mapping[str, Any] | None = None,
    suffix: str = "",
    manifest: str | os.PathLike[str] | None = None,
    check: str = "size",
    keep_suffix: bool = False,
    remote_options: Mapping[str, Any] | None = None,
) -> Job:
    """The job of the arguments of `tricodec.batch`.

    Raises:
        ValueError, TypeError: a word or a value is not accepted; the text names the nearest accepted word.
    """
    refuse_other("job", kind, KINDS)
    refuse_other("check", check, CHECKS)
    names = [inputs] if isinstance(inputs, str | os.PathLike) else list(inputs)
    if not names:
        raise ValueError("inputs is empty; name files, folders, URLs or an index (.parquet)")
    if suffix and not re.fullmatch(r"\.\w+", suffix):
        raise ValueError(f"suffix is {suffix!r}; write it as '.mkv'")
    if KINDS[kind].suffix and suffix not in ("", KINDS[kind].suffix):
        raise ValueError(f"suffix is {suffix!r}; the job {kind} writes {KINDS[kind].suffix}")
    folder = Path(absolute(output))
    return Job(
        kind, tuple(os.fspath(each) for each in names), folder, checked_options(kind, options or {}),
        suffix or KINDS[kind].suffix or ".mp4", Path(absolute(manifest)) if manifest else folder / "manifest.jsonl",
        check, keep_suffix, dict(remote_options or {}),
    )  # fmt: skip


def tasks_of(job: Job) -> list[Task]:
    """A task for each file of a job, by the names of the outputs.

    Raises:
        MediaNotFoundError: an input does not exist.
        ValueError: two files have the same output, or one would be its own output.
    """
    key = job.key
    tasks: dict[str, Task] = {}
    for located, name in _located(job):
        output = _output_name(name, job)
        target = str(job.output / output)
        if located.member is None and target == located.place:
            raise ValueError(f"'{target}' would replace itself; name another folder as output")
        version = {"size_bytes": located.size_bytes, "mtime_ns": located.mtime_ns, "etag": located.etag}
        member, source = None, located.place
        if located.member is not None:
            member = {name: getattr(located.member, name) for name in ("name", "offset", "size_bytes")}
            source = f"{located.place}/{located.member.name}"
        task = Task(
            job.kind, source, located.place, member, target, output, job.options, job.remote_options, version, key
        )  # fmt: skip
        other = tasks.setdefault(output, task)
        if other.source != task.source:
            raise ValueError(
                f"'{other.source}' and '{task.source}' have the same output '{output}'; keep_suffix = true keeps the "
                "suffixes of the inputs in the names, or make two jobs"
            )
    return [tasks[output] for output in sorted(tasks)]


def undone(tasks: Iterable[Task], job: Job, manifest: Manifest) -> list[Task]:
    """The tasks that are not done, as the manifest says and the outputs show."""
    return [task for task in tasks if not _is_done(task, job, manifest.rows.get(task.output))]


def remove_parts(tasks: Iterable[Task]) -> None:
    """Removes temporary files of outputs that a killed process left."""
    names: dict[Path, set[str]] = {}
    for task in tasks:
        target = Path(task.target)
        names.setdefault(target.parent, set()).add(target.name)
    for folder, targets in names.items():
        if not folder.is_dir():
            continue
        for path in folder.iterdir():
            found = _PART.fullmatch(path.name)
            if found is not None and found["name"] in targets:
                path.unlink(missing_ok=True)


def _is_done(task: Task, job: Job, row: Mapping[str, Any] | None) -> bool:
    if row is None or not is_same_version(row, task):
        return False
    if row["status"] not in DONE:
        return bool(row["status"] == "unreadable")
    target = Path(task.target)
    if not target.is_file() or target.stat().st_size != row["size_bytes"]:
        return False
    return job.check == "size" or checksum_of(target)[1] == row["sha256"]


def _located(job: Job) -> Iterator[tuple[Located, PurePosixPath]]:
    """The files of a job, and their places below the output folder without their final suffix."""
    is_of_videos = not KINDS[job.kind].is_of_any_file
    for name in job.inputs:
        if is_of_videos and is_parquet(name) and (index := _index(name)) is not None:
            yield from _of_index(index)
            continue
        if not is_remote_url(name) and not Path(name).exists():
            raise MediaNotFoundError(f"'{name}' does not exist; name a file, a folder, a URL or an index (.parquet)")
        root = "" if is_remote_url(name) else absolute(name if Path(name).is_dir() else Path(name).parent)
        found = (
            locate_videos([name], root, job.remote_options)
            if is_of_videos
            else locate([name], root, job.remote_options, any_file)
        )
        for each in found:
            if not (root and _is_output(each.place, root, job)):
                yield each, _below(each.path)


def _is_output(place: str, root: str, job: Job) -> bool:
    """True for what this job wrote into a folder of its inputs."""
    if place == str(job.manifest) or (job.kind == "compress" and place.endswith(job.suffix)):
        return True
    is_inside = str(job.output) != root and job.output.is_relative_to(root)
    return is_inside and Path(place).is_relative_to(job.output)


def _index(name: str) -> DatasetIndex | None:
    """An index; None for another Parquet file, of which each row may hold a video."""
    try:
        return DatasetIndex(name)
    except NotAnIndexError:
        return None


def _of_index(index: DatasetIndex) -> Iterator[tuple[Located, PurePosixPath]]:
    for row in index.table.select([*LOCATED_COLUMNS, "status"]).to_pylist():
        if row["status"] in READABLE:
            yield located_row(row, index.root), _below(row["path"])


def _below(path: str) -> PurePosixPath:
    """A path or a URL as a path without a root."""
    text = path.partition("://")[2].partition("?")[0] if is_remote_url(path) else path
    return PurePosixPath(*(part for part in PurePosixPath(text).parts if part not in ("/", "..")))


def _output_name(name: PurePosixPath, job: Job) -> str:
    keeps = job.keep_suffix or KINDS[job.kind].is_of_any_file
    return str(name.with_name((name.name if keeps else name.stem) + job.suffix))
