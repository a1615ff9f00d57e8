# SPDX-License-Identifier: Apache-2.0
"""`tricodec probe`: the streams of a file."""

from __future__ import annotations

import argparse
from typing import Any

import tricodec
from tricodec.cli import shared
from tricodec.cli.inputs import Input, run_each
from tricodec.show.media import describe

_EXAMPLES = ("tricodec probe video.mp4", "tricodec probe videos/ --json", "cat video.mp4 | tricodec probe -")


def add_parser(commands: Any, common: argparse.ArgumentParser) -> None:
    parser = shared.add_command(commands, [common], "probe", run, "Describe the streams of files.", _EXAMPLES)
    shared.add_options(parser, "files")


def run(options: argparse.Namespace) -> int:
    return run_each(options, _describe)


def _describe(each: Input, options: argparse.Namespace) -> dict[str, Any]:
    info = tricodec.probe(shared.to_source(each.name))
    shared.say(options, describe(info))
    return info.to_dict()
