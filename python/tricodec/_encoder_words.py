# SPDX-License-Identifier: Apache-2.0
"""The words that encode_video() and transcode() share, as the extension takes those of an encoder."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


def encoder_words(
    *, options: Mapping[str, Any] | None, preset: str | None, pixel_format: str | None, frame_rate: Any, **words: Any
) -> dict[str, Any]:
    """What an encoder is made with; words that are None are left to it."""
    named = {**(options or {}), **({} if preset is None else {"preset": preset})}
    chosen = {"format": pixel_format, "frame_rate": frame_rate, "options": named, **words}
    return {name: word for name, word in chosen.items() if word is not None}
