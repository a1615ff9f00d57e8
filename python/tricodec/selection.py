# SPDX-License-Identifier: Apache-2.0
"""The words of requests that select frames."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from typing import Any

SELECTION_WORDS = (
    "start", "stride", "count", "indices", "times", "tolerance_s", "policy", "fps", "num_frames", "start_s", "end_s",
    "sampling", "min_frames", "max_frames",
)  # fmt: skip
"""What `decode_video` and all other requests take, and the core's FrameSelection has."""


def checked_words(call: str, words: Mapping[str, Any]) -> dict[str, Any]:
    """The words that are not None.

    Raises:
        TypeError: one is not a word of a selection; `call` is the function that got it.
        ValueError: a value is not accepted, or words contradict each other.
    """
    from tricodec._keywords import expect_options
    from tricodec._tricodec import check_selection

    expect_options(call, words, ())
    given = {name: value for name, value in words.items() if value is not None}
    check_selection(**given)
    return given


def words_of(indices: Sequence[int]) -> dict[str, Any]:
    """The words that select frames by their numbers. Frames some steps apart are decoded ahead."""
    steps = {later - earlier for earlier, later in itertools.pairwise(indices)} or {1}
    if indices and len(steps) == 1 and min(steps) > 0:
        return {"start": indices[0], "stride": steps.pop(), "count": len(indices)}
    return {"indices": list(indices)}


def begins_selection(word: str) -> bool:
    """Whether a word of a request begins a new selection. start, stride and count replace each their own."""
    return word in SELECTION_WORDS and word not in ("start", "stride", "count")


def replaced(words: Mapping[str, Any], others: Mapping[str, Any]) -> dict[str, Any]:
    """Words with `others` in their place; None is a word left out.

    A plan's count does not contradict the times of a request, which begin a new selection.
    """
    given = {name: value for name, value in others.items() if value is not None}
    return {**({} if any(begins_selection(word) for word in given) else words), **given}
