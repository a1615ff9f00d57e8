# SPDX-License-Identifier: Apache-2.0
"""Signals, files that cannot be read and inputs that shrink end a command in one line, with nothing half-written."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import media
import numpy as np
import pytest
from tricodec.cli.signals import Ended, raised

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
    """Half an hour of small frames with sound, and data to compress."""
    folder = tmp_path_factory.mktemp("long")
    media.ffmpeg("-stream_loop", "800", "-i", media.generated("movie.mp4"), "-c", "copy", folder / "long.mp4")
    np.random.default_rng(0).integers(0, 8, 64 << 20, np.uint8).tofile(folder / "raw.bin")
    return folder


def started(folder: Path, *arguments: str) -> subprocess.Popen[str]:
    # A test run in the background ignores SIGINT, and its children would.
    command = ["env", "--default-signal=INT,TERM,HUP", sys.executable, "-m", "tricodec", *arguments]
    pipe = subprocess.PIPE
    return subprocess.Popen(command, cwd=folder, stdin=pipe, stdout=pipe, stderr=pipe, text=True)


@pytest.mark.parametrize(
    ("name", "number"),
    [*((name, signal.SIGINT) for name in COMMANDS), ("audio", signal.SIGTERM), ("audio", signal.SIGHUP)],
)
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
    while num_lines < 3:
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


def test_a_signal_in_a_callback_is_not_lost() -> None:
    class Dropped:
        def __del__(self) -> None:
            signal.raise_signal(signal.SIGTERM)

    def drop_and_wait() -> None:
        Dropped()
        time.sleep(PATIENCE_SECONDS)

    with pytest.raises(Ended), raised():
        drop_and_wait()


# Root reads everything: without these capabilities root is an ordinary owner of its files.
_AS_A_USER = [] if os.geteuid() else ["setpriv", "--bounding-set=-dac_override,-dac_read_search", "--inh-caps=-all"]


@pytest.fixture
def videos(tmp_path: Path) -> Iterator[Path]:
    """A video, and beside it what a user cannot read: a file, a folder, a link that leads nowhere, and a pipe."""
    folder = tmp_path / "videos"
    (folder / "secret").mkdir(parents=True)
    for name in ("a.mp4", "file.mp4", "secret/b.mp4"):
        shutil.copy(media.generated("h264_bframes.mp4"), folder / name)
    (folder / "link.mp4").symlink_to("nowhere")
    os.mkfifo(folder / "pipe.mp4")
    (folder / "file.mp4").chmod(0)
    (folder / "secret").chmod(0)
    yield folder
    (folder / "secret").chmod(0o700)


def tricodec_command(folder: Path, *arguments: object) -> subprocess.CompletedProcess[str]:
    command = [*_AS_A_USER, sys.executable, "-m", "tricodec", *map(str, arguments)]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False, timeout=120)


@pytest.mark.parametrize(
    "arguments",
    [
        "probe {}",
        "frames {} --md5",
        "transcode {} -o out",
        "compress {} -o out",
        "index {} -o i.parquet",
    ],
)
def test_what_cannot_be_read_in_a_folder_is_named_and_fails(videos: Path, arguments: str) -> None:
    done = tricodec_command(videos.parent, *arguments.replace("{}", str(videos)).split())

    assert done.returncode == 1
    errors = [line for line in done.stderr.splitlines() if line.startswith("tricodec: error:")]
    for name in ("file.mp4", "secret", "link.mp4", "pipe.mp4"):
        assert len([line for line in errors if f"'{videos / name}'" in line]) == 1, (name, done.stderr)
    assert len(errors) == 4


COMMAND = """
import sys
from tricodec.cli import main
from tricodec.compress import _files
_files.PIECE_BYTES = 1 << 20
sys.exit(main(sys.argv[1:]))
"""


@pytest.mark.parametrize("command", ["compress", "decompress"])
def test_a_command_says_that_its_input_was_shortened(command: str, tmp_path: Path) -> None:
    source = tmp_path / "a.tcz"
    source.write_bytes(np.random.default_rng(1).bytes(8 << 20))
    if command == "decompress":
        packed = tmp_path / "b.tcz"
        run = [sys.executable, "-c", COMMAND, "compress", source, "--algorithm", "lz4", "-o", packed]
        subprocess.run(run, check=True, capture_output=True)
        source = packed
    options = ["--algorithm", "lz4"] if command == "compress" else []
    pipe = tmp_path / "pipe"  # which holds the command until something is read
    os.mkfifo(pipe)
    process = subprocess.Popen(
        [sys.executable, "-c", COMMAND, command, source, "-f", "-o", pipe, *options],
        stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    with process, pipe.open("rb") as output:
        output.read(1)
        os.truncate(source, 1000)
        while output.read(1 << 20):
            pass
        assert process.stderr is not None
        errors = process.stderr.read()

    assert process.returncode == 1, errors
    assert "another program shortened it" in errors
