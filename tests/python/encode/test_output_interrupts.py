# SPDX-License-Identifier: Apache-2.0
"""Files have their names only when they are whole, and those made of a private file are private."""

from __future__ import annotations

import os
import re
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest
from media import generated
from output_writers import WRITERS, sources
from preloaded import with_tricodec

BEGINNINGS = {
    "transcode": """
        def progress(*_):
            end()
        tricodec.transcode(SOURCE, TARGET, options={"preset": "ultrafast"}, progress=progress)
    """,
    "Muxer": """
        demuxer = tricodec.Demuxer(SOURCE)
        muxer = tricodec.Muxer(TARGET)
        stream = muxer.add_stream(demuxer.stream)
        for packet in demuxer:
            muxer.write(packet, stream)
        end()
    """,
    "StreamWriter": """
        writer = tricodec.io.StreamWriter(TARGET)
        writer.add_video_stream(30, 64, 48)
        writer.open()
        writer.write_video_chunk(0, np.zeros((100, 3, 48, 64), np.uint8))
        end()
    """,
    "tricodec frames --raw": """
        from tricodec.cli import frames, main
        def some(job, _label):
            yield job.reader[0]
            end()
        frames._Job.frames = some
        main(["frames", SOURCE, "--raw", "-o", TARGET, "-f"])
    """,
    "tricodec decompress": """
        from tricodec.cli import main
        from tricodec.compress import _files
        main(["compress", SOURCE, "-o", TARGET + ".tcz"])
        pieces = _files._pieces
        def some(*words):
            yield from pieces(*words)
            end()
        _files._pieces = some
        main(["decompress", TARGET + ".tcz", "-f", "-o", TARGET])
    """,
}

ENDS = {
    "killed": "os.kill(os.getpid(), signal.SIGKILL)",
    "interrupted": "os.kill(os.getpid(), signal.SIGINT); time.sleep(60)",
    "exit": "sys.exit(1)",
}


def run(beginning: str, end: str, target: Path) -> int:
    """A process that begins to write, and the end of it in the middle."""
    body = "\n".join(line.removeprefix("        ") for line in beginning.splitlines())
    program = f"""
import os, signal, sys, time
import numpy as np
import tricodec, tricodec.io
SOURCE, TARGET = sys.argv[1:]
def end():
    {end}
{body}
"""
    done = with_tricodec().run_code(program, generated("h264_bframes.mp4"), target)
    assert "Error" not in done.stderr, done.stderr
    return done.returncode


def parts(folder: Path) -> list[str]:
    return [each.name for each in folder.iterdir() if not each.name.endswith((".mp4", ".tcz"))]


@pytest.mark.parametrize("beginning", BEGINNINGS.values(), ids=BEGINNINGS)
@pytest.mark.parametrize("existing", [True, False])
def test_a_process_that_is_killed_leaves_what_was_there(beginning: str, existing: bool, tmp_path: Path) -> None:
    target = tmp_path / "a.mp4"
    if existing:
        target.write_bytes(b"the old file")

    assert run(beginning, ENDS["killed"], target) == -signal.SIGKILL

    assert target.exists() == existing
    assert not existing or target.read_bytes() == b"the old file"
    (part,) = parts(tmp_path)
    assert re.fullmatch(r"\.a\.mp4\.[a-z0-9]{6}\.part", part)


@pytest.mark.parametrize("beginning", BEGINNINGS.values(), ids=BEGINNINGS)
@pytest.mark.parametrize("end", ["interrupted", "exit"])
def test_a_process_that_ends_removes_what_it_began(beginning: str, end: str, tmp_path: Path) -> None:
    target = tmp_path / "a.mp4"
    target.write_bytes(b"the old file")

    status = run(beginning, ENDS[end], target)

    # The command line answers Ctrl-C as shells report it; Python itself ends by the signal.
    assert status in ((1, 130, 0) if end == "exit" else (-signal.SIGINT, 0, 130))
    assert target.read_bytes() == b"the old file"
    assert parts(tmp_path) == []


COMMANDS = [name for name in WRITERS if name.startswith("tricodec ")]
OF_FILES = ["transcode", "Transcoder", "save_index", "compress_file", *COMMANDS]


@pytest.fixture
def private() -> Iterator[None]:
    """The sources of all writers can be read by their owner only."""
    before = {path: path.stat().st_mode for path in sources().iterdir()}
    for path in before:
        path.chmod(0o600)
    yield
    for path, mode in before.items():
        path.chmod(mode)


@pytest.mark.usefixtures("private")
@pytest.mark.parametrize("name", OF_FILES)
def test_a_new_file_has_the_permissions_of_its_input(name: str, tmp_path: Path) -> None:
    target = tmp_path / WRITERS[name].name
    before = os.umask(0o022)
    try:
        WRITERS[name].write(target)
        (tmp_path / "other").touch()
    finally:
        os.umask(before)

    assert target.stat().st_mode & 0o777 == 0o600
    assert (tmp_path / "other").stat().st_mode & 0o777 == 0o644  # the umask of the process is as it was
