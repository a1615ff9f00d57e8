# SPDX-License-Identifier: Apache-2.0
"""Options of CreateEncoder as flat strings."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


def tostring(value: object) -> str:
    """An option as the encoder reads it: ``str`` without brackets, so that ``[20, 21, 22]`` is ``"20, 21, 22"``."""
    return str(value).replace("[", "").replace("]", "")


def format_optional_params(options: Mapping[str, Any]) -> dict[str, str]:
    """Options of ``CreateEncoder`` as flat strings.

    ``slice={"mode": 3, "data": 4}`` becomes ``slice_mode`` and ``slice_data``; the entries of ``timinginfo`` become
    ``num_unit_in_ticks`` and ``timescale``.

    Raises:
        KeyError: ``slice`` or ``timinginfo`` lacks one of its two entries.
    """
    flat: dict[str, str] = {}
    for key, value in options.items():
        if key.lower() == "slice" and isinstance(value, Mapping):
            flat["slice_mode"], flat["slice_data"] = tostring(value["mode"]), tostring(value["data"])
        elif key.lower() == "timinginfo" and isinstance(value, Mapping):
            for name in ("num_unit_in_ticks", "timescale"):
                flat[name] = tostring(value[name])
        else:
            flat[key] = tostring(value)
    return flat
