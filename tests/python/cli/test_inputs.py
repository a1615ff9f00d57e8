# SPDX-License-Identifier: Apache-2.0
"""Several files and folders a call, standard input and output, and results as JSON."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import media
import numpy as np
import pytest
import tricodec

Run = Callable[..., tuple[int, str, str]]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """videos/a.mp4, videos/below/b.mkv and a text beside them."""
    below = tmp_path / "videos/below"
    below.mkdir(parents=True)
    shutil.copy(media.generated("h264_bframes.mp4"), tmp_path / "videos/a.mp4")
    shutil.copy(media.generated("hevc10.mkv"), below / "b.mkv")
    (tmp_path / "videos/notes.txt").write_text("text")
    return tmp_path / "videos"


def piped(data: bytes, *arguments: object) -> subprocess.CompletedProcess[bytes]:
    command = [sys.executable, "-m", "tricodec", *map(str, arguments)]
    return subprocess.run(command, input=data, capture_output=True, check=True)


def test_one_bad_file_costs_only_itself(run: Run, folder: Path) -> None:
    (folder / "broken.mp4").write_bytes(b"")

    status, out, err = run("probe", "--json", folder, folder / "a.mp4")

    assert status == 1
    found = json.loads(out)
    assert [("error" in each) for each in found] == [False, True, False, False]
    assert err.count("tricodec: error: ") == 1
    assert "broken.mp4" in err


def test_frames_of_several_files_get_a_folder_each(run: Run, folder: Path, tmp_path: Path) -> None:
    status, _, err = run("frames", folder, "--count", 1, "-o", tmp_path / "out")

    assert status == 0
    assert "total: 2 files, 2 frames" in err
    written = {str(path.relative_to(tmp_path / "out")) for path in (tmp_path / "out").rglob("*.png")}
    assert written == {"a/000000.png", "below/b/000000.png"}


def test_transcode_of_a_folder_keeps_its_shape(run: Run, folder: Path, tmp_path: Path) -> None:
    status, _, err = run(
        "transcode", folder, "-o", tmp_path / "out", "--container", "mkv", "--preset", "ultrafast", "--crf", 40,
        "--size", "160x-2",
    )  # fmt: skip

    assert status == 0
    assert "total: 2 files, " in err
    for name in ("a.mkv", "below/b.mkv"):
        with tricodec.FrameReader(tmp_path / "out" / name) as reader:
            assert reader.shape[1:3] == (90, 160)


def test_compress_of_a_folder_comes_back(run: Run, tmp_path: Path) -> None:
    (tmp_path / "data/sub").mkdir(parents=True)
    expected = {"x": b"hello " * 999, "sub/y": bytes(5000)}
    for name, data in expected.items():
        (tmp_path / "data" / name).write_bytes(data)

    status, out, _ = run("compress", tmp_path / "data", "--algorithm", "zstd", "-o", tmp_path / "packed", "--json")
    assert status == 0
    assert {each["algorithm"] for each in json.loads(out)} == {"zstd"}
    assert run("decompress", tmp_path / "packed", "-o", tmp_path / "again")[0] == 0

    for name, data in expected.items():
        assert (tmp_path / "again" / name).read_bytes() == data


def test_pipes_carry_videos_and_frames() -> None:
    clip = media.generated("h264_bframes.mp4")

    probed = json.loads(piped(clip.read_bytes(), "probe", "-", "--json").stdout)
    small = piped(
        clip.read_bytes(), "transcode", "-", "-o", "-", "--preset", "ultrafast", "--size", "160x-2", "--end", "0.4"
    )  # fmt: skip
    raw = piped(small.stdout, "frames", "-", "--raw", "-o", "-")

    assert probed["streams"][0]["width"] == 320
    assert b"10 frames" in small.stderr  # beside the data
    assert len(raw.stdout) == 10 * 160 * 90 * 3 // 2


def test_pipes_carry_compressed_data() -> None:
    data = np.arange(100_000, dtype="<u4").tobytes()

    packed = piped(data, "compress", "-", "--algorithm", "zstd").stdout

    assert len(packed) < len(data)
    assert piped(packed, "decompress", "-").stdout == data


def test_times_and_rates_choose_the_frames_of_decode_video(run: Run) -> None:
    clip = media.generated("h264_bframes.mp4")
    for words, options in (
        ({"times": [0.1, 1.5]}, ["--times", "0.1,0:01.5"]),
        ({"fps": 5}, ["--fps", "5"]),
        ({"num_frames": 4, "start_s": 0.5}, ["--num-frames", "4", "--start", "0:00.5"]),
    ):
        _, out, _ = run("frames", clip, "--framemd5", "--json", *options)
        indices = tricodec.decode_video(clip, size=(8, 8), **words).indices
        assert [each["index"] for each in json.loads(out)["frames"]] == list(indices)


def test_every_command_has_results_as_json(run: Run, tmp_path: Path) -> None:
    clip = media.generated("h264_audio.mp4")

    _, out, _ = run("frames", clip, "--md5", "--json")
    assert json.loads(out)["md5"] == media.ffmpeg_md5(clip)
    _, out, _ = run("audio", clip, "-o", tmp_path / "a.wav", "--json")
    assert json.loads(out)["sample_rate"] == 48000
    _, out, _ = run("info", "--json")
    assert "libavcodec" in json.loads(out)
    made = tmp_path / "e.mp4"
    _, out, _ = run("encode", clip, "-o", made, "-p", "codec=hevc", "-p", "preset=P1", "--json")
    assert json.loads(out)["num_frames"] == len(tricodec.FrameReader(made)) == len(media.ffmpeg_frames(clip))
    _, out, _ = run("encode", "--explain", "-p", "codec=h264", "--json")
    assert "libx264" in json.loads(out)["h264"]


def test_completion_offers_commands_and_options(tmp_path: Path) -> None:
    def completions(line: str) -> set[str]:
        output = tmp_path / "out"
        environment = {
            **os.environ, "_ARGCOMPLETE": "1", "_ARGCOMPLETE_STDOUT_FILENAME": str(output), "COMP_LINE": line,
            "COMP_POINT": str(len(line)), "_ARGCOMPLETE_IFS": "\n", "_ARGCOMPLETE_SUPPRESS_SPACE": "1",
        }  # fmt: skip
        subprocess.run([sys.executable, "-m", "tricodec"], env=environment, check=True, capture_output=True)
        return set(output.read_text().split("\n"))

    assert completions("tricodec tran") == {"transcode"}
    assert "--crf" in completions("tricodec transcode --c")
    assert completions("tricodec serve --grpc") == {"--grpc-port"}
