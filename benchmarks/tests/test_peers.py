# SPDX-License-Identifier: Apache-2.0
"""The benchmarks' peers have what is best for them, and the strongest are measured everywhere."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import media
import pytest

from benchmarks.decode import driver, peer_libraries, peers, plan, rounds, run, worker


def test_seeks_elsewhere_have_the_peers_that_win_on_the_chief_clip() -> None:
    found = {
        (cell.task, cell.clip, cell.contender) for cell in plan.full((1, 2)) if cell.task in ("random", "every8th")
    }

    assert {name for task, clip, name in found if (task, clip) == ("random", "vp9_1080p")} >= {"opencv", "decord2"}
    assert {name for task, clip, name in found if (task, clip) == ("every8th", "hevc_720p")} >= {"opencv", "pyav"}
    # OpenCV cannot decode AV1 and decord2 gives other frames of open groups: neither is a figure to be beaten.
    assert not {("random", "av1_1080p", "opencv"), ("random", "hevc_1080p", "decord2")} & found


def test_peers_on_two_cores_run_with_the_number_of_threads_that_was_best_in_the_first_round() -> None:
    tried = [
        cell
        for cell in plan.full((1, 2))
        if (cell.task, cell.clip, cell.contender) == ("yuv420p", "hevc_1080p", "pyav-views")
    ]
    one, three, five = sorted(tried, key=lambda cell: cell.threads)
    seek = plan.Cell("random", plan.CHIEF, "pyav", 2, 3)
    other = plan.Cell("random", plan.CHIEF, "pyav", 2, 5)

    best = rounds.settled({one: 120.0, three: 190.0, five: 222.0, seek: 900.0, other: 1000.0})

    assert (one.threads, three.threads, five.threads) == (1, 3, 5)
    assert best == {
        ("yuv420p", "hevc_1080p", 1, "pyav-views"): one,
        ("yuv420p", "hevc_1080p", 2, "pyav-views"): five,
        ("random", plan.CHIEF, 2, "pyav"): seek,
    }


def test_pairs_are_kept_of_the_best_number_of_threads_only() -> None:
    ours = plan.Cell("rgb", plan.CHIEF, "tricodec", 2, 2)
    three, five = (plan.Cell("rgb", plan.CHIEF, "pyav", 2, threads) for threads in (3, 5))
    figures = {ours: 240.0, three: 200.0, five: 220.0}
    taken = {cell: [driver.Run(value, 7.0, 100.0)] for cell, value in figures.items()}

    rows = run.rows_of(driver.Measured(taken, {}, {(ours, three): [1.2], (ours, five): [1.1, 1.08]}))

    assert len(rows) == 4
    assert [(row.against, row.value, row.runs) for row in rows if row.against] == [("pyav", pytest.approx(1.09), 2)]


def test_a_wheels_ffmpeg_gets_the_names_that_a_linker_looks_for(tmp_path: Path) -> None:
    wheel, links = tmp_path / "av.libs", tmp_path / "links"
    wheel.mkdir()
    for name in ("libavcodec-5e6b81c2.so.62.28.102", "libswscale-88e9f973.so.9.5.102", "libvpx-edb6de90.so.12.0.0"):
        (wheel / name).write_bytes(b"")

    for _ in range(2):
        peer_libraries.link(wheel, links)

    assert {path.name: path.resolve().name for path in links.iterdir()} == {
        "libavcodec.so.62": "libavcodec-5e6b81c2.so.62.28.102",
        "libswscale.so.9": "libswscale-88e9f973.so.9.5.102",
    }


def test_a_peer_without_an_ffmpeg_is_shown_pyavs(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """As a process that looks for it by the plain name finds it: the release that PyAV itself uses."""
    av = pytest.importorskip("av")
    libraries = peer_libraries.bundled_libraries()
    if libraries is None:
        pytest.skip("PyAV is not installed from a wheel")
    monkeypatch.setattr(peer_libraries, "_LINKS", tmp_path / "links")
    major, minor, micro = av.library_versions["libavcodec"]
    program = f"import ctypes; print(ctypes.CDLL('libavcodec.so.{major}').avcodec_version())"

    found = subprocess.run(
        [sys.executable, "-c", program],
        env=peer_libraries.environment("torchcodec"),
        capture_output=True,
        text=True,
        check=True,
    )

    assert int(found.stdout) == major << 16 | minor << 8 | micro
    assert peer_libraries.environment("opencv") == dict(os.environ)


def test_a_contender_runs_in_the_environment_that_is_made_for_it(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "av.py").write_text("raise ImportError('the one of this folder')")
    monkeypatch.setattr(
        peer_libraries,
        "environment",
        lambda name: {**os.environ, "PYTHONPATH": str(tmp_path)} if name == "pyav" else {},
    )

    with pytest.raises(driver.Failed, match="the one of this folder"):
        driver.ask({"contender": "pyav", "task": "versions"}, driver.cores_for(1))


def test_dali_reads_whole_sequences_only() -> None:
    pytest.importorskip("nvidia.dali")
    from benchmarks.decode.peers import dali

    clip = media.generated("vp9.webm")
    num_frames = len(media.ffmpeg_framemd5(clip))
    job = peers.Job(clip, 320, 180, num_frames, 1, 1)

    lengths = [worker.size_of(item) for item in dali.rgb(job)]

    assert [dali.sequence_length(count) for count in (120, 300, 32, 17)] == [15, 15, 16, 1]
    assert lengths == [dali.sequence_length(num_frames)] * len(lengths)
    assert sum(lengths) == num_frames
