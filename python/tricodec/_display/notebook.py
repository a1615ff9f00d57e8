# SPDX-License-Identifier: Apache-2.0
"""What notebooks show of tricodec's objects, by the methods that IPython looks for."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from tricodec._tricodec import Frame, FrameReader, MediaInfo, Transform

if TYPE_CHECKING:
    from tricodec._display.sheet import ContactSheet
    from tricodec._plan import Plan
    from tricodec.measure._profiler import Profiler

_MOST_PIXELS = 1 << 20
_HOST, _GPU = "#9ecae1", "#a1d99b"


def install() -> None:
    """Gives the native classes these methods."""
    _add(Frame, "_repr_png_", _png_of_frame, "bytes")
    _add(MediaInfo, "_repr_html_", _html_of_info, "str")
    _add(FrameReader, "_repr_html_", _html_of_reader, "str")
    FrameReader.show = _show  # type: ignore[method-assign]
    _show.__name__ = "show"
    _show.__qualname__ = "FrameReader.show"


def _add(cls: type, name: str, function: Callable[..., Any], result: str) -> None:
    function.__name__ = name
    function.__qualname__ = f"{cls.__name__}.{name}"
    function.__doc__ = f"{name}(self: {cls.__name__}) -> {result}\n\n{function.__doc__}"
    setattr(cls, name, function)


def _show(
    self: FrameReader, indices: Any = None, *, size: tuple[int, int] | None = None, columns: int | None = None
) -> ContactSheet:
    """show(self: FrameReader, indices: object = None, *, size: object = None, columns: object = None) -> ContactSheet

    Small pictures of frames: a notebook shows them, and save() writes a PNG file.

    Args:
        indices: frame numbers, or a slice; None takes 16 across the video.
        size: (height, width) of each picture in pixels; None is 144 high with the frame's proportions.
        columns: pictures a row of the PNG; None makes about as many rows as columns.

    Raises:
        IndexError: a number lies outside the video.
        ValueError: there is no frame.
        ImportError: Pillow is not installed.
    """
    from tricodec._display.sheet import sheet_of_reader

    return sheet_of_reader(self, indices, size, columns)


def _png_of_frame(self: Frame) -> bytes:
    """The frame as it is displayed, made smaller if it has more than a million pixels, as a PNG file."""
    from tricodec._display.pictures import encode_png, thumbnail_size

    size = None
    if self.width * self.height > _MOST_PIXELS:
        size = thumbnail_size(self, round(self.height * (_MOST_PIXELS / (self.width * self.height)) ** 0.5))
    return encode_png(Transform(size=size)(self))


def _html_of_info(self: MediaInfo) -> str:
    """A table with a row for each stream."""
    from tricodec._display.media import html_of_info

    return html_of_info(self)


def _html_of_reader(self: FrameReader) -> str:
    """A table of the stream and of how it is read."""
    from tricodec._display.media import html_of_reader

    return html_of_reader(self)


def html_of_profiler(profiler: Profiler) -> str:
    """A table of the stages with a bar for the time of each."""
    from tricodec._display.tables import html_table

    rows = [
        [name, time.frames, time.calls, round(time.seconds, 4), round(time.gpu_seconds, 4)]
        for name, time in sorted(profiler.stages.items(), key=lambda item: -item[1].seconds)
    ]
    header = ["stage", "frames", "calls", "seconds", "GPU seconds"]
    caption = f"Profiler: {profiler.seconds:.4f} s; the stages of all threads"
    return html_table(header, rows, caption=caption, bars={3: _HOST, 4: _GPU})


def html_of_plan(plan: Plan) -> str:
    """The choices of a plan, and a bar for the time of each candidate that was measured."""
    from tricodec._display.tables import html_table

    choices = plan.choices
    facts: list[list[object]] = [
        ["sample", f"{plan.sample.codec} {plan.sample.width}x{plan.sample.height}"],
        ["engine", choices.engine],
        ["transform", choices.instruction_set],
        ["workers", choices.workers],
        ["num_workers", choices.num_workers],
        ["batch_size", choices.batch_size],
        ["frame", f"{list(choices.frame_shape)}, {choices.frame_bytes} bytes"],
    ]
    text = html_table(
        ["choice", "value"], facts, caption=f"Plan, {(plan.tuned and 'tuned for ' + plan.tuned) or 'by rules'}"
    )
    for of_batches, caption in ((False, "measured: whole reads"), (True, "measured: batches, a frame")):
        rows = [
            [each.workers, each.num_workers, each.batch_size, round(each.seconds * 1e3, 4)]
            for each in plan.measurements
            if bool(each.batch_size) == of_batches
        ]
        if rows:
            header = ["workers", "num_workers", "batch_size", "ms"]
            text += "\n" + html_table(header, rows, caption=caption, bars={3: _HOST})
    return text
