# SPDX-License-Identifier: Apache-2.0
"""`tricodec doctor`: what is wrong with the videos of an index, and which are slow."""

from __future__ import annotations

import argparse
import json
import sys
from typing import Any

import tricodec
from tricodec._dataset._page import examination_page
from tricodec._display.progress import Progress
from tricodec._display.tables import format_table
from tricodec._tricodec import OutputFile

_MOST_VALUES = 8
#: Videos of each finding that the page names.
_NAMED_ON_PAGE = 20


def add_parser(commands: Any, common: argparse.ArgumentParser) -> None:
    """Adds the sub-command."""
    parser = commands.add_parser(
        "doctor",
        parents=[common],
        help="find what is wrong with the videos of an index",
        description="Count the videos of an index by codec, size, rate and state, and find those that are cut, "
        "damaged, duplicated, uneven in time or slow. No video is opened. The exit status is 1 if a video cannot be "
        "used or is damaged.",
    )
    parser.add_argument("index", metavar="INDEX", help="the Parquet file that tricodec index wrote")
    parser.add_argument(
        "--examples", type=int, default=3, metavar="N", help="videos that the table names for each finding (default 3)"
    )
    parser.add_argument(
        "--html", metavar="FILE", help="also write a page that needs no other file, with a picture of each class of "
        "videos; one video of each is opened",
    )  # fmt: skip
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Prints the examination."""
    index = tricodec.DatasetIndex(options.index)
    with Progress("doctor: checks") as progress:
        found = index.examine(on_progress=progress.show)
    if options.json:
        print(json.dumps(found.to_dict(index), indent=2))
    else:
        print(describe(index, found, options.examples))
    if options.html:
        with OutputFile(options.html) as file, Progress("doctor: pictures") as progress:
            file.write(examination_page(index, found, _NAMED_ON_PAGE, progress.show).encode())
    rows = {row for each in found.findings if each.level == "error" for row in each.rows}
    if rows:
        print(f"tricodec: {len(rows)} of {found.num_videos} videos cannot be used or are damaged", file=sys.stderr)
    return 1 if rows else 0


def describe(index: tricodec.DatasetIndex, found: Any, num_examples: int) -> str:
    """Counts and findings as tables, for people to read."""
    lines = [
        f"{index.path}: {found.num_videos} videos, {found.num_frames} frames, {found.duration_seconds / 3600:.2f} h, "
        f"{found.size_bytes / 1e9:.3f} GB"
    ]
    for name, values in found.counts.items():
        shown = [f"{count} {value}" for value, count in list(values.items())[:_MOST_VALUES]]
        if len(values) > _MOST_VALUES:
            shown.append(f"{len(values) - _MOST_VALUES} more values")
        lines.append(f"  {name.replace('_', ' ')}: {', '.join(shown) or '-'}")
    if not found.findings:
        return "\n".join([*lines, "nothing found"])
    rows = [[each.level, each.name, len(each.rows), each.meaning] for each in found.findings]
    lines += ["", format_table(["level", "finding", "videos", "meaning"], rows)]
    for each in found.to_dict(index, num_examples)["findings"]:
        if num_examples > 0:
            lines.append(f"\n{each['name']}:")
        lines += [
            f"  {video['path']}" + (f": {video['detail']}" if video["detail"] else "") for video in each["videos"]
        ]
        if 0 < num_examples < each["num_videos"]:
            lines.append(f"  and {each['num_videos'] - num_examples} more")
    return "\n".join(lines)
