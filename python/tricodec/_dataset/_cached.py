# SPDX-License-Identifier: Apache-2.0
"""Indexes of folders and files that are named instead of an index: kept in the user's cache, and brought up to date."""

from __future__ import annotations

import hashlib
import os
import time
from collections.abc import Sequence
from pathlib import Path

from tricodec._dataset._columns import NotAnIndexError
from tricodec._dataset._index import DatasetIndex
from tricodec._dataset._locate import absolute, is_tar
from tricodec._remote._stores import is_remote_url

_WAIT_SECONDS = 0.1
IndexSource = DatasetIndex | str | os.PathLike[str] | Sequence[str | os.PathLike[str]]


def index_of(source: IndexSource) -> DatasetIndex:
    """An index that is given, or one of the videos that are.

    Args:
        source: an index, the path of one, or what `DatasetIndex.build` takes.

    Raises:
        FileNotFoundError: it does not exist.
        Error: the errors of `DatasetIndex.build`.
    """
    if isinstance(source, DatasetIndex):
        return source
    if not isinstance(source, str | os.PathLike):
        return _cached([os.fspath(each) for each in source])
    name = os.fspath(source)
    if is_remote_url(name) or Path(name).is_dir() or is_tar(name):
        return _cached([name])
    try:
        return DatasetIndex(name)
    except NotAnIndexError:
        return _cached([name])


def cache_folder() -> Path:
    """Where indexes are kept: below XDG_CACHE_HOME, or .cache in the home folder."""
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "tricodec" / "indexes"


def _cached(sources: list[str]) -> DatasetIndex:
    names = [each if is_remote_url(each) else absolute(each) for each in sources]
    key = hashlib.sha256("\n".join(names).encode("utf-8", "surrogateescape")).hexdigest()[:32]
    folder = cache_folder()
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{key}.parquet"
    while True:
        try:
            DatasetIndex.build(names, path, prune=True)
            return DatasetIndex(path)
        except BlockingIOError:  # another rank is at it
            time.sleep(_WAIT_SECONDS)
        except NotAnIndexError:  # of another version
            path.unlink(missing_ok=True)
