# SPDX-License-Identifier: Apache-2.0
"""`tricodec batch` when processes end in the middle, by Ctrl-C or killed: nothing is half-written, lost or doubled."""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import json
import os
import pty
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import tricodec
from media import generated

PATIENCE_SECONDS = 60
SLOW = 'options = { preset = "veryslow" }'  # half a second a file
FAST = 'options = { preset = "ultrafast" }'
SLOWEST = 'options = { codec = "av1", preset = "2", size = [1080, 1920] }'  # its encoder closes in 0.3 s or more
NUM_FILES = 2
MOST_SECONDS_OF_END = 0.4
"""From Ctrl-C on, of the fastest of some tries. With the wait for the encoder each takes 0.6 s."""
NUM_TRIES = 5


@pytest.fixture
def job(tmp_path: Path) -> Path:
    """A job of some files in a folder of its own. Tests add lines to it."""
    folder = tmp_path / "videos"
    folder.mkdir()
    for number in range(NUM_FILES):
        shutil.copy(generated("h264_bframes.mp4"), folder / f"{number}.mp4")
    path = tmp_path / "job.toml"
    path.write_text('job = "transcode"\ninputs = ["videos"]\noutput = "out"\n')
    return path


def append(job: Path, *lines: str) -> None:
    job.write_text(job.read_text() + "\n".join(lines) + "\n")


@contextlib.contextmanager
def running(job: Path, *arguments: str, **words: Any) -> Iterator[subprocess.Popen[str]]:
    command = [sys.executable, "-m", "tricodec.cli", "batch", str(job), *arguments]
    streams = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    process = subprocess.Popen(command, text=True, start_new_session=True, **{**streams, **words})
    try:
        with process:
            yield process
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)


def wait_until(condition: Callable[[], object], process: subprocess.Popen[str]) -> None:
    end = time.monotonic() + PATIENCE_SECONDS
    while not condition():
        assert time.monotonic() < end, "waited in vain"
        assert process.poll() is None, process.communicate()
        time.sleep(0.02)


def children(pid: int) -> list[int]:
    return [int(each) for each in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()] + [
        int(child)
        for task in Path(f"/proc/{pid}/task").iterdir()
        if task.name != str(pid)
        for child in (task / "children").read_text().split()
    ]


def in_work(job: Path) -> list[Path]:
    return list((job.parent / "out").glob(".*.part"))


def rows_of(job: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (job.parent / "out" / "manifest.jsonl").read_text().splitlines()]


def expect_whole(job: Path) -> None:
    """Each output is there once, is what its row says, and nothing else is there."""
    out = job.parent / "out"
    made = {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in out.iterdir() if path.suffix == ".mp4"}
    rows = {row["output"]: row for row in rows_of(job)}
    assert {name: row["sha256"] for name, row in rows.items() if row["status"] == "done"} == made
    assert sorted(path.name for path in out.iterdir()) == sorted([*made, "manifest.jsonl"])


def test_ctrl_c_removes_what_is_in_work_and_a_further_run_continues(job: Path) -> None:
    append(job, "workers = 1", SLOW)
    with running(job) as process:
        manifest = job.parent / "out" / "manifest.jsonl"  # a file is there shortly before its row
        wait_until(lambda: manifest.exists() and b"\n" in manifest.read_bytes() and in_work(job), process)
        os.killpg(process.pid, signal.SIGINT)  # as a terminal sends it: to all processes of the job
        _, errors = process.communicate(timeout=PATIENCE_SECONDS)

    assert process.returncode == 130, errors
    assert errors.strip() == "tricodec: interrupted"
    expect_whole(job)
    num_made = len(rows_of(job))
    assert 1 <= num_made < NUM_FILES

    job.write_text(job.read_text().replace("workers = 1", "workers = 2"))
    done = subprocess.run([sys.executable, "-m", "tricodec.cli", "batch", str(job), "--json"], capture_output=True)
    summary = json.loads(done.stdout)
    assert (done.returncode, summary["num_kept"], summary["statuses"]) == (0, num_made, {"done": NUM_FILES})
    expect_whole(job)


def test_ctrl_c_ends_the_job_at_once_while_an_encoder_is_at_work(job: Path) -> None:
    append(job, "workers = 1", SLOWEST)
    took = [float("inf")]
    while min(took) > MOST_SECONDS_OF_END and len(took) <= NUM_TRIES:
        with running(job) as process:
            wait_until(lambda: in_work(job), process)
            time.sleep(0.7)  # the encoder has begun
            began = time.monotonic()
            os.killpg(process.pid, signal.SIGINT)
            process.wait(PATIENCE_SECONDS)
            took.append(time.monotonic() - began)
            assert (process.returncode, process.communicate()[1].strip()) == (130, "tricodec: interrupted")
        expect_whole(job)
    assert min(took) <= MOST_SECONDS_OF_END


def test_a_job_that_was_killed_continues(job: Path) -> None:
    append(job, "workers = 2", SLOW)
    before = children(os.getpid())
    with running(job, stdout=None, stderr=None) as process:
        wait_until(lambda: in_work(job), process)
        os.kill(process.pid, signal.SIGKILL)
        workers = [pid for pid in children(os.getpid()) if pid not in before]
        process.wait()
        for group in [process.pid, *workers]:
            with contextlib.suppress(ProcessLookupError):
                os.kill(group, signal.SIGKILL)
    job.write_text(job.read_text().replace(SLOW, FAST))

    summary = tricodec.batch(**tricodec.load_job(job))

    assert summary.is_complete
    assert summary.num_files == NUM_FILES
    expect_whole(job)


def test_a_worker_that_dies_costs_its_file_a_try(job: Path) -> None:
    append(job, "workers = 1", SLOW)
    with running(job, "--json") as process:
        wait_until(lambda: in_work(job), process)
        (worker,) = children(process.pid)
        os.kill(worker, signal.SIGKILL)
        out, errors = process.communicate(timeout=PATIENCE_SECONDS)

    assert process.returncode == 0, errors
    assert json.loads(out)["statuses"] == {"done": NUM_FILES}
    assert sorted(row["num_tries"] for row in rows_of(job)) == [1] * (NUM_FILES - 1) + [2]
    expect_whole(job)


def test_a_try_that_takes_too_long_is_ended(job: Path) -> None:
    append(job, "timeout_s = 0.1", "retries = 1", SLOW)

    summary = tricodec.batch(**tricodec.load_job(job))

    assert summary.statuses == {"failed": NUM_FILES}
    assert all("longer than timeout_s = 0.1" in row["error"] and row["num_tries"] == 2 for row in rows_of(job))
    expect_whole(job)


def test_two_jobs_cannot_write_one_manifest(job: Path) -> None:
    manifest = job.parent / "out" / "manifest.jsonl"
    manifest.parent.mkdir()
    with manifest.open("w") as other:
        fcntl.flock(other, fcntl.LOCK_EX)
        with pytest.raises(BlockingIOError, match="another process"):
            tricodec.batch(**tricodec.load_job(job))

    assert manifest.read_bytes() == b""


def test_a_line_that_a_killed_process_left_without_an_end_is_no_row(job: Path) -> None:
    append(job, FAST)
    tricodec.batch(**tricodec.load_job(job))
    manifest = job.parent / "out" / "manifest.jsonl"
    data = manifest.read_bytes()
    manifest.write_bytes(data[:-20])

    summary = tricodec.batch(**tricodec.load_job(job))

    assert (summary.num_made, summary.num_kept) == (1, NUM_FILES - 1)
    expect_whole(job)


def test_a_bar_on_a_terminal_shows_files_frames_and_time_left(job: Path) -> None:
    append(job, "workers = 2", SLOW)
    terminal, end = pty.openpty()
    with running(job, stderr=end, env={**os.environ, "TERM": "xterm", "COLUMNS": "120"}) as process:
        os.close(end)
        shown = b""
        with contextlib.suppress(OSError):  # of Linux, when the other end is closed
            while data := os.read(terminal, 65536):
                shown += data
        process.wait(PATIENCE_SECONDS)
    os.close(terminal)

    text = shown.decode()
    assert f"{NUM_FILES}/{NUM_FILES}" in text
    assert "frames/s, files" in text
    assert re.search(r"\d\d:\d\d", text)  # what is left


def test_the_command_prints_what_was_done(job: Path, run: Callable[..., tuple[int, str, str]]) -> None:
    append(job, FAST)
    (job.parent / "videos" / "none.mp4").write_bytes(b"no video")

    status, out, err = run("batch", job)

    assert status == 1
    assert f"{NUM_FILES + 1} files ({NUM_FILES} done, 1 unreadable), {NUM_FILES} made, 0 kept" in out
    assert "none.mp4" in err


@pytest.mark.parametrize(
    ("line", "text"),
    [
        ('ouput = "x"', "a key is 'ouput'; did you mean 'output'?"),
        ("worker = 3", "did you mean 'workers'?"),
        ('options = { cdec = "hevc" }', "did you mean 'codec'?"),
        ("x = ", "is not TOML"),
    ],
)
def test_a_wrong_word_of_a_job_names_the_nearest(
    line: str, text: str, job: Path, run: Callable[..., tuple[int, str, str]]
) -> None:
    append(job, line)

    status, _, err = run("batch", job)

    assert status == 1
    assert text in err
    assert err.count("\n") == 1
