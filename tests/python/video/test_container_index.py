# SPDX-License-Identifier: Apache-2.0
"""Frames that are numbered by the table of an MP4 file (`FrameReader(source, index="container")`)."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import tricodec
from media import ffmpeg, ffprobe, generated

RATE = 30


@pytest.fixture(scope="module")
def long_clip(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """600 frames of noise in ten GOPs, with sound in between, more than 16 MiB, the table in front."""
    path = tmp_path_factory.mktemp("container") / "long.mp4"
    noise = "color=gray:size=320x240:rate=30,noise=c0s=100:c0f=t+u:all_seed=5"
    ffmpeg(
        *("-f", "lavfi", "-i", noise, "-f", "lavfi", "-i", "sine=sample_rate=48000", "-frames:v", "600", "-shortest"),
        *("-c:v", "libx264", "-preset", "ultrafast", "-bf", "2", "-qp", "14", "-g", "60", "-keyint_min", "60"),
        *("-sc_threshold", "0", "-c:a", "aac", "-movflags", "+faststart", path),
    )
    assert path.stat().st_size > 16 << 20
    return path


def gop_bytes(path: Path) -> int:
    """Bytes of the video packets of one GOP."""
    packets = ffprobe(path, "-select_streams v:0 -show_entries packet=size")["packets"]
    return sum(int(packet["size"]) for packet in packets) // (len(packets) // 60)


def test_the_length_and_the_times_of_a_large_file_take_its_table_alone(long_clip: Path) -> None:
    with tricodec.FrameReader(long_clip, device="cpu") as reader:
        assert len(reader) == 600
        np.testing.assert_allclose(reader.pts_seconds, np.arange(600) / RATE, atol=1e-6)
        assert reader.key_frames == list(range(0, 600, 60))
        assert reader.stats.bytes_read < 512 << 10
        assert reader.stats.num_packets_decoded == 0


def test_eight_frames_take_the_bytes_of_their_gops(long_clip: Path) -> None:
    with tricodec.FrameReader(long_clip, device="cpu") as reader:
        opened = reader.stats.bytes_read
        frames = reader.frames([130, 131, 132, 133, 490, 491, 492, 493])
        taken = reader.stats.bytes_read - opened

    with tricodec.FrameReader(long_clip, device="cpu", index="packets") as whole:
        expected = whole.frames([130, 131, 132, 133, 490, 491, 492, 493])
        assert whole.stats.bytes_read > long_clip.stat().st_size
    assert [frame.md5() for frame in frames] == [frame.md5() for frame in expected]
    assert [frame.pts_seconds for frame in frames] == [frame.pts_seconds for frame in expected]
    assert taken <= 1.15 * 2 * gop_bytes(long_clip)


@pytest.mark.parametrize(
    "encoder",
    [
        "libx264 -x264-params keyint=30:min-keyint=30:scenecut=0:bframes=3:open-gop=1",
        "libx265 -x265-params keyint=30:min-keyint=30:scenecut=0:bframes=3:open-gop=1:log-level=error",
    ],
    ids=["h264", "hevc"],
)
def test_open_groups_are_read_once(encoder: str, tmp_path: Path) -> None:
    path = tmp_path / "open.mp4"
    noise = "color=gray:size=320x240:rate=30,noise=c0s=100:c0f=t+u:all_seed=5"
    ffmpeg("-f", "lavfi", "-i", noise, "-frames:v", "120", "-c:v", *encoder.split(), "-preset", "ultrafast", path)
    leading = [28, 30, 31, 58, 61, 119]

    with tricodec.FrameReader(path, device="cpu", index="packets") as reader:
        expected = [frame.md5() for frame in reader]
        few = [frame.md5() for frame in reader.frames(leading)]
    most = 1.3 * path.stat().st_size
    taken = []
    for num_workers in (1, 2, 2, 2, 2, 2, 2):
        with tricodec.FrameReader(path, device="cpu", index="container", num_workers=num_workers) as reader:
            assert len(reader) == 120
            assert [frame.md5() for frame in reader] == expected
            taken += [reader.stats.bytes_read] * (num_workers == 2)
        with tricodec.FrameReader(path, device="cpu", index="container", num_workers=num_workers) as reader:
            assert [frame.md5() for frame in reader.frames(leading)] == few
        # A decoder that takes a group which is not the next one for it reads some of it again.
        if taken and taken[-1] < most:
            break
    assert min(taken) < most


def test_a_small_file_has_the_index_of_its_packets() -> None:
    clip = generated("h264_bframes.mp4")
    with tricodec.FrameReader(clip, device="cpu") as reader:
        assert len(reader) == 50
        assert reader.stats.bytes_read >= clip.stat().st_size
