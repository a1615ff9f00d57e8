# SPDX-License-Identifier: Apache-2.0
"""Errors for keywords that a function with ``**options`` does not take: they name the nearest ones that it takes."""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from typing import Any

from tricodec import _tricodec
from tricodec.selection import SELECTION_WORDS

TRANSFORM_WORDS = (
    "crop", "size", "resize", "antialias", "chroma", "color", "matrix", "range", "unspecified", "rotate", "dtype",
    "layout", "scale", "mean", "std",
)  # fmt: skip
#: Keywords of other packages, and the one here that means the same.
_ELSEWHERE = {
    "width": "size", "height": "size", "resolution": "size", "interpolation": "resize", "normalize": "mean",
    "output_dtype": "dtype", "dimension_order": "layout", "data_format": "layout", "pix_fmt": "color",
    "frame_indices": "indices", "timestamps": "times", "seconds": "times", "step": "stride", "start_time": "start_s",
    "end_time": "end_s", "stop": "end_s", "nframes": "num_frames", "frame_count": "num_frames", "video_fps": "fps",
    "num_threads": "num_workers", "threads": "num_workers", "sample_rate": "audio_rate",
}  # fmt: skip


def meant(name: str, accepted: Iterable[str]) -> str:
    """Text "; did you mean 'x'?" for a name that is none of the accepted ones, or nothing."""
    words = list(accepted)
    elsewhere = _ELSEWHERE.get(name)
    close = [elsewhere] if elsewhere in words else difflib.get_close_matches(name, words, 3, 0.6)
    return f"; did you mean {' or '.join(map(repr, close))}?" if close else ""


def unknown_keyword(call: str, name: str, accepted: Iterable[str]) -> TypeError:
    """The error for a keyword that a call does not have."""
    words = list(dict.fromkeys(accepted))
    remedy = meant(name, words) or f"; accepted: {', '.join(words)}"
    return TypeError(f"{call}() got an unexpected keyword argument {name!r}{remedy}")


def expect_options(call: str, names: Iterable[str], options: Iterable[str]) -> None:
    """Raises TypeError for a name that is neither one of a selection, nor one of the options."""
    for name in names:
        if name not in SELECTION_WORDS and name not in options:
            raise unknown_keyword(call, name, [*SELECTION_WORDS, *options])


def transform_of(call: str, options: dict[str, Any], others: Iterable[str]) -> _tricodec.Transform:
    """The Transform of the options that are left of a call, which takes `others` too.

    Raises:
        TypeError: an option is not one of `Transform`; the nearest one that the call takes is named.
    """
    for name in options:
        if name not in TRANSFORM_WORDS:
            raise unknown_keyword(call, name, [*others, *TRANSFORM_WORDS])
    return _tricodec.Transform(**options)
