# SPDX-License-Identifier: Apache-2.0
"""The command lines of the documents have the options that the commands accept."""

from __future__ import annotations

import re
import shlex

import pytest
from media import REPOSITORY
from tricodec.cli.command import build_parser
from tricodec.triton.serve.command import build_parser as build_parser_of_serve

PAGES = [REPOSITORY / "README.md", REPOSITORY / "README.zh-CN.md", *sorted((REPOSITORY / "docs").rglob("*.md"))]
COMMANDS = sorted(
    {
        command.removeprefix("tricodec ")
        for page in PAGES
        if "notes" not in page.parts  # records of what was run
        for line in re.findall(r"^(?: {4}|\$ )(tricodec (?!--help)(?:.*\\\n)*.*)$", page.read_text(), re.MULTILINE)
        for command in line.replace("\\\n", " ").split(" | ")
        if command.startswith("tricodec ")
    }
)


@pytest.mark.parametrize("command", COMMANDS)
def test_a_documented_command_is_accepted(command: str) -> None:
    words = shlex.split(command, comments=True)
    parser = build_parser()
    if words[0] == "serve":  # it has a separate parser; words after -- are tritonserver's
        parser, words = build_parser_of_serve(), words[1 : words.index("--") if "--" in words else None]

    assert parser.parse_args(words)  # else it ends the process with a message
