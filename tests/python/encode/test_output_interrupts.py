# SPDX-License-Identifier: Apache-2.0
"""A process that is killed or interrupted while it writes: files have their names only when they are whole."""

from __future__ import annotations

import contextlib
import os
import re
import signal
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest
import tricodec
from media import generated
from preloaded import with_tricodec

SLOW = {"preset": "placebo", "x264-params": "rc-lookahead=0:bframes=0"}  # one picture at a time
PATIENCE_SECONDS = 30  # of processors: a picture or two take less, all of them minutes

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
        from tricodec.cli import command, frames
        def some(reader, *_):
            yield reader[0]
            end()
        frames._chosen = some
        command.main(["frames", SOURCE, "--raw", TARGET, "-f"])
    """,
    "tricodec decompress": """
        from tricodec.cli import command
        from tricodec.compress import _files
        command.main(["compress", SOURCE, "-o", TARGET + ".tcz"])
        pieces = _files._pieces
        def some(*words):
            yield from pieces(*words)
            end()
        _files._pieces = some
        command.main(["decompress", TARGET + ".tcz", "-f", "-o", TARGET])
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


def test_a_fragmented_file_that_is_open_can_be_read_up_to_the_last_fragment_before_a_kill(tmp_path: Path) -> None:
    beginning = """
        pictures = tricodec.decode_video(SOURCE, device="cpu").frames
        file = open(TARGET, "wb", buffering=0)
        muxer = tricodec.Muxer(file, format="mp4", fragmented=True)
        encoder = tricodec.Encoder(
            pictures.shape[2], pictures.shape[1], codec="h264", gop_size=5, global_header=True,
            options={"preset": "ultrafast", "tune": "zerolatency"},
        )
        stream = muxer.add_stream(encoder.stream)
        for picture in pictures:
            for packet in encoder.encode(picture):
                muxer.write(packet, stream)
        end()
    """
    target = tmp_path / "a.mp4"

    assert run(beginning, ENDS["killed"], target) == -signal.SIGKILL

    frames = list(tricodec.FrameReader(target))
    assert 5 <= len(frames) < len(tricodec.FrameReader(generated("h264_bframes.mp4")))


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


@contextlib.contextmanager
def interrupted_after(ready: Callable[[], bool]) -> Iterator[None]:
    """Ctrl-C once `ready()`; the block must end by KeyboardInterrupt, and soon."""
    begun = time.monotonic()
    at = [0.0]

    def interrupt() -> None:
        while not ready() and time.monotonic() - begun < PATIENCE_SECONDS:
            time.sleep(0.02)
        at[0] = time.process_time()
        os.kill(os.getpid(), signal.SIGINT)

    thread = threading.Thread(target=interrupt)
    thread.start()
    with pytest.raises(KeyboardInterrupt):
        yield
    thread.join()
    assert time.process_time() - at[0] < PATIENCE_SECONDS


@pytest.fixture(scope="module")
def pictures() -> np.ndarray:
    """Minutes of work for the slow encoders."""
    return np.random.default_rng(1).integers(0, 256, (300, 270, 480, 3), np.uint8)


@pytest.fixture
def old(tmp_path: Path) -> Path:
    path = tmp_path / "a.mp4"
    path.write_bytes(b"the old file")
    return path


def begun(target: Path) -> Callable[[], bool]:
    """Whether the temporary file is there, a moment ago."""

    def ready() -> bool:
        there = bool(parts(target.parent))
        time.sleep(0.3)
        return there

    return ready


def test_ctrl_c_ends_transcode(old: Path) -> None:
    with interrupted_after(begun(old)):
        tricodec.transcode(generated("h264_bframes.mp4"), old, size=(720, 1280), options=SLOW, num_threads=1)

    assert old.read_bytes() == b"the old file"
    assert parts(old.parent) == []


def test_calls_of_other_threads_go_on(tmp_path: Path) -> None:
    """Ctrl-C belongs to the main thread."""
    results: list[bytes] = []
    frames = np.zeros((900, 48, 64, 3), np.uint8)
    thread = threading.Thread(target=lambda: results.append(tricodec.encode_video(frames)))
    thread.start()

    begin = time.monotonic()

    with interrupted_after(lambda: time.monotonic() - begin > 0.5):
        time.sleep(60)
    thread.join()

    assert len(tricodec.FrameReader(results[0])) == 900
