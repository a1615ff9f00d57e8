# SPDX-License-Identifier: Apache-2.0
"""Plans: settings as keyword arguments of ``tricodec.Encoder``, and settings without an effect."""

from __future__ import annotations

import dataclasses
from typing import Any

from tricodec.encode.settings import Settings
from tricodec.encode.table import TABLE, Refused, Row

_PARAMS = {"libx264": "x264-params", "libx265": "x265-params", "libsvtav1": "svtav1-params"}


@dataclasses.dataclass(frozen=True)
class Plan:
    """One encoder with these settings."""

    encoder: str
    """libavcodec's name of the encoder."""
    keywords: dict[str, Any]
    """Keyword arguments of ``tricodec.Encoder``."""
    notes: dict[str, str]
    """Parameters without an effect on this encoder, each with the reason."""


def build(settings: Settings, encoder: str) -> Plan:
    """Apply the table: the plan of these settings for one of libavcodec's encoders.

    Raises:
        Refused: the encoder cannot do what a parameter requests; the text gives the reason.
    """
    keywords: dict[str, Any] = {"codec": encoder}
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
            elif key in ("bitstream_filter", "color", "repeat_headers", "frame_rate"):
                keywords[key] = value
            else:
                options[key] = str(value)
    if params:
        options[_PARAMS[encoder]] = ":".join(params)
    return Plan(encoder, {**keywords, "options": options}, notes)


def differences(old: Plan, new: Plan) -> frozenset[str]:
    """The names with different values in two plans for one encoder: keywords, options, and entries of its params."""
    before, after = _flat(old), _flat(new)
    return frozenset(name for name in before.keys() | after.keys() if before.get(name) != after.get(name))


def _flat(plan: Plan) -> dict[str, Any]:
    flat: dict[str, Any] = {**plan.keywords, **plan.keywords["options"]}
    del flat["options"]
    params = flat.pop(_PARAMS.get(plan.encoder, ""), "")
    return flat | dict(each.split("=", 1) for each in params.split(":") if each)


def explain(settings: Settings, encoder: str) -> list[tuple[str, str]]:
    """The rows of the table for these settings: (parameters, the options that they set, or the reason why none)."""
    return [(", ".join(row.names), _explained(row, settings, encoder)) for row in TABLE]


def _explained(row: Row, settings: Settings, encoder: str) -> str:
    try:
        effect = row.effect(encoder, settings)
    except Refused as error:
        return f"refused: {error}"
    if isinstance(effect, str):
        return f"no effect: {effect}"
    return ", ".join(f"{key.removeprefix('params:')}={value}" for key, value in effect.items()) or "-"
