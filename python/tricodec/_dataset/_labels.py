# SPDX-License-Identifier: Apache-2.0
"""Labels of clips: from names of folders, a column of the index or of the parts, or a table of paths."""

from __future__ import annotations

import dataclasses
import json
import os
from collections.abc import Mapping, Sequence
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, Any

from tricodec._dataset._clip_list import read_parts
from tricodec._dataset._columns import READABLE

if TYPE_CHECKING:
    from tricodec._dataset._index import DatasetIndex

LabelSource = str | os.PathLike[str] | Mapping[str, Any] | Sequence[Any]


@dataclasses.dataclass(frozen=True)
class Labels:
    """The label of each part."""

    values: list[int | float]
    """Numbers; -1 for a video without a label, which cannot be read."""
    names: list[str]
    """If labels are texts: the text of each number; else empty."""


def read_labels(
    given: LabelSource, index: DatasetIndex, rows: Sequence[int], parts: list[dict[str, Any]] | None
) -> Labels:
    """The labels of parts of videos.

    Args:
        given: as `Dataset` takes `labels`.
        index: of the videos.
        rows: the row of each part.
        parts: the table of the parts, if there is one.

    Raises:
        ValueError: a video has no label, or there is no such column.
    """
    if isinstance(given, str) and parts is not None and any(given in part for part in parts):
        found: list[Any] = [part.get(given) for part in parts]
    else:
        by_row = _by_row(given, index)
        found = [by_row[row] for row in rows]
    status = index.table["status"].to_pylist()
    for row, label in zip(rows, found, strict=True):
        if label is None and status[row] in READABLE:
            path = index.table["path"][row].as_py()
            raise ValueError(f"'{path}' has no label in labels={_shown(given)}; give it one, or leave the video out")
    if not any(isinstance(label, str) for label in found):
        return Labels([-1 if label is None else label for label in found], [])
    names = sorted({str(label) for label in found if label is not None})
    numbers = {name: number for number, name in enumerate(names)}
    return Labels([-1 if label is None else numbers[str(label)] for label in found], names)


def _by_row(given: LabelSource, index: DatasetIndex) -> list[Any]:
    paths = index.table["path"].to_pylist()
    if isinstance(given, Mapping):
        return [given.get(path) for path in paths]
    if isinstance(given, str) and given == "folder":
        return [PurePosixPath(path).parent.name or None for path in paths]
    if isinstance(given, str) and given in index.table.column_names:
        return list(index.table[given].to_pylist())
    if isinstance(given, str) and any(given in json.loads(sample or "{}") for sample in _samples(index)):
        return [_number(index.sample(row).get(given)) for row in range(len(index))]
    if isinstance(given, str | os.PathLike):
        if not os.path.exists(given):  # noqa: PTH110  # a text may be no path
            raise ValueError(
                f"labels is {_shown(given)}, which is neither 'folder', nor a column of the index or of the parts, "
                "nor a CSV or Parquet file with the columns path and label"
            )
        table = read_parts(given)
        if table and not {"path", "label"} <= table[0].keys():
            raise ValueError(f"'{os.fspath(given)}' has the columns {', '.join(table[0])}; expected path and label")
        return _by_row({row["path"]: row["label"] for row in table}, index)
    if len(given) != len(paths):
        raise ValueError(f"labels has {len(given)} values, and the index has {len(paths)} videos; pass one for each")
    return list(given)


def _samples(index: DatasetIndex) -> list[str | None]:
    """The first sample that there is, as the index has it."""
    found = index.table["sample"].drop_null()
    return [found[0].as_py()] if len(found) else []


def _number(data: bytes | None) -> int | str | None:
    """A label that a file holds."""
    if data is None:
        return None
    text = data.decode().strip()
    return int(text) if text.removeprefix("-").isdecimal() else text


def _shown(given: LabelSource) -> str:
    return repr(os.fspath(given)) if isinstance(given, str | os.PathLike) else f"<{type(given).__name__}>"
