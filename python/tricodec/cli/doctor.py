# SPDX-License-Identifier: Apache-2.0
"""`tricodec doctor`: what is wrong with the videos of a data set, and which are slow."""

from __future__ import annotations

import argparse
import json
import sys
from typing import Any

from tricodec.cli import shared
from tricodec.data import examine
from tricodec.data._index import index_of
from tricodec.show import format_table

_MOST_VALUES = 8
_NUM_EXAMPLES = 3


def add_parser(commands: Any, common: argparse.ArgumentParser) -> None:
    parser = shared.add_command(
        commands, [common], "doctor", run,
        "Find what is wrong with the videos of a data set. It counts videos by codec, size, rate and state, and names "
        "those that are cut, damaged, duplicated, uneven in time or slow. A folder is indexed first; with an index no "
        "video is opened. The exit status is 1 if a video cannot be used or is damaged.",
        ("tricodec doctor videos/", "tricodec index videos/ -o a.parquet --read frames && tricodec doctor a.parquet"),
        "howto/datasets.md",
    )  # fmt: skip
    parser.add_argument("source", metavar="FOLDER|INDEX", help="a folder, or the file that tricodec index wrote")


def run(options: argparse.Namespace) -> int:
    index = index_of(options.source)
    found = examine(index)
    print(json.dumps(found, indent=2) if options.json else f"{index.path}: {describe(found)}")
    rows = {video["row"] for each in found["findings"] if each["level"] == "error" for video in each["videos"]}
    if rows:
        print(f"tricodec: {len(rows)} of {found['num_videos']} videos cannot be used or are damaged", file=sys.stderr)
    return 1 if rows else 0


def describe(found: dict[str, Any]) -> str:
    """Counts and findings as tables, for people to read."""
    lines = [
        f"{found['num_videos']} videos, {found['num_frames']} frames, {found['duration_seconds'] / 3600:.2f} h, "
        f"{found['size_bytes'] / 1e9:.3f} GB"
    ]
    for name, values in found["counts"].items():
        shown = [f"{count} {value}" for value, count in list(values.items())[:_MOST_VALUES]]
        if len(values) > _MOST_VALUES:
            shown.append(f"{len(values) - _MOST_VALUES} more values")
        lines.append(f"  {name.replace('_', ' ')}: {', '.join(shown) or '-'}")
    if not found["findings"]:
        return "\n".join([*lines, "nothing found"])
    rows = [[each["level"], each["name"], len(each["videos"]), each["meaning"]] for each in found["findings"]]
    lines += ["", format_table(["level", "finding", "videos", "meaning"], rows)]
    for each in found["findings"]:
        lines.append(f"\n{each['name']}:")
        lines += [f"  {video['path']}: {video['detail']}" for video in each["videos"][:_NUM_EXAMPLES]]
        if len(each["videos"]) > _NUM_EXAMPLES:
            lines.append(f"  and {len(each['videos']) - _NUM_EXAMPLES} more; --json has all")
    return "\n".join(lines)
