# SPDX-License-Identifier: Apache-2.0
"""``index=`` of ``fn.tricodec.read_video``: the videos of a `tricodec.data.DatasetIndex`."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

from tricodec.data import DatasetIndex
from tricodec.remote import RemoteSource

_SOURCES = ("filenames", "file_root", "file_list", "paths")
INDEX_HELP = """
index : str, os.PathLike or tricodec.data.DatasetIndex, optional
    An index that ``tricodec index`` wrote, or its path: its videos are read, those that it says cannot be read are left
    out. ``labels`` then has a number for each row of the index. `tricodec.dali.index_arguments` describes it.
"""


def index_arguments(
    index: str | os.PathLike[str] | DatasetIndex, labels: Sequence[int] | None = None
) -> dict[str, Any]:
    """The arguments of `read_video` that mean the videos of an index.

    ``fn.tricodec.read_video(index=index, ...)`` uses them. Classes and dynamic mode take them as keywords. With the
    same ``sequence_length`` (as ``clip_length``), ``stride`` and ``step`` the sequences are the clips of
    `tricodec.data.Dataset`, under the same numbers.

    Args:
        index: an index, or the path of one.
        labels: a whole number for each row of the index; None is without labels.

    Returns:
        ``filenames``, and ``labels`` if they are asked for.

    Raises:
        ValueError: a video is in an archive or has a URL, there are not as many labels as rows, or no video can be
            read.
        FileNotFoundError: there is no such index.
    """
    if not isinstance(index, DatasetIndex):
        index = DatasetIndex(index)
    rows = [row for row, status in enumerate(index.table["status"].to_pylist()) if status in ("ok", "damaged", "cut")]
    if not rows:
        raise ValueError(f"the index '{index.path}' has no video that can be read")
    filenames = []
    for row in rows:
        source = index.source(row)
        if isinstance(source, RemoteSource):
            raise ValueError(
                f"'{source.name}' is a URL, and read_video reads files; fetch it first, or read it with "
                "tricodec.data.Dataset and give the clips to external_source"
            )
        if not isinstance(source, str):
            path = index.table["path"][row].as_py()
            raise ValueError(
                f"'{path}' is a part of a file, and read_video reads files; name archives as paths and index_paths"
            )
        filenames.append(source)
    if labels is None:
        return {"filenames": filenames}
    if len(labels) != len(index):
        raise ValueError(f"labels has {len(labels)} values, and the index has {len(index)} videos; pass one for each")
    return {"filenames": filenames, "labels": [int(labels[row]) for row in rows]}


def with_index(index: str | os.PathLike[str] | DatasetIndex, arguments: dict[str, Any]) -> dict[str, Any]:
    """The arguments of read_video with those of an index."""
    for name in _SOURCES:
        if name in arguments:
            raise ValueError(f"read_video is given index and {name}; each names the videos, leave one out")
    labels = arguments.pop("labels", None)
    return {**arguments, **index_arguments(index, labels)}
