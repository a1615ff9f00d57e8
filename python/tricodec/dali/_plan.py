# SPDX-License-Identifier: Apache-2.0
"""``plan=`` of the operators that decode: the request of a Plan as the operator's arguments."""

from __future__ import annotations

import os
from typing import Any

from tricodec.options import SELECTION_OPTIONS, starts_selection
from tricodec.serving import Plan

OPERATORS = {
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
PLAN_HELP = """
plan : str, os.PathLike or tricodec.Plan, optional
    A plan, or the path of its file: its request gives the arguments that are not given. `tricodec.dali.plan_arguments`
    describes what it gives.
"""


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

    if operator not in OPERATORS:
        raise ValueError(f"operator is {operator!r}; accepted: {', '.join(OPERATORS)}")
    request = (plan if isinstance(plan, Plan) else Plan.load(plan)).request
    if request.ignore_edit_list:
        raise ValueError("the plan has ignore_edit_list, which DALI's operators do not have; make one without it")
    arguments: dict[str, Any] = {}
    for name, value in request.selection.items():
        if value == SELECTION_OPTIONS[name].default:
            continue
        if not starts_selection(name) and name not in OPERATORS[operator]:
            raise ValueError(f"the plan has {name} {value}, which {operator} does not have; make one without it")
        arguments[OPERATORS[operator].get(name, name)] = value
    if request.stream_index != -1:
        arguments["stream_index"] = request.stream_index
    arguments.update(request.transform)
    if "dtype" in arguments:
        dtypes = {"uint8": types.UINT8, "float16": types.FLOAT16, "float32": types.FLOAT}
        if arguments["dtype"] not in dtypes:
            raise ValueError(
                f"the plan has dtype {arguments['dtype']}, which DALI does not have; use float16 or float32"
            )
        arguments["dtype"] = dtypes[arguments["dtype"]]
    return arguments


def with_plan(operator: str, plan: str | os.PathLike[str] | Plan, arguments: dict[str, Any]) -> dict[str, Any]:
    """The arguments of an operator with those of a plan that they do not replace."""
    planned = plan_arguments(plan, operator)
    if any(starts_selection(name) for name in arguments):
        planned = {name: value for name, value in planned.items() if name not in SELECTION_OPTIONS}
    for word in arguments.keys() & _REPLACES.keys():
        for replaced in _REPLACES[word]:
            planned.pop(replaced, None)
    return {**planned, **arguments}
