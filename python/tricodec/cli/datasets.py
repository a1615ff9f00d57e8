# SPDX-License-Identifier: Apache-2.0
"""`tricodec index` and `tricodec doctor`: an index of the videos of a data set, and what is wrong with them."""

from __future__ import annotations

import argparse
import dataclasses
import json
import sys
from typing import Any

from tricodec.cli import shared
from tricodec.data import DatasetIndex, examine
from tricodec.data._build import READINGS
from tricodec.data._index import index_of
from tricodec.data._locate import place_of
from tricodec.show import Progress, format_table

_LOST = ("failed", "unreadable")
_SHOWN = 10
_MOST_VALUES = 8
_NUM_EXAMPLES = 3


def add_parser(commands: Any, common: argparse.ArgumentParser) -> None:
    parser = shared.add_command(
        commands, [common], "index", _index,
        "Describe many videos in one Parquet file. Readers open videos from it without reading packets. A second run "
        "reads new and changed videos only.",
        ("tricodec index videos/ -o videos.parquet", "tricodec index videos/ -o deep.parquet --read frames"),
        "howto/datasets.md",
    )  # fmt: skip
    add = parser.add_argument
    help = "videos, tar archives, folders with all folders below, URLs, and URLs that end with / for the objects below"
    add("source", nargs="+", metavar="FILE|FOLDER|URL", help=help)
    add("-o", "--output", required=True, metavar="INDEX", help="the Parquet file; an existing one is updated")
    add(
        "--read", choices=READINGS, default="container",
        help="what is read of each video: the container's table (default), the headers of all packets, which show "
        "files that are cut, or all frames, which show all damage",
    )  # fmt: skip
    add("--workers", type=int, default=0, metavar="N", help="videos read at the same time (default: the cores)")
    parser = shared.add_command(
        commands, [common], "doctor", _doctor,
        "Find what is wrong with the videos of a data set. It counts videos by codec, size, rate and state, and names "
        "those that are cut, damaged, duplicated, uneven in time or slow. A folder is indexed first; with an index no "
        "video is opened. The exit status is 1 if a video cannot be used or is damaged.",
        ("tricodec doctor videos/", "tricodec index videos/ -o a.parquet --read frames && tricodec doctor a.parquet"),
        "howto/datasets.md",
    )  # fmt: skip
    parser.add_argument("source", metavar="FOLDER|INDEX", help="a folder, or the file that tricodec index wrote")


def _index(options: argparse.Namespace) -> int:
    """Writes the index, and prints what was done: 1 if a file or a folder cannot be read."""
    with Progress("index", None) as progress:
        summary = DatasetIndex.build(
            options.source, options.output, read=options.read, workers=options.workers, on_progress=progress.show
        )  # fmt: skip
    if summary.num_videos == 0:
        raise ValueError(f"no video was found in {', '.join(options.source)}; the index is empty")
    index = DatasetIndex(options.output)
    failed = [row for row in index.table.select(["path", "status", "error"]).to_pylist() if row["status"] in _LOST]
    for row in failed[:_SHOWN]:
        print(f"tricodec: error: '{place_of(row['path'], index.root)}': {row['error']}", file=sys.stderr)
    if len(failed) > _SHOWN:
        print(f"tricodec: error: {len(failed) - _SHOWN} more; `tricodec doctor` lists them", file=sys.stderr)
    states = ", ".join(f"{count} {status}" for status, count in summary.statuses.items())
    facts = {"output": options.output, **dataclasses.asdict(summary)}
    videos = shared.counted(summary.num_videos, "video")
    text = f"{options.output}: {videos} ({states or 'none'}), {summary.num_read} read, {summary.num_kept} kept"
    shared.report(options, text, facts)
    return 1 if failed else 0


def _doctor(options: argparse.Namespace) -> int:
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
