# SPDX-License-Identifier: Apache-2.0
"""VP9 packets that only show an earlier picture again (show_existing_frame) are frames with times of their own."""

from __future__ import annotations

import os
import subprocess
import sys

import media
import media_recipes
import pytest
import tricodec

CLIPS = ["vp9_shown_again.ivf", "vp9_shown_again.webm"]


@pytest.mark.parametrize("name", CLIPS)
def test_each_packet_that_shows_a_picture_is_a_frame_with_its_time(name: str) -> None:
    path = media.generated(name)
    packets = media_recipes.ivf_packets(media.generated("vp9_shown_again.ivf").read_bytes())
    assert sum(packet[0] & 0x08 != 0 for packet in packets) > 10
    times = media.ffprobe_times(path)
    with tricodec.FrameReader(path, device="cpu") as reader:
        frames = list(reader)

        assert [frame.md5() for frame in frames] == media.ffmpeg_framemd5(path)
        assert [frame.pts_seconds for frame in frames] == pytest.approx(times)
        for i in (4, 5, 30, 11, len(frames) - 1, 29, 0):
            assert (reader[i].md5(), reader[i].pts) == (frames[i].md5(), frames[i].pts), i


@pytest.mark.parametrize("name", CLIPS)
def test_their_frames_are_numbered_without_decoding(name: str) -> None:
    code = f"import tricodec\nr = tricodec.FrameReader({str(media.generated(name))!r}, device='cpu')\n"
    code += "list(r)\nr.frames([60, 4, 33])\nassert not r.issues, r.issues\n"
    environment = {**os.environ, "TRICODEC_LOG": "info"}
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=environment, check=False)

    assert result.returncode == 0, result.stderr
    assert "decoding vp9 by" in result.stderr
    assert "numbering the frames" not in result.stderr
