# SPDX-License-Identifier: Apache-2.0
"""Which of several video streams is read if none is named: libavformat's choice, in every call."""

from __future__ import annotations

from pathlib import Path

import av
import pytest
import tricodec
import tricodec.io
from media import ffmpeg

_TWO = (
    "-f lavfi -i testsrc2=s=96x64:d=1:r=25 -f lavfi -i testsrc2=s=192x128:d=1:r=25 -map 0 -map 1 "
    "-c:v libx264 -preset ultrafast"
)
_FIRST, _SECOND = "-disposition:v:0 default -disposition:v:1 0", "-disposition:v:0 0 -disposition:v:1 default"
_NEITHER = "-disposition:v 0"


@pytest.mark.parametrize("flags", [_FIRST, _SECOND, _NEITHER])
@pytest.mark.parametrize("name", ["a.mkv", "a.mp4"])
def test_every_call_takes_the_stream_that_libavformat_takes(tmp_path: Path, name: str, flags: str) -> None:
    path = tmp_path / name
    ffmpeg(_TWO, flags, path)
    with av.open(str(path)) as container:
        best = container.streams.best("video")
        assert best is not None
        assert _chosen(path) == {best.index}


def test_a_stream_without_packets_is_not_the_best(tmp_path: Path) -> None:
    path = tmp_path / "empty-first.mkv"
    ffmpeg(_TWO, _FIRST, "-bsf:v:0 noise=drop=1", path)
    assert _chosen(path) == {1}
    assert tricodec.decode_video(path).frames.shape == (25, 128, 192, 3)


def _chosen(path: Path) -> set[int | None]:
    with tricodec.FrameReader(path, device="cpu") as reader, tricodec.Demuxer(path) as packets:
        video, probed = reader.info.video, tricodec.probe(path).video
        assert video is not None
        assert probed is not None
        chosen: set[int | None] = {reader.stream.index, packets.stream.index, video.index, probed.index}
    return chosen | {tricodec.io.StreamReader(path).default_video_stream}
