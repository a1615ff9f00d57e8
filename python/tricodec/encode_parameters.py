# SPDX-License-Identifier: Apache-2.0
"""The parameters of NVIDIA's encoder API by name, and what each becomes for each encoder: the one table of it.

``Settings.of(...)`` reads the parameters of Table 1 of PyNvVideoCodec's document (``bitrate``, ``rc``, ``bf``, ...).
``TABLE`` says for every one of them which options of libx264, libx265, libsvtav1 and NVENC it sets, or why there is
none; ``build`` applies it. ``tricodec encode --explain`` prints it.
"""

from __future__ import annotations

import dataclasses
from typing import Any

from tricodec.encode_settings import CPU_ENCODERS, NVENC_ENCODERS, Settings
from tricodec.encode_table import TABLE, Refused, Row

__all__ = [
    "CPU_ENCODERS",
    "NVENC_ENCODERS",
    "TABLE",
    "Plan",
    "Refused",
    "Row",
    "Settings",
    "build",
    "differences",
    "explain",
]

_PARAMS = {"libx264": "x264-params", "libx265": "x265-params", "libsvtav1": "svtav1-params"}


@dataclasses.dataclass(frozen=True)
class Plan:
    """What ``tricodec.Encoder`` is made with, and what of the parameters has no effect and why."""

    encoder: str
    words: dict[str, Any]
    notes: dict[str, str]


def build(settings: Settings, encoder: str) -> Plan:
    """The keyword arguments of ``tricodec.Encoder`` that these settings mean for one of libavcodec's encoders.

    Raises:
        Refused: the encoder cannot do what a parameter asks for; the text says why.
    """
    words: dict[str, Any] = {"codec": encoder}
    options: dict[str, str] = {}
    params: list[str] = []
    notes: dict[str, str] = {}
    for row in TABLE:
        effect = row.effect(encoder, settings)
        if isinstance(effect, str):
            notes["/".join(row.names)] = effect
            continue
        for key, value in effect.items():
            if key.startswith("params:"):
                params.append(f"{key.removeprefix('params:')}={value}")
            elif key == "filter":
                words["bitstream_filter"] = value
            elif key in ("color", "repeat_headers", "frame_rate"):
                words[key] = value
            else:
                options[key] = str(value)
    if params:
        options[_PARAMS[encoder]] = ":".join(params)
    return Plan(encoder, {**words, "options": options}, notes)


def differences(old: Plan, new: Plan) -> frozenset[str]:
    """The names of what two plans for one encoder set otherwise: its options, those inside its params, our words."""
    before, after = _flat(old), _flat(new)
    return frozenset(name for name in before.keys() | after.keys() if before.get(name) != after.get(name))


def _flat(plan: Plan) -> dict[str, Any]:
    flat: dict[str, Any] = {**plan.words, **plan.words["options"]}
    del flat["options"]
    params = flat.pop(_PARAMS.get(plan.encoder, ""), "")
    return flat | dict(each.split("=", 1) for each in params.split(":") if each)


def explain(settings: Settings, encoder: str) -> list[tuple[str, str]]:
    """The rows of the table for these settings: (parameters, what they set, or why nothing)."""
    lines = []
    for row in TABLE:
        try:
            effect = row.effect(encoder, settings)
        except Refused as error:
            effect = f"refused: {error}"
        else:
            if isinstance(effect, str):
                effect = f"no effect: {effect}"
            else:
                effect = ", ".join(f"{key.removeprefix('params:')}={value}" for key, value in effect.items()) or "-"
        lines.append((", ".join(row.names), effect))
    return lines
