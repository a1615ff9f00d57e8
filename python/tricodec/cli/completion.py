# SPDX-License-Identifier: Apache-2.0
"""`tricodec completion`: what makes a shell complete the command's options, by argcomplete."""

from __future__ import annotations

import argparse
import os
from typing import Any

from tricodec.cli import shared
from tricodec.show import needed

_SHELLS = ("bash", "zsh", "fish", "tcsh", "powershell")


def add_parser(commands: Any, common: argparse.ArgumentParser) -> None:
    parser = shared.add_command(
        commands, [common], "completion", run, "Print the script that makes a shell complete options.",
        ('eval "$(tricodec completion bash)"    # in ~/.bashrc',),
    )  # fmt: skip
    parser.add_argument("shell", choices=_SHELLS)


def run(options: argparse.Namespace) -> int:
    print(_argcomplete().shellcode(["tricodec"], shell=options.shell))
    return 0


def complete(parser: argparse.ArgumentParser) -> None:
    """Answers a shell that asks for completions, and ends the process; returns if none asks."""
    if "_ARGCOMPLETE" not in os.environ:
        return
    from tricodec.triton.serve.command import build_parser

    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            action.choices["serve"] = build_parser(type(parser))  # a parser of its own, which main() calls
    _argcomplete().autocomplete(parser)


def _argcomplete() -> Any:
    return needed("argcomplete", "argcomplete", "completions")
