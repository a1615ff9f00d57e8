# SPDX-License-Identifier: Apache-2.0
"""Options of CreateEncoder and Transcoder: as flat strings, and what becomes of them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tricodec import encode_parameters

from ._log import logger

#: Accepted so that programs run; what they ask for is so anyway, or has no meaning here.
_IGNORED = {"gpuid", "gpu_id", "cudacontext", "cudastream", "enable_async", "bRepeatSPSPPS", "bframes", "numrefl1",
            "global_header"}  # fmt: skip

_warned: set[str] = set()


def read_settings(caller: str, options: Mapping[str, Any], width: int, height: int) -> encode_parameters.Settings:
    """The parameters of Table 1 among the options; of each other name a warning tells once.

    Raises:
        ValueError: a value is outside its documented range; the text says which values are accepted.
    """
    settings, unknown = encode_parameters.Settings.of(options, width, height)
    for name in unknown:
        if name not in _IGNORED:
            _warn_once(f"{caller}: {name!r} is no parameter that is known here and is ignored")
    return settings


def plan_of(settings: encode_parameters.Settings, encoder: str) -> encode_parameters.Plan:
    """What the settings mean for an encoder; the log tells of those that have no effect with it.

    Raises:
        tricodec.UnsupportedError: the encoder cannot do what a parameter asks for; the text says why.
    """
    plan = encode_parameters.build(settings, encoder)
    for names, reason in plan.notes.items():
        logger.info("%s has no effect with %s: %s", names, plan.encoder, reason)
    return plan


def _warn_once(text: str) -> None:
    if text not in _warned:
        _warned.add(text)
        logger.warning("%s", text)


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
