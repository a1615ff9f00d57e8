# SPDX-License-Identifier: Apache-2.0
"""`tricodec batch`: a job over many files, from a TOML file."""

from __future__ import annotations

import argparse
import sys
from typing import Any

import tricodec
from tricodec._display.progress import Progress
from tricodec.cli.shared import report


def add_parser(commands: Any, common: argparse.ArgumentParser) -> None:
    """Adds the sub-command."""
    parser = commands.add_parser(
        "batch",
        parents=[common],
        help="do a job over many files, and continue it after an interruption",
        description="Transcode, compress or decode many files, or find their cuts or streams, as a TOML file says. "
        "A second run does what is missing, changed or failed. The exit status is 1 if a file has no output.",
    )
    parser.add_argument("job", metavar="JOB.toml", help="the job: job, inputs, output, and the words of tricodec.batch")
    parser.add_argument("--workers", type=int, metavar="N", help="processes, instead of the job's (0: the cores)")
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Does the job, with a progress bar, and prints what was done."""
    words = tricodec.load_job(options.job)
    if options.workers is not None:
        words["workers"] = options.workers
    with Progress(f"{words['job']}: files") as bar:

        def show(now: tricodec.BatchProgress) -> None:
            if now.num_frames:
                bar.set_label(f"{words['job']}: {now.num_frames / max(now.seconds, 1e-6):.0f} frames/s, files")
            bar.show(now.num_done, now.num_files)

        summary = tricodec.batch(**words, on_progress=show)
    states = ", ".join(f"{count} {status}" for status, count in summary.statuses.items())
    report(
        options,
        f"{summary.manifest}: {summary.num_files} files ({states or 'none'}), {summary.num_made} made, "
        f"{summary.num_kept} kept, {summary.num_frames} frames, {summary.seconds:.1f} s",
        summary.to_dict(),
    )
    for source, error in summary.errors.items():
        print(f"tricodec: {source}: {error}", file=sys.stderr)
    return 0 if summary.is_complete else 1
