# SPDX-License-Identifier: Apache-2.0
"""`tricodec index` and `tricodec doctor`: what they print and what they find."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import tricodec
from media import copied, ffmpeg, ffprobe, generated

Run = Callable[..., tuple[int, str, str]]
NAMES = ("h264_bframes.mp4", "h264_faststart.mp4", "h264_318x178.mp4", "h264_rot90.mp4", "vp9_odd.webm",
         "h264_vfr.mkv", "h264_nonzero_start.mp4", "truncated_faststart.mp4", "h264_422.mp4")  # fmt: skip


@pytest.fixture(scope="module")
def videos(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = copied(
        {**{name: name for name in NAMES}, "same.mp4": "h264_bframes.mp4"}, tmp_path_factory.mktemp("videos")
    )
    (folder / "broken.mp4").write_bytes(b"broken")
    one_gop = "-f lavfi -i testsrc2=size=320x180:rate=25 -frames:v 600 -c:v libx264 -preset ultrafast -g 600"
    ffmpeg(*one_gop.split(), "-keyint_min 600 -sc_threshold 0", folder / "one_gop.mp4")
    return folder


@pytest.fixture(scope="module")
def index(videos: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    output = tmp_path_factory.mktemp("index") / "videos.parquet"
    tricodec.data.DatasetIndex.build([videos], output)
    return output


@pytest.fixture
def findings(run: Run, index: Path) -> dict[str, dict[str, str]]:
    """By name of a finding: the detail of each video."""
    status, out, _ = run("doctor", index, "--json")
    assert status == 1
    return {
        each["name"]: {video["path"]: video["detail"] for video in each["videos"]}
        for each in json.loads(out)["findings"]
    }


def facts(videos: Path) -> list[dict[str, Any]]:
    """What ffprobe says of each video that it can read."""
    names = [*(name for name in NAMES), "same.mp4", "one_gop.mp4"]
    return [ffprobe(videos / name, "-select_streams v:0 -show_streams")["streams"][0] for name in names]


def test_counts_agree_with_ffprobe(run: Run, index: Path, videos: Path) -> None:
    expected = facts(videos)

    _, out, _ = run("doctor", index, "--json")

    found = json.loads(out)
    assert found["num_videos"] == len(expected) + 1
    assert found["counts"]["codec"] == Counter(stream["codec_name"] for stream in expected)
    assert found["counts"]["size"] == Counter(f"{stream['width']}x{stream['height']}" for stream in expected)
    assert found["counts"]["pixel_format"] == Counter(stream["pix_fmt"] for stream in expected)
    assert found["size_bytes"] == sum(path.stat().st_size for path in videos.iterdir())


def test_cut_unreadable_and_unevenly_timed_files_are_found(findings: dict[str, dict[str, str]]) -> None:
    assert list(findings["cut"]) == ["truncated_faststart.mp4"]
    assert "ends early" in findings["cut"]["truncated_faststart.mp4"]
    assert list(findings["unreadable"]) == ["broken.mp4"]
    assert "h264_vfr.mkv" in findings["uneven_times"]
    assert "h264_bframes.mp4" not in findings["uneven_times"]
    assert "h264_nonzero_start.mp4" in findings["late_start"]
    start = float(ffprobe(generated("h264_nonzero_start.mp4"), "-show_streams")["streams"][0]["start_time"])
    assert findings["late_start"]["h264_nonzero_start.mp4"] == f"at {start:.3f} s"


def test_turned_mixed_doubled_and_slow_videos_are_found(findings: dict[str, dict[str, str]]) -> None:
    assert findings["rotated"] == {"h264_rot90.mp4": "90 degrees"}
    assert findings["mixed_codec"] == {"vp9_odd.webm": "vp9"}
    assert findings["mixed_pixel_format"] == {"h264_422.mp4": "yuv422p"}
    assert "h264_318x178.mp4" in findings["mixed_size"]
    assert findings["duplicates"] == {"same.mp4": "as h264_bframes.mp4"}
    assert list(findings["slow"]) == ["one_gop.mp4"]
    assert "GOPs of up to 600 frames" in findings["slow"]["one_gop.mp4"]


def test_the_table_names_some_videos_and_the_exit_status_says_that_some_cannot_be_used(
    run: Run, index: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tricodec.cli.datasets._NUM_EXAMPLES", 1)
    status, out, err = run("doctor", index)

    assert status == 1
    assert "2 of 12 videos cannot be used or are damaged" in err
    lines = out.splitlines()
    assert "12 videos" in lines[0]
    assert any(line.startswith("error") and "unreadable" in line for line in lines)
    assert "  broken.mp4: " in out
    assert "  and " in out


def test_good_videos_give_status_0(run: Run, tmp_path: Path) -> None:
    status, out, _ = run("index", generated("h264_bframes.mp4"), "-o", tmp_path / "index.parquet")
    assert status == 0
    assert "1 video (1 ok), 1 read, 0 kept" in out

    status, out, err = run("doctor", tmp_path / "index.parquet")
    assert (status, err) == (0, "")
    assert "nothing found" in out


def test_a_folder_is_indexed_first(run: Run, videos: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    status, out, _ = run("doctor", videos)
    assert status == 1
    assert "12 videos" in out.splitlines()[0]
