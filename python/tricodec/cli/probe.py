# SPDX-License-Identifier: Apache-2.0
"""`tricodec probe`: the streams of a file."""

from __future__ import annotations

import argparse
from typing import Any

import tricodec
from tricodec.cli.inputs import Input, inputs_of, run_each
from tricodec.cli.shared import to_source
from tricodec.show.media import describe


def add_parser(commands: Any, common: argparse.ArgumentParser) -> None:
    """Adds the sub-command."""
    parser = commands.add_parser(
        "probe", parents=[common], help="describe the streams of files", description="Describe the streams of files."
    )
    parser.add_argument(
        "files", metavar="FILE", nargs="+",
        help="a media file, a folder of videos, - for standard input, or a URL (s3, gs, az, https, hf)",
    )  # fmt: skip
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Prints the descriptions."""
    return run_each(options, inputs_of(options.files), lambda each: _describe(each, as_text=not options.json))


def _describe(each: Input, *, as_text: bool) -> dict[str, Any]:
    info = tricodec.probe(to_source(each.name))
    if as_text:
        print(describe(info))
    return info.to_dict()
