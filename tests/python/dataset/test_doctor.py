# SPDX-License-Identifier: Apache-2.0
"""`tricodec index` and `tricodec doctor`: what they print and what they find."""

from __future__ import annotations

import base64
import contextlib
import io
import json
import os
import pty
import shutil
import subprocess
import sys
from collections import Counter
from collections.abc import Callable
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tricodec
from media import ffmpeg, ffprobe, generated
from PIL import Image

Run = Callable[..., tuple[int, str, str]]


NAMES = ("h264_bframes.mp4", "h264_faststart.mp4", "h264_318x178.mp4", "h264_rot90.mp4", "vp9_odd.webm",
         "h264_vfr.mkv", "h264_nonzero_start.mp4", "truncated_faststart.mp4", "h264_422.mp4")  # fmt: skip


@pytest.fixture(scope="module")
def videos(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("videos")
    for name in NAMES:
        shutil.copy(generated(name), folder / name)
    shutil.copy(generated("h264_bframes.mp4"), folder / "same.mp4")
    (folder / "broken.mp4").write_bytes(b"broken")
    one_gop = "-f lavfi -i testsrc2=size=320x180:rate=25 -frames:v 600 -c:v libx264 -preset ultrafast -g 600"
    ffmpeg(*one_gop.split(), "-keyint_min 600 -sc_threshold 0", folder / "one_gop.mp4")
    return folder


@pytest.fixture(scope="module")
def index(videos: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    output = tmp_path_factory.mktemp("index") / "videos.parquet"
    tricodec.DatasetIndex.build([videos], output)
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


def test_files_that_are_cut_or_unreadable_are_found(findings: dict[str, dict[str, str]]) -> None:
    assert list(findings["cut"]) == ["truncated_faststart.mp4"]
    assert "ends early" in findings["cut"]["truncated_faststart.mp4"]
    assert list(findings["unreadable"]) == ["broken.mp4"]


def test_times_that_an_even_rate_does_not_give_are_found(findings: dict[str, dict[str, str]]) -> None:
    assert "h264_vfr.mkv" in findings["uneven_times"]
    assert "h264_bframes.mp4" not in findings["uneven_times"]
    assert "h264_nonzero_start.mp4" in findings["late_start"]
    start = float(ffprobe(generated("h264_nonzero_start.mp4"), "-show_streams")["streams"][0]["start_time"])
    assert findings["late_start"]["h264_nonzero_start.mp4"] == f"at {start:.3f} s"


def test_odd_turned_and_mixed_pictures_are_found(findings: dict[str, dict[str, str]]) -> None:
    assert list(findings["odd_size"]) == ["vp9_odd.webm"]
    assert findings["rotated"] == {"h264_rot90.mp4": "90 degrees"}
    assert findings["mixed_codec"] == {"vp9_odd.webm": "vp9"}
    assert findings["mixed_pixel_format"] == {"h264_422.mp4": "yuv422p"}
    assert "h264_318x178.mp4" in findings["mixed_size"]


def test_doubled_files_are_found(findings: dict[str, dict[str, str]]) -> None:
    assert findings["duplicates"] == {"same.mp4": "as h264_bframes.mp4"}


def test_a_slow_file_is_found_with_the_reason(findings: dict[str, dict[str, str]]) -> None:
    assert list(findings["slow"]) == ["one_gop.mp4"]
    assert "GOPs of up to 600 frames" in findings["slow"]["one_gop.mp4"]


def test_a_file_without_a_table_is_found(run: Run, tmp_path: Path) -> None:
    for suffix in ("ts", "mp4"):
        ffmpeg("-stream_loop 99 -i", generated("h264_bframes.mp4"), "-c copy", tmp_path / f"long.{suffix}")
    run("index", tmp_path, "-o", tmp_path / "index.parquet")

    _, out, _ = run("doctor", tmp_path / "index.parquet", "--json")

    found = {each["name"]: each["videos"] for each in json.loads(out)["findings"]}
    assert [video["path"] for video in found["no_table"]] == ["long.ts"]


def test_the_table_names_some_videos_and_the_exit_status_says_that_some_cannot_be_used(run: Run, index: Path) -> None:
    status, out, err = run("doctor", index, "--examples", "1")

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


def test_wrong_arguments_are_one_line(run: Run, tmp_path: Path) -> None:
    status, _, err = run("index", "-o", tmp_path / "index.parquet")
    assert status == 1
    assert "there is nothing to index" in err
    status, _, err = run("doctor", tmp_path / "none.parquet")
    assert status == 1
    assert "none.parquet" in err
    assert len(err.splitlines()) == 1


class Page(HTMLParser):
    """The texts and pictures of a page, and what it takes from elsewhere."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.texts: list[str] = []
        self.pictures: list[tuple[str, bytes]] = []
        self.others: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        found = dict(attributes)
        for name in ("src", "href"):
            if (value := found.get(name)) is None:
                continue
            if tag == "img" and value.startswith("data:image/png;base64,"):
                self.pictures.append((found["alt"] or "", base64.b64decode(value.partition(",")[2])))
            else:
                self.others.append(value)

    def handle_data(self, data: str) -> None:
        self.texts.append(data)


def test_a_page_has_the_findings_and_a_picture_of_each_class(run: Run, index: Path, tmp_path: Path) -> None:
    code, _, _ = run("doctor", index, "--html", tmp_path / "page.html")
    assert code == 1
    page = Page((tmp_path / "page.html").read_text())
    assert page.others == []
    found = tricodec.DatasetIndex(index).examine()
    for finding in found.findings:
        assert f"{finding.name}: {len(finding.rows)} videos" in page.texts
        assert finding.meaning in page.texts
    assert "broken.mp4" in page.texts
    usable = [row for row in tricodec.DatasetIndex(index) if row["status"] in ("ok", "damaged", "cut")]
    classes = Counter(f"{row['codec']} {row['width']}x{row['height']} {row['pixel_format']}" for row in usable)
    assert {title for title, _ in page.pictures} == {f"{count} {name}" for name, count in classes.items()}
    for title, png in page.pictures:
        row = next(r for r in usable if f"{r['codec']} {r['width']}x{r['height']} {r['pixel_format']}" in title)
        picture = np.asarray(Image.open(io.BytesIO(png)))
        video = tricodec.decode_video(
            generated(row["path"]), indices=[row["num_frames"] // 2], size=picture.shape[:2], device="cpu"
        )
        np.testing.assert_array_equal(picture, video.frames[0])


def test_a_page_shows_names_as_they_are(tmp_path: Path) -> None:
    shutil.copy(generated("h264_bframes.mp4"), tmp_path / "<b>&.mp4")
    (tmp_path / "<script>.mp4").write_bytes(b"broken")
    tricodec.DatasetIndex.build([tmp_path], tmp_path / "index.parquet")
    text = tricodec.DatasetIndex(tmp_path / "index.parquet").html_page()
    assert "<script>" not in text
    assert "<script>.mp4" in Page(text).texts


def test_an_examination_reports_its_progress(index: Path) -> None:
    steps: list[tuple[int, int]] = []
    tricodec.DatasetIndex(index).examine(on_progress=lambda done, total: steps.append((done, total)))
    total = steps[0][1]
    assert steps == [(number, total) for number in range(1, total + 1)]


def test_doctor_shows_a_bar_on_a_terminal(index: Path, tmp_path: Path) -> None:
    terminal, end = pty.openpty()
    command = [sys.executable, "-m", "tricodec", "doctor", str(index), "--html", str(tmp_path / "page.html")]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=end, env=os.environ | {"TERM": "xterm"})
    os.close(end)
    shown = ""
    with contextlib.suppress(OSError), open(terminal, "rb", buffering=0) as reading:  # noqa: PTH123
        while data := reading.read(1 << 16):  # an OSError, since the other end is closed
            shown += data.decode()
    assert process.wait() == 1
    assert "doctor: checks" in shown
    assert "doctor: pictures" in shown
