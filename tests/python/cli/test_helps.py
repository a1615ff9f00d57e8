# SPDX-License-Identifier: Apache-2.0
"""Each example of each help runs as it stands, and the page of the command line shows what commands print."""

from __future__ import annotations

import argparse
import doctest
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import media
import numpy as np
import pytest
import tricodec
from tricodec.cli import main
from tricodec.cli.command import build_parser
from tricodec.cli.shared import DOCUMENTATION

PAGE = media.REPOSITORY / "docs/reference/command_line.md"


def helps(parser: argparse.ArgumentParser) -> Iterator[argparse.ArgumentParser]:
    """The parsers of all sub-commands."""
    for action in parser._actions:
        for each in action.choices.values() if isinstance(action, argparse._SubParsersAction) else ():
            yield each
            yield from helps(each)


HELPS = [each for each in helps(build_parser()) if each.prog != "tricodec serve"]
EXAMPLES = list(dict.fromkeys(
    line.strip() for each in HELPS for line in str(each.epilog).partition("\n\n")[0].splitlines()[1:]
))  # fmt: skip
BLOCKS = re.findall(r"^\$ (tricodec .*)\n((?:(?!\$ |```).*\n)*)", PAGE.read_text(), re.MULTILINE)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """The files that examples name, and the command `tricodec`."""
    (tmp_path / "video.mp4").symlink_to(media.bigbuckbunny())
    (tmp_path / "videos").mkdir()
    for name in ("h264_audio.mp4", "movie.mp4"):
        (tmp_path / "videos" / name).symlink_to(media.generated(name))
    np.save(tmp_path / "weights.npy", np.arange(250_000, dtype=np.float32) / 7)
    (tmp_path / "raw.yuv").write_bytes(bytes(5 * 1280 * 720 * 3 // 2))
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin/tricodec").write_text(f'#!/bin/sh\nexec {sys.executable} -m tricodec "$@"\n')
    (tmp_path / "bin/tricodec").chmod(0o755)
    return tmp_path


def ran(command: str, folder: Path) -> subprocess.CompletedProcess[str]:
    environment = {
        **os.environ, "PATH": f"{folder / 'bin'}:{os.environ['PATH']}", "TRICODEC_DEVICE": "cpu",
        "PYTHONPATH": f"{Path(tricodec.__file__).parent.parent}:{os.environ.get('PYTHONPATH', '')}",
    }  # fmt: skip
    shell = ["bash", "-e", "-o", "pipefail", "-c", command]
    return subprocess.run(shell, cwd=folder, env=environment, capture_output=True, text=True, check=False)


def _marks(command: str) -> list[pytest.MarkDecorator]:
    return [pytest.mark.needs_triton] if "bench serve" in command else []


@pytest.mark.parametrize("command", [pytest.param(each, marks=_marks(each)) for each in EXAMPLES])
def test_an_example_of_a_help_runs_as_it_stands(command: str, folder: Path) -> None:
    before = set(folder.rglob("*"))

    quick = " --duration 0.1 --iterations 3 --stability-percentage 1e9"  # of a measurement

    done = ran(command + quick * ("tricodec bench" in command), folder)

    assert done.returncode == 0, done
    assert "error" not in done.stderr
    assert " -o " not in command or " -o - " in command or set(folder.rglob("*")) > before


def test_every_help_has_examples_and_a_page_of_the_documentation() -> None:
    for each in HELPS:
        examples, _, end = str(each.epilog).partition("\n\n")
        assert f"\n  {each.prog} " in examples or f"| {each.prog} " in examples or f"$({each.prog} " in examples
        assert (media.REPOSITORY / "docs" / end.removeprefix(f"documentation: {DOCUMENTATION}/")).is_file()


def test_the_page_shows_what_its_commands_print(folder: Path) -> None:
    checker, rules = doctest.OutputChecker(), doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
    for command, expected in BLOCKS:
        printed = ran(command, folder).stdout
        assert checker.check_output(expected, printed, rules), (command, printed)


def test_the_page_names_every_command() -> None:
    named = re.findall(r"tricodec (\w+)|`(\w+)` ", PAGE.read_text())

    assert {name for pair in named for name in pair} >= {each.prog.split()[1] for each in HELPS} | {"serve"}


def test_the_command_alone_says_how_to_start(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([]) == 0

    lines = capsys.readouterr().out.splitlines()
    assert len(lines) < 10
    assert sum(line.startswith("  tricodec ") for line in lines) == 3
    assert "tricodec --help" in lines[-2]
    assert lines[-1].startswith("documentation: https://")
