# SPDX-License-Identifier: Apache-2.0
"""`sampling=` of a selection: rules that choose frames, beside numpy's and LeRobot's."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import media
import numpy as np
import pytest
import tricodec
from tricodec._tricodec import select_frames


def choose(total: int, rate: float, **words: Any) -> list[int]:
    """The frames of a video of constant rate."""
    return select_frames([k / rate for k in range(total)], total / rate, **words)[0].tolist()


@pytest.mark.parametrize("total", [*range(1, 130), 300, 777, 1999, 9000])
def test_rules_are_numpys_formulas(total: int) -> None:
    def centers(count: int) -> list[int]:
        return [int(np.float32(total / count / 2 + k * (total / count))) for k in range(count)]

    for rate in (30.0, 25.0, 30000 / 1001):
        assert choose(total, rate, sampling="uniform", num_frames=8) == np.linspace(0, total - 1, 8).round().tolist()
        floors = np.linspace(0, total - 1, 11, dtype=int).tolist()
        assert choose(total, rate, sampling="uniform_floor", num_frames=11) == floors
        assert choose(total, rate, sampling="stride", num_frames=7) == (np.arange(7) * total // 7).tolist()
        assert choose(total, rate, sampling="centers", num_frames=8) == centers(8)


def test_a_key_frame_that_is_not_shown_stands_for_the_first_frame(tmp_path: Path) -> None:
    plain, path = tmp_path / "plain.mp4", tmp_path / "cut.mp4"
    media.ffmpeg("-f lavfi -i testsrc2=s=96x64:d=2:r=25 -c:v libx264 -g 100 -bf 0", plain)
    media.ffmpeg("-ss 1 -i", plain, "-c copy", path)  # an edit list hides the key frame
    with tricodec.FrameReader(path, device="cpu") as reader:
        assert len(reader) == 25
        assert reader.select(sampling="key_frames") == [0]
        assert len(tricodec.decode_video(path, sampling="key_frames").frames) == 1


def test_key_frames_are_those_from_which_decoding_can_start() -> None:
    path = media.generated("h264_bframes.mp4")
    with tricodec.FrameReader(path) as reader:
        keys = reader.key_frames
        assert reader.select(sampling="key_frames") == keys
        assert reader.select(sampling="key_frames", num_frames=2) == [keys[0], keys[-1]]
        inside = [key for key in keys if 0.5 <= reader.pts_seconds[key] < 1.2]
        assert reader.select(sampling="key_frames", start=reader.index_at(0.5), end_s=1.2) in (
            inside,
            [reader.index_at(0.5), *inside],
        )


def test_frames_around_times_end_at_the_ends_of_the_video() -> None:
    video = {"pts_seconds": [k / 10 for k in range(20)], "end_seconds": 2.0}
    got = select_frames(**video, sampling="around", times=[1.0, 0.0, 1.9], num_frames=3, stride=2)[0].tolist()
    assert got == [8, 10, 12, 0, 0, 2, 17, 19, 19]


@pytest.mark.parametrize("name", ["av1_lerobot.mp4", "hevc_lerobot.mp4"])
def test_lerobots_frames_are_those_of_its_own_rule(name: str) -> None:  # V159, V161, V162, V163, V165
    """Episodes of one file: a key frame at every second frame, times as float32 from the episode's begin."""
    path = media.generated(name)
    pts = np.array(media.ffprobe_times(path))
    fps, episode = 30, 40
    for first in range(0, len(pts) - episode, episode):
        from_timestamp = first / fps
        asked = np.array([k / fps for k in range(episode)], np.float32)
        queries = from_timestamp + asked.astype(np.float64)
        by_torchcodec = [round(time * fps) for time in queries]

        with tricodec.FrameReader(path) as reader:
            got = reader.select(times=queries, tolerance_s=1e-4)
            absolute = reader.select(times=np.float32(from_timestamp) + asked, tolerance_s=1e-4)

        assert got == by_torchcodec == list(range(first, first + episode))
        assert absolute == got
        assert np.max(np.abs(pts[got] - queries)) <= 1e-4
