# SPDX-License-Identifier: Apache-2.0
"""Arguments that DALI does not have: ``plan=`` and ``index=``, and whole numbers, of which DALI cuts 1.5 off to 1."""

from __future__ import annotations

import functools
import os
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from tricodec.data import DatasetIndex
from tricodec.options import SELECTION_OPTIONS, starts_selection
from tricodec.remote import RemoteSource
from tricodec.serving import Plan

_OPERATORS = {
    "decode_video": {"start": "start", "stride": "stride", "count": "count"},
    "read_video": {"stride": "stride", "count": "sequence_length"},
}
"""By operator: its arguments for the frames of a request."""
_REPLACES: dict[str, tuple[str, ...]] = {
    "start_frame": ("start",),
    "end_frame": ("count",),
    "sequence_length": ("count",),
    "frames": ("start", "stride", "count"),
    "image_type": ("color",),
    "interp_type": ("resize",),
    "normalized": ("scale", "mean", "std"),
    **dict.fromkeys(("resize_x", "resize_y", "resize_shorter", "resize_longer"), ("size",)),
}
"""By argument of DALI: the arguments of a plan that it replaces."""
_PLAN_HELP = """
plan : str, os.PathLike or tricodec.Plan, optional
    A plan, or the path of its file: its request gives the arguments that are not given. `tricodec.dali.plan_arguments`
    describes what it gives.
"""
_SOURCES = ("filenames", "file_root", "file_list", "paths")
_INDEX_HELP = """
index : str, os.PathLike or tricodec.data.DatasetIndex, optional
    An index that ``tricodec index`` wrote, or its path: its videos are read, those that it says cannot be read are left
    out. ``labels`` then has a number for each row of the index. `tricodec.dali.index_arguments` describes it.
"""


def accept_arguments(operators: Any) -> None:
    """Give the functions of ``fn.tricodec`` the arguments `plan` and `index`. A second call does nothing."""
    for operator in _OPERATORS:
        _accept(operators, operator, "plan", functools.partial(_with_plan, operator), _PLAN_HELP)
    _accept(operators, "read_video", "index", _with_index, _INDEX_HELP)


def _accept(
    operators: Any, operator: str, name: str, replace: Callable[[Any, dict[str, Any]], dict[str, Any]], text: str
) -> None:
    """Give a function of ``fn.tricodec`` an argument that `replace` turns into others. A second call does nothing."""
    from nvidia.dali.pipeline import do_not_convert

    function = getattr(operators, operator)
    if hasattr(function, f"takes_{name}"):
        return

    @functools.wraps(function)
    def call(*inputs: Any, **arguments: Any) -> Any:
        value = arguments.pop(name, None)
        return function(*inputs, **(arguments if value is None else replace(value, arguments)))

    converted: Any = do_not_convert(call)  # DALI converts functions of other packages, not its own
    setattr(converted, f"takes_{name}", True)
    converted.__doc__ = f"{function.__doc__ or ''}{text}"
    setattr(operators, operator, converted)


def plan_arguments(plan: str | os.PathLike[str] | Plan, operator: str = "decode_video") -> dict[str, Any]:
    """The arguments of an operator that mean the request of a plan.

    ``fn.tricodec.decode_video(encoded, plan=plan)`` uses them. Classes and dynamic mode take them as keywords:
    ``ndd.tricodec.decode_video(encoded, **plan_arguments(plan))``. Of a plan only the request counts: the threads are
    those of the pipeline, and the device is the operator's.

    Args:
        plan: a plan, or the path of its file, which must be of this machine. ``Plan.load(path, strict=False)`` takes
            others.
        operator: "decode_video" or "read_video".

    Returns:
        The arguments that differ from the operator's defaults. For read_video the plan's ``count`` is
        ``sequence_length``.

    Raises:
        ValueError: the operator cannot do the request.
        UnsupportedError, CorruptDataError, OSError: as `Plan.load`.
    """
    from nvidia.dali import types

    if operator not in _OPERATORS:
        raise ValueError(f"operator is {operator!r}; accepted: {', '.join(_OPERATORS)}")
    request = (plan if isinstance(plan, Plan) else Plan.load(plan)).request
    if request.ignore_edit_list:
        raise ValueError("the plan has ignore_edit_list, which DALI's operators do not have; make one without it")
    arguments: dict[str, Any] = {}
    for name, value in request.selection.items():
        if value == SELECTION_OPTIONS[name].default:
            continue
        if not starts_selection(name) and name not in _OPERATORS[operator]:
            raise ValueError(f"the plan has {name} {value}, which {operator} does not have; make one without it")
        arguments[_OPERATORS[operator].get(name, name)] = value
    if request.stream_index != -1:
        arguments["stream_index"] = request.stream_index
    arguments.update(request.transform)
    if "dtype" in arguments:
        dtypes = {"uint8": types.UINT8, "float16": types.FLOAT16, "float32": types.FLOAT}
        if arguments["dtype"] not in dtypes:
            raise ValueError(f"the plan has dtype {arguments['dtype']}, which DALI lacks; use float16 or float32")
        arguments["dtype"] = dtypes[arguments["dtype"]]
    return arguments


def _with_plan(operator: str, plan: str | os.PathLike[str] | Plan, arguments: dict[str, Any]) -> dict[str, Any]:
    """The arguments of an operator with those of a plan that they do not replace."""
    planned = plan_arguments(plan, operator)
    if any(starts_selection(name) for name in arguments):
        planned = {name: value for name, value in planned.items() if name not in SELECTION_OPTIONS}
    for word in arguments.keys() & _REPLACES.keys():
        for replaced in _REPLACES[word]:
            planned.pop(replaced, None)
    return {**planned, **arguments}


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


def _with_index(index: str | os.PathLike[str] | DatasetIndex, arguments: dict[str, Any]) -> dict[str, Any]:
    """The arguments of read_video with those of an index."""
    for name in _SOURCES:
        if name in arguments:
            raise ValueError(f"read_video is given index and {name}; each names the videos, leave one out")
    labels = arguments.pop("labels", None)
    return {**arguments, **index_arguments(index, labels)}


def refuse_fractions(backend: Any, operators: Any, schemas: tuple[str, ...]) -> None:
    """Let the classes of ``ops.tricodec``, which ``fn.tricodec`` uses, refuse fractions. A second call does nothing."""
    for schema_name in schemas:
        *packages, name = schema_name.removeprefix("tricodec__").split("__")
        cls = getattr(functools.reduce(getattr, packages, operators), name)
        if not hasattr(cls.__init__, "refuses_fractions"):
            cls.__init__ = _checked(cls.__init__, backend.GetSchema(schema_name), name)


def _checked(make: Any, schema: Any, operator: str) -> Any:
    @functools.wraps(make)
    def checked(self: Any, **arguments: Any) -> None:
        for name, value in arguments.items():
            if schema.HasArgument(name) and "INT" in schema.GetArgumentType(name).name:
                for number in _numbers(value):
                    if not number.is_integer():
                        raise ValueError(
                            f"{operator}: {name} is {value!r}; it takes whole numbers: use int() or round()"
                        )
        make(self, **arguments)

    checked.refuses_fractions = True  # type: ignore[attr-defined]
    return checked


def _numbers(value: Any) -> Iterator[float]:
    if isinstance(value, (float, np.floating)):
        yield float(value)
    elif isinstance(value, (list, tuple, np.ndarray)):
        for each in value:
            yield from _numbers(each)
