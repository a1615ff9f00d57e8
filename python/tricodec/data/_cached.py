# SPDX-License-Identifier: Apache-2.0
"""Indexes of folders and files that are named instead of an index: kept in the user's cache, and brought up to date."""

from __future__ import annotations

import fcntl
import hashlib
import os
from collections.abc import Sequence
from pathlib import Path

from tricodec.data._index import DatasetIndex
from tricodec.data._locate import absolute, is_tar, is_video
from tricodec.data._table import NotAnIndexError
from tricodec.remote import is_remote_url

IndexSource = DatasetIndex | str | os.PathLike[str] | Sequence[str | os.PathLike[str]]


def index_of(source: IndexSource) -> DatasetIndex:
    """The index that is given, by itself or its path, or that of the sources of `DatasetIndex.build` that are given."""
    if isinstance(source, DatasetIndex):
        return source
    if not isinstance(source, str | os.PathLike):
        return _cached([os.fspath(each) for each in source])
    name = os.fspath(source)
    if is_remote_url(name) or Path(name).is_dir() or is_video(name) or is_tar(name):
        return _cached([name])
    return DatasetIndex(name)


def _cached(sources: list[str]) -> DatasetIndex:
    """The index in the folder for caches, which is XDG_CACHE_HOME, or .cache in the home folder."""
    names = [each if is_remote_url(each) else absolute(each) for each in sources]
    key = hashlib.sha256("\n".join(names).encode("utf-8", "surrogateescape")).hexdigest()[:32]
    folder = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "tricodec" / "indexes"
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{key}.parquet"
    with (folder / f"{key}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # the ranks of a training start together: one of them reads the videos
        try:
            DatasetIndex.build(names, path)
        except NotAnIndexError:  # an index of another version
            path.unlink()
            DatasetIndex.build(names, path)
        return DatasetIndex(path)
