# SPDX-License-Identifier: Apache-2.0
"""Draws README's plot as SVG: tasks on H.264, tricodec's speed relative to the best peer's, the largest ratio first."""

from __future__ import annotations

from benchmarks.readme import standings

_COLORS = {"H200": "#76b900", "16 cores, Xeon": "#0b6e4f", "2 cores, EPYC": "#5aa786"}
_LEFT, _WIDTH, _ROW, _TOP = 300, 420, 19, 48  # in pixels
_MOST = 8.0  # the ratio at the right end


def _text(x: float, y: float, text: str, *, end: bool = False) -> str:
    anchor = ' text-anchor="end"' if end else ""
    return f'<text x="{x:.1f}" y="{y:.1f}"{anchor}>{text}</text>'


def draw() -> str:
    """A bar for each task; the line is at the speed of the best peer."""
    settings = ("", "H.264 1080p", "H.264 1080p, 2 cores")
    shown = [each for each in standings() if each.setting[0] in settings]
    shown.sort(key=lambda each: -each.contest.exact_ratio)
    parts = [_text(_LEFT, 16, "H.264: speed relative to the best peer (1x, the line); longer is faster")]
    for number, (machine, color) in enumerate(_COLORS.items()):
        x = _LEFT + 110 * number
        parts.append(f'<rect x="{x}" y="26" width="12" height="8" fill="{color}"/>')
        parts.append(_text(x + 18, 34, machine))
    for number, each in enumerate(shown):
        top, width = _TOP + _ROW * number, each.contest.ratio / _MOST * _WIDTH
        parts.append(_text(_LEFT - 8, top + 11, each.task[0], end=True))
        color = _COLORS[each.machine[0].rpartition(", ")[0]]
        parts.append(f'<rect x="{_LEFT}" y="{top}" width="{width:.1f}" height="{_ROW - 5}" fill="{color}"/>')
        parts.append(_text(_LEFT + width + 4, top + 11, f"{each.contest.ratio:.2f}x {each.peer}"))
    middle, bottom = _LEFT + _WIDTH / _MOST, _TOP + _ROW * len(shown)
    parts.append(f'<line x1="{middle:.1f}" y1="{_TOP - 4}" x2="{middle:.1f}" y2="{bottom}" stroke="black"/>')
    size = f'width="{_LEFT + _WIDTH + 100}" height="{bottom + 8}"'
    head = f'<svg xmlns="http://www.w3.org/2000/svg" {size} font-family="sans-serif" font-size="12">'
    background = '<rect width="100%" height="100%" fill="white"/>'
    return "\n".join([head, background, *parts, "</svg>"]) + "\n"
