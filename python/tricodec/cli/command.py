# SPDX-License-Identifier: Apache-2.0
"""The command line: sub-commands, exit codes, errors in one line, and completions by argcomplete."""

from __future__ import annotations

import argparse
import io
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import tricodec
from tricodec.cli import (
    audio,
    bench,
    compress,
    datasets,
    demo,
    encode,
    frames,
    info,
    node,
    probe,
    serve,
    shared,
    transcode,
)
from tricodec.cli.inputs import one_line
from tricodec.cli.shared import DOCUMENTATION, Parser, in_options, option_names
from tricodec.show import needed

EXIT_FAILURE = 1
_SHELLS = ("bash", "zsh", "fish", "tcsh", "powershell")

_GROUPS = {
    "videos": ("probe", "frames", "transcode", "encode", "audio"),
    "data sets": ("index", "doctor"),
    "lossless compression": ("compress", "decompress"),
    "serving": ("serve", "node"),
    "this machine": ("demo", "bench", "info", "completion"),
}
_START = f"""tricodec {tricodec.__version__}: video and lossless codecs for deep learning

  tricodec probe video.mp4                                            what is in a file
  tricodec frames video.mp4 --fps 1 -o pictures/                      one PNG file for each second
  tricodec transcode video.mp4 small.mp4 --size 640x-2 --crf 28       a smaller video

`tricodec --help` lists all commands, and `tricodec COMMAND --help` has examples of each.
documentation: {DOCUMENTATION}/reference/command_line.md"""


def build_parser() -> argparse.ArgumentParser:
    """The options of `tricodec` and its sub-commands."""
    parser = Parser(
        prog="tricodec", usage="tricodec COMMAND [options]",
        description="Video and lossless codecs for deep learning: one core, three front ends.",
    )  # fmt: skip
    parser.add_argument("--version", action="version", version=f"tricodec {tricodec.__version__}")
    common = Parser(add_help=False)
    common.add_argument("--debug", action="store_true", default=argparse.SUPPRESS, help="show an error's traceback")
    as_json = Parser(add_help=False, parents=[common])
    as_json.add_argument("--json", action="store_true", help="print the result as JSON")
    commands = parser.add_subparsers(
        dest="command", required=True, metavar="COMMAND", prog="tricodec", help=argparse.SUPPRESS
    )
    for module in (probe, frames, audio, encode, transcode, compress, datasets, serve, node, demo, info):
        module.add_parser(commands, as_json)
    bench.add_parser(commands, common, as_json)
    completion = shared.add_command(
        commands, [common], "completion", _print_completion, "Print the script that makes a shell complete options.",
        ('eval "$(tricodec completion bash)"    # in ~/.bashrc',),
    )  # fmt: skip
    completion.add_argument("shell", choices=_SHELLS)
    for command in commands.choices.values():
        command.set_defaults(option_names=option_names(command))
    helps = {action.dest: action.help for action in commands._choices_actions}
    groups = ("\n  ".join([f"{group}:", *(f"{name:12}{helps[name]}" for name in _GROUPS[group])]) for group in _GROUPS)
    parser.epilog = "\n\n".join([*groups, f"`tricodec COMMAND --help` has examples.\ndocumentation: {DOCUMENTATION}"])
    return parser


def _take_any_name() -> None:
    """Names of files need not be of the terminal's encoding, and standard output may be closed."""
    if sys.stdout is None:
        sys.stdout = Path(os.devnull).open("w")  # noqa: SIM115
    elif isinstance(sys.stdout, io.TextIOWrapper):
        is_utf8 = sys.stdout.encoding.lower() in ("utf-8", "utf8")
        sys.stdout.reconfigure(errors="surrogateescape" if is_utf8 else "backslashreplace")


def _print_completion(options: argparse.Namespace) -> int:
    print(_argcomplete().shellcode(["tricodec"], shell=options.shell))
    return 0


def _argcomplete() -> Any:
    return needed("argcomplete", "argcomplete", "completions")


def run(argv: Sequence[str] | None) -> int:
    """What `tricodec.cli.main` does, except what concerns signals and pipes."""
    arguments = list(sys.argv[1:] if argv is None else argv)
    _take_any_name()
    parser = build_parser()
    if "_ARGCOMPLETE" in os.environ:  # a shell asks for completions, which ends the process
        _argcomplete().autocomplete(parser)
    if not arguments:
        print(_START)
        return 0
    options = parser.parse_args(arguments)
    try:
        return int(options.run(options))
    except BrokenPipeError:
        raise  # for reader_may_end()
    except Exception as error:
        if getattr(options, "debug", False):
            raise
        print(f"tricodec: error: {in_options(one_line(error), getattr(options, 'option_names', {}))}", file=sys.stderr)
        return EXIT_FAILURE
