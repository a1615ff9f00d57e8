# SPDX-License-Identifier: Apache-2.0
"""Ctrl-C, SIGTERM and SIGHUP end each command in one line, with nothing half-written."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from pathlib import Path

import media
import numpy as np
import pytest

SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
LINES = {
    signal.SIGINT: "tricodec: interrupted",
    signal.SIGTERM: "tricodec: ended by SIGTERM",
    signal.SIGHUP: "tricodec: ended by SIGHUP",
}
COMMANDS = {
    "transcode by parts": "transcode long.mp4 -o out.mp4 --codec hevc --preset placebo --size 1920x1080 --workers 2",
    "encode": "encode long.mp4 -o out.mp4 -p codec=hevc -p preset=P7",
    "compress": "compress raw.bin -o out.tcz --algorithm Zstd --level 19",
    "audio": "audio long.mp4 -o out.wav --rate 192000",
}
PATIENCE_SECONDS = 60


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An hour of small frames with sound, and data to compress."""
    folder = tmp_path_factory.mktemp("long")
    media.ffmpeg("-stream_loop", "2000", "-i", media.generated("movie.mp4"), "-c", "copy", folder / "long.mp4")
    np.random.default_rng(0).integers(0, 8, 64 << 20, np.uint8).tofile(folder / "raw.bin")
    return folder


def started(folder: Path, *arguments: str) -> subprocess.Popen[str]:
    # A test run in the background ignores SIGINT, and its children would.
    command = ["env", "--default-signal=INT,TERM,HUP", sys.executable, "-m", "tricodec", *arguments]
    pipe = subprocess.PIPE
    return subprocess.Popen(command, cwd=folder, stdin=pipe, stdout=pipe, stderr=pipe, text=True)


@pytest.mark.parametrize("number", SIGNALS, ids=lambda number: number.name)
@pytest.mark.parametrize("name", COMMANDS)
def test_a_signal_ends_a_command_in_one_line_with_nothing_half_written(
    folder: Path, name: str, number: signal.Signals
) -> None:
    before = set(folder.iterdir())
    command = started(folder, *COMMANDS[name].split())
    end = time.monotonic() + PATIENCE_SECONDS
    while set(folder.iterdir()) == before:  # it writes its unfinished file
        assert command.poll() is None, command.stderr and command.stderr.read()
        assert time.monotonic() < end
        time.sleep(0.01)

    command.send_signal(number)
    _, err = command.communicate(timeout=PATIENCE_SECONDS)

    assert command.returncode == 128 + number
    assert err.splitlines()[-1:] == [LINES[number]]
    assert "Traceback" not in err
    assert set(folder.iterdir()) == before


@pytest.mark.parametrize("number", SIGNALS, ids=lambda number: number.name)
def test_a_signal_while_the_command_starts_prints_no_traceback(folder: Path, number: signal.Signals) -> None:
    delay, num_lines = 0.0, 0
    while num_lines < 6:
        delay += 0.1
        assert delay < PATIENCE_SECONDS
        command = started(folder, "probe", "-")  # it waits for standard input
        time.sleep(delay)
        command.send_signal(number)
        _, err = command.communicate(timeout=PATIENCE_SECONDS)
        if command.returncode == 128 + number:
            assert err == LINES[number] + "\n", delay
            num_lines += 1
        else:  # Python itself was still starting
            assert command.returncode in (-number, 1), (delay, err)
            assert "tricodec/cli" not in err
