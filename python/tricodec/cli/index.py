# SPDX-License-Identifier: Apache-2.0
"""`tricodec index`: one Parquet file with a row for each video of a data set."""

from __future__ import annotations

import argparse
import dataclasses
import sys
from typing import Any

from tricodec.cli import shared
from tricodec.data import DatasetIndex
from tricodec.data._build import READINGS
from tricodec.data._locate import place_of
from tricodec.show.progress import Progress

_LOST = ("failed", "unreadable")
_SHOWN = 10


def add_parser(commands: Any, common: argparse.ArgumentParser) -> None:
    parser = shared.add_command(
        commands, [common], "index", run,
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


def run(options: argparse.Namespace) -> int:
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
