# SPDX-License-Identifier: Apache-2.0
"""One file of a job: what is to be done, and the row of the manifest that says what was done."""

from __future__ import annotations

import dataclasses
import hashlib
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tricodec._dataset._locate import Located
from tricodec._dataset._parts import Member
from tricodec._jobs._kinds import KINDS, Report
from tricodec.errors import CorruptDataError, MediaNotFoundError, RefusedError, UnsupportedError

DONE = ("done", "damaged")
"""Statuses of files that have their output."""

_HASH_BYTES = 1 << 20
#: Trying again gives the same: the file must change first.
_OF_THE_FILE = (CorruptDataError, MediaNotFoundError, RefusedError, UnsupportedError, ValueError, TypeError, IndexError)


@dataclasses.dataclass(frozen=True)
class Task:
    """A file of a job, as plain data that goes to another process.

    Attributes:
        kind: the job.
        source: an absolute path or a URL; of a video in an archive the archive's, and the name in it.
        place: the path or URL that is opened: the archive's.
        member: of a video in an archive: name, offset and size_bytes.
        target: the path of the output.
        output: the same as the manifest has it: from the output folder on.
        options: of the job, all of them.
        remote_options: of `tricodec.remote`.
        version: of the source: size_bytes, mtime_ns, etag; None where it is not known.
        key: what tells this job from one with other options.
    """

    kind: str
    source: str
    place: str
    member: dict[str, Any] | None
    target: str
    output: str
    options: dict[str, Any]
    remote_options: dict[str, Any]
    version: dict[str, Any]
    key: str

    def to_dict(self) -> dict[str, Any]:
        """For JSON."""
        return dataclasses.asdict(self)


def perform(task: Task, report: Report = lambda _frames: None) -> dict[str, Any]:
    """Makes the output of a task, under its name when it is complete.

    Returns:
        The row of the manifest. Its ``status`` says how the task ended:

        - "done": the output is there.
        - "damaged": the output is there, and lacks what the damaged source lacks.
        - "unreadable": there is no output, and there will be none before the source changes.
        - "failed": there is no output, and another try may make it.
    """
    target = Path(task.target)
    row = {**new_row(task), "status": "done"}
    try:
        source = source_of(task.source, task.place, task.member, task.remote_options)
        target.parent.mkdir(parents=True, exist_ok=True)
        row |= KINDS[task.kind].run(source, target, task.options, report)
        row["size_bytes"], row["sha256"] = checksum_of(target)
    except Exception as error:
        return {**row, "status": "unreadable" if isinstance(error, _OF_THE_FILE) else "failed", "error": text_of(error)}
    if row.get("num_damaged_packets"):
        row["status"] = "damaged"
    return row


def source_of(name: str, place: str, member: Mapping[str, Any] | None, remote_options: Mapping[str, Any]) -> Any:
    """What ``FrameReader`` takes. For the arguments see `Task`."""
    return Located(name, place, member=None if member is None else Member(**member)).source(remote_options)


def new_row(task: Task) -> dict[str, Any]:
    """What the manifest says of a task before anything is known of its end."""
    return {
        "source": task.source, "output": task.output, "job": task.kind, "key": task.key, "status": "failed",
        "error": "", "source_size_bytes": task.version["size_bytes"], "source_mtime_ns": task.version["mtime_ns"],
        "source_etag": task.version["etag"],
    }  # fmt: skip


def is_same_version(row: Mapping[str, Any], task: Task) -> bool:
    """True if a row is of the same job and of the source as it is now."""
    version = tuple(task.version[name] for name in ("size_bytes", "mtime_ns", "etag"))
    known = (row.get("source_size_bytes"), row.get("source_mtime_ns"), row.get("source_etag"))
    return row.get("key") == task.key and row.get("source") == task.source and version == known


def checksum_of(path: str | os.PathLike[str]) -> tuple[int, str]:
    """The size of a file in bytes, and its SHA-256."""
    digest, size = hashlib.sha256(), 0
    with Path(path).open("rb") as file:
        while data := file.read(_HASH_BYTES):
            digest.update(data)
            size += len(data)
    return size, digest.hexdigest()


def text_of(error: BaseException) -> str:
    """An error in one line."""
    return f"{type(error).__name__}: {' '.join(str(error).split())}"
