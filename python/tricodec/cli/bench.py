# SPDX-License-Identifier: Apache-2.0
"""`tricodec bench`: measurements of this machine."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any


def add_parser(commands: Any, common: argparse.ArgumentParser) -> None:
    """Adds the sub-command."""
    parser = commands.add_parser("bench", help="measure this machine", parents=[common])
    kinds = parser.add_subparsers(dest="kind", required=True, metavar="WHAT")
    encode = kinds.add_parser(
        "encode",
        parents=[common],
        help="encoders: time, size and quality",
        description="Encode test pictures in software with several numbers of threads, and on a GPU if it has an "
        "encoder; compare the results with their source; write JSON, PNG and one HTML page.",
    )
    encode.add_argument("--output", default="encode_report", metavar="DIR", help="folder for the report")
    encode.add_argument("--resolutions", default="360p,720p,1080p", metavar="A,B", help="some of 360p,720p,1080p")
    encode.add_argument("--duration", type=float, default=4.0, metavar="S", help="seconds of pictures (default 4)")
    encode.add_argument("--repeats", type=int, default=3, metavar="N", help="runs of each measurement (default 3)")
    encode.add_argument(
        "--threads", metavar="N,M", help="threads of the software encoder (default 1,4,8 and all cores)"
    )
    encode.add_argument(
        "--rd-resolution", metavar="SIZE", help="size of the rate-distortion curves (default: the first)"
    )
    encode.add_argument("--no-sweep", action="store_true", help="leave out presets and qualities")
    encode.set_defaults(run=run_encode)


def run_encode(options: argparse.Namespace) -> int:
    """Measures encoders, and prints each result and the path of the report."""
    from tricodec import bench

    report = bench.run_encode(
        options.resolutions.split(","), duration=options.duration, repeats=options.repeats,
        threads=[int(each) for each in options.threads.split(",")] if options.threads else None,
        rd_resolution=options.rd_resolution, sweep=not options.no_sweep,
    )  # fmt: skip
    for path in bench.write_report(report, Path(options.output), options.duration):
        print(path)
    return 0
