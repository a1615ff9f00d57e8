# SPDX-License-Identifier: Apache-2.0
"""`tricodec bench quality`: encoders compared by time, size and quality."""

from __future__ import annotations

import argparse
import functools
import json
from pathlib import Path
from typing import Any

from tricodec._output_files import refuse_existing
from tricodec.cli.shared import add_force, print_facts, say


def add_parser(kinds: Any, common: argparse.ArgumentParser) -> None:
    """Adds the sub-command."""
    parser = kinds.add_parser(
        "quality",
        parents=[common],
        help="encoders: time, size and quality",
        description="Encode test pictures in software with several numbers of threads, and on a GPU if it has an "
        "encoder; compare the results with their source; write JSON, PNG and one HTML page.",
    )
    parser.add_argument("-o", "--output", default="encode_report", metavar="DIR", help="folder for the report")
    add_force(parser)
    parser.add_argument("--resolutions", default="360p,720p,1080p", metavar="A,B", help="some of 360p,720p,1080p")
    parser.add_argument("--duration", type=float, default=4.0, metavar="S", help="seconds of pictures (default 4)")
    parser.add_argument("--repeats", type=int, default=3, metavar="N", help="runs of each measurement (default 3)")
    parser.add_argument(
        "--threads", metavar="N,M", help="threads of the software encoder (default 1,4,8 and all cores)"
    )
    parser.add_argument(
        "--rd-resolution", metavar="SIZE", help="size of the rate-distortion curves (default: the first)"
    )
    parser.add_argument("--no-sweep", action="store_true", help="leave out presets and qualities")
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Measures encoders, and prints each result and the path of the report."""
    from tricodec import bench

    refuse_existing(Path(options.output) / "encode.json", options.force)
    report = bench.run_encode(
        options.resolutions.split(","), duration=options.duration, repeats=options.repeats,
        threads=[int(each) for each in options.threads.split(",")] if options.threads else None,
        rd_resolution=options.rd_resolution, sweep=not options.no_sweep, say=functools.partial(say, options),
    )  # fmt: skip
    files = [str(path) for path in bench.write_report(report, Path(options.output), options.duration)]
    say(options, "\n".join(files))
    print_facts(options, {**json.loads((Path(options.output) / "encode.json").read_text()), "files": files})
    return 0
