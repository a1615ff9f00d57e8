# SPDX-License-Identifier: Apache-2.0
"""The words that encode_video() and transcode() share, as the extension takes those of an encoder."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


def encoder_words(
    *, options: Mapping[str, Any] | None, pixel_format: str | None, frame_rate: Any, **words: Any
) -> dict[str, Any]:
    """The keyword arguments of an Encoder; those that are None are left to it."""
    chosen = {"format": pixel_format, "frame_rate": frame_rate, "options": dict(options or {}), **words}
    return {name: word for name, word in chosen.items() if word is not None}
