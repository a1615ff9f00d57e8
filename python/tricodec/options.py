# SPDX-License-Identifier: Apache-2.0
"""The options of requests, as the core's tables have them: names, types, defaults, values and texts."""

from __future__ import annotations

import difflib
import inspect
import itertools
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from tricodec import _tricodec


class Option(NamedTuple):
    """An entry of a table."""

    type: str
    """"whole", "number", "flag" or "text"; "wholes" and "numbers" are lists."""
    default: Any
    """None for an option that is left out."""
    accepted: tuple[str, ...]
    """The values of a text, or what the numbers of a list of fixed length are; empty for any."""
    meaning: str
    """Sentences for people, without a capital letter at the start."""


SELECTION_OPTIONS = {name: Option(*entry) for name, entry in _tricodec.SELECTION_OPTIONS.items()}
"""Which frames: what `decode_video` and all other requests take."""
TRANSFORM_OPTIONS = {name: Option(*entry) for name, entry in _tricodec.TRANSFORM_OPTIONS.items()}
"""What is done to them: what `Transform` takes."""

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
    names = list(accepted)
    elsewhere = _ELSEWHERE.get(name)
    close = [elsewhere] if elsewhere in names else difflib.get_close_matches(name, names, 3, 0.6)
    return f"; did you mean {' or '.join(map(repr, close))}?" if close else ""


def unexpected_keyword(call: str | Callable[..., Any], name: str, accepted: Iterable[str]) -> TypeError:
    """The error for a keyword that a call does not have. A function or a class takes those of its signature too."""
    own: list[str] = []
    if not isinstance(call, str):
        named = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)
        own = [each.name for each in inspect.signature(call).parameters.values() if each.kind in named]
        call = call.__name__
    names = list(dict.fromkeys([*accepted, *own]))
    remedy = meant(name, names) or f"; accepted: {', '.join(names)}"
    return TypeError(f"{call}() got an unexpected keyword argument {name!r}{remedy}")


def transform_of(
    call: str | Callable[..., Any], options: Mapping[str, Any], others: Iterable[str] = ()
) -> _tricodec.Transform:
    """The Transform of the options that are left of a call, which takes `others` too."""
    for name in options:
        if name not in TRANSFORM_OPTIONS:
            raise unexpected_keyword(call, name, [*others, *TRANSFORM_OPTIONS])
    return _tricodec.Transform(**options)


def request_of(
    call: str | Callable[..., Any], options: Mapping[str, Any], others: Iterable[str] = ()
) -> tuple[dict[str, Any], _tricodec.Transform]:
    """The selection and the Transform that the keywords of a call mean; it takes `others` too."""
    selection = {name: value for name, value in options.items() if name in SELECTION_OPTIONS}
    rest = {name: value for name, value in options.items() if name not in SELECTION_OPTIONS}
    transform = transform_of(call, rest, [*SELECTION_OPTIONS, *others])
    _tricodec.check_selection(**selection)
    return selection, transform


def checked_selection(call: str, options: Mapping[str, Any]) -> dict[str, Any]:
    """The options that are not None, if all select frames. `call` is the function that got them."""
    for name in options:
        if name not in SELECTION_OPTIONS:
            raise unexpected_keyword(call, name, SELECTION_OPTIONS)
    given = {name: value for name, value in options.items() if value is not None}
    _tricodec.check_selection(**given)
    return given


def selection_of(indices: Sequence[int]) -> dict[str, Any]:
    """The options that select frames by their numbers. Frames some steps apart are decoded ahead."""
    steps = {later - earlier for earlier, later in itertools.pairwise(indices)} or {1}
    if indices and len(steps) == 1 and min(steps) > 0:
        return {"start": indices[0], "stride": steps.pop(), "count": len(indices)}
    return {"indices": list(indices)}


def starts_selection(name: str) -> bool:
    """Whether an option of a request starts a new selection. start, stride and count replace each their own."""
    return name in SELECTION_OPTIONS and name not in ("start", "stride", "count")


def replaced(options: Mapping[str, Any], others: Mapping[str, Any]) -> dict[str, Any]:
    """Options with `others` in their place; all others go if one of these starts a new selection, as times do."""
    given = {name: value for name, value in others.items() if value is not None}
    return {**({} if any(starts_selection(name) for name in given) else options), **given}
