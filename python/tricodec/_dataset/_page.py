# SPDX-License-Identifier: Apache-2.0
"""A page about a set of videos: `tricodec doctor --html`. It needs no other file."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

from tricodec._dataset._columns import READABLE
from tricodec._display import html
from tricodec._display.pictures import encode_png, thumbnail_size
from tricodec._tricodec import Transform
from tricodec.errors import Error

if TYPE_CHECKING:
    from tricodec._dataset._examine import Examination
    from tricodec._dataset._index import DatasetIndex

_MOST_CLASSES = 24
_MOST_VALUES = 12


def examination_page(
    index: DatasetIndex,
    found: Examination,
    num_examples: int,
    on_progress: Callable[[int, int], object] | None = None,
) -> str:
    """The counts, the findings, and a picture of each class of videos: those of one codec, size and pixel format.

    A frame of one video of each class is decoded; no other video is opened.

    Args:
        index: what was examined.
        found: what `DatasetIndex.examine` gave.
        num_examples: the most videos of a finding that are named.
        on_progress: is called with the number of pictures that are made, and of all.
    """
    parts = [html.head("tricodec doctor", f"{found.num_videos} videos of {index.path}")]
    facts = [
        ["frames", f"{found.num_frames:,}"], ["hours", f"{found.duration_seconds / 3600:.2f}"],
        ["gigabytes", f"{found.size_bytes / 1e9:.3f}"],
    ]  # fmt: skip
    parts.append(html.table(["all videos", ""], facts))
    parts.append(html.heading("Findings"))
    rows = [[each.level, each.name, str(len(each.rows)), each.meaning] for each in found.findings]
    parts.append(html.table(["level", "finding", "videos", "meaning"], rows) if rows else html.paragraph("Nothing."))
    parts.append(html.heading("Classes of videos"))
    parts += _classes(index, on_progress)
    for each in found.to_dict(index, num_examples)["findings"]:
        parts.append(html.heading(f"{each['name']}: {each['num_videos']} videos"))
        parts.append(html.paragraph(f"{each['meaning']}."))
        parts.append(html.table(["video", "detail"], [[video["path"], video["detail"]] for video in each["videos"]]))
        if each["num_videos"] > len(each["videos"]):
            parts.append(html.paragraph(f"and {each['num_videos'] - len(each['videos'])} more"))
    parts.append(html.heading("Counts"))
    for name, values in found.counts.items():
        shown = [[value, str(count)] for value, count in list(values.items())[:_MOST_VALUES]]
        if len(values) > _MOST_VALUES:
            shown.append([f"{len(values) - _MOST_VALUES} more values", ""])
        parts.append(html.table([name.replace("_", " "), "videos"], shown))
    return "\n".join(parts) + "\n"


def _classes(index: DatasetIndex, on_progress: Callable[[int, int], object] | None) -> Iterator[str]:
    """A picture of each class, the largest ones first."""
    names = ("status", "codec", "width", "height", "pixel_format")
    classes: dict[tuple[Any, ...], list[int]] = {}
    for row, (status, *key) in enumerate(zip(*(index.table[name].to_pylist() for name in names), strict=True)):
        if status in READABLE:
            classes.setdefault(tuple(key), []).append(row)
    ordered = sorted(classes.items(), key=lambda item: -len(item[1]))
    shown = ordered[:_MOST_CLASSES]
    for number, ((codec, width, height, pixel_format), rows) in enumerate(shown, 1):
        title = f"{len(rows)} {codec} {width}x{height} {pixel_format}"
        try:
            with index.reader(rows[0], device="cpu", num_workers=1) as reader:
                frame = reader[len(reader) // 2]
                picture = encode_png(Transform(size=thumbnail_size(frame))(frame))
            yield html.picture(picture, title)
        except (Error, OSError, IndexError) as error:
            yield html.heading(title)
            yield html.paragraph(f"no picture: {error}")
        if on_progress is not None:
            on_progress(number, len(shown))
    if len(ordered) > _MOST_CLASSES:
        yield html.paragraph(f"and {len(ordered) - _MOST_CLASSES} more classes")
