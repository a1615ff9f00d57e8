# SPDX-License-Identifier: Apache-2.0
"""Draws README's plot: each task on the chief clip, tricodec's speed relative to the best peer's, as SVG."""

from __future__ import annotations

from benchmarks.figures import results
from benchmarks.page import TASKS

_COLORS = {1: "#0b6e4f", 2: "#5aa786"}
_LEFT, _WIDTH, _BAR, _GROUP, _TOP = 330, 420, 12, 36, 40  # in pixels
_MOST = 3.0  # the ratio at the right end


def _text(x: float, y: float, text: str, *, end: bool = False) -> str:
    anchor = ' text-anchor="end"' if end else ""
    return f'<text x="{x:.1f}" y="{y:.1f}"{anchor}>{text}</text>'


def draw() -> str:
    """A bar for one core and one for two; the line is at the speed of the best peer."""
    decode = results("decode")
    bottom = _TOP + _GROUP * len(TASKS)
    parts = [_text(_LEFT, 14, "H.264 1080p: speed relative to the best peer (longer is faster)")]
    for cores, color in _COLORS.items():
        x = _LEFT + 110 * (cores - 1)
        parts.append(f'<rect x="{x}" y="22" width="{_BAR}" height="8" fill="{color}"/>')
        parts.append(_text(x + 18, 30, f"{cores} core{'s' * (cores > 1)}"))
    for number, (task, words) in enumerate(TASKS.items()):
        y = _TOP + _GROUP * number
        parts.append(_text(_LEFT - 8, y + _BAR + 4, words, end=True))
        for cores, color in _COLORS.items():
            contest = decode.contest(task=task, input="h264_1080p", cores=cores)
            if contest is None:
                continue
            top, width = y + (_BAR + 1) * (cores - 1), min(contest.ratio, _MOST) / _MOST * _WIDTH
            parts.append(f'<rect x="{_LEFT}" y="{top}" width="{width:.1f}" height="{_BAR}" fill="{color}"/>')
            parts.append(_text(_LEFT + width + 4, top + 10, f"{contest.ratio:.2f}x {contest.peer.contender}"))
    middle = _LEFT + _WIDTH / _MOST
    parts.append(f'<line x1="{middle:.1f}" y1="{_TOP - 4}" x2="{middle:.1f}" y2="{bottom}" stroke="black"/>')
    size = f'width="{_LEFT + _WIDTH + 150}" height="{bottom + 8}"'
    head = f'<svg xmlns="http://www.w3.org/2000/svg" {size} font-family="sans-serif" font-size="11">'
    background = '<rect width="100%" height="100%" fill="white"/>'
    return "\n".join([head, background, *parts, "</svg>"]) + "\n"
