# SPDX-License-Identifier: Apache-2.0
"""The names of other libraries give what our own give: PyNvVideoCodec's encoder and SEI, torchaudio's streams."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import bitstreams
import media
import numpy as np
import PyNvVideoCodec as nvc
import pytest
import tricodec
from stream_testing import StreamReader, all_of
from tricodec import encode, io

WIDTH, HEIGHT = 192, 128

PARAMETERS: dict[str, dict[str, Any]] = {
    "h264": {"codec": "h264", "preset": "P2", "bf": 3, "gop": 12, "constqp": 27},
    "hevc": {"codec": "hevc", "preset": "P1", "constqp": 30, "fps": 25},
    "av1": {"codec": "av1", "preset": "P1", "constqp": 120},
}


@pytest.mark.parametrize("name", PARAMETERS)
def test_create_encoder_makes_the_packets_of_encoder_with_the_tables_words(name: str) -> None:
    parameters = PARAMETERS[name]
    frames = bitstreams.moving(WIDTH, HEIGHT, 16)
    theirs = nvc.CreateEncoder(WIDTH, HEIGHT, "YUV420", True, use_ivf_container=0, **parameters)
    settings, unknown = encode.Settings.of(parameters, WIDTH, HEIGHT)
    plan = encode.build(settings, encode.CPU_ENCODERS[settings.codec])
    ours = tricodec.Encoder(WIDTH, HEIGHT, device="cpu", **plan.keywords)

    given = [packet for frame in frames for packet in theirs.Encode(frame.reshape(-1))]
    given += theirs.EndEncode()
    wanted = [packet for frame in frames for packet in ours.encode(frame, format="yuv420p")]
    wanted += ours.flush()

    assert unknown == []
    assert [packet["data"] for packet in given] == [bytes(packet) for packet in wanted]
    assert [packet["timestamp"] for packet in given] == [packet.pts for packet in wanted]


def test_sei_messages_that_the_encoder_writes_are_those_that_packets_give(tmp_path: Path) -> None:
    encoder = nvc.CreateEncoder(WIDTH, HEIGHT, "NV12", True, codec="h264", preset="P1", bf=2)
    payloads = [bytes(range(16)) + bytes([number] * 4) for number in range(6)]
    data = b""
    for frame, payload in zip(bitstreams.moving(WIDTH, HEIGHT, 6), payloads, strict=True):
        data += bytes(encoder.Encode(frame.reshape(-1), 0, [({"sei_type": 5}, list(payload))]))
    data += bytes(encoder.EndEncode())
    path = tmp_path / "a.h264"
    path.write_bytes(data)

    with tricodec.Demuxer(path) as demuxer:
        found = [message for packet in demuxer for message in tricodec.sei_messages(packet, demuxer.stream)]

    assert sorted(payload for kind, payload in found if kind == 5 and payload in payloads) == payloads


@pytest.mark.parametrize("clip", ["h264_bframes.mp4", "hevc_open_gop.mkv", "av1.mp4", "vp9_odd.webm"])
def test_stream_reader_gives_frame_readers_pictures(clip: str) -> None:
    path = media.generated(clip)
    reader = StreamReader(str(path))
    reader.add_basic_video_stream(-1, -1, format=None)
    chunk = all_of(reader)

    with tricodec.FrameReader(path, device="cpu") as frames:
        pictures = [[np.asarray(plane) for plane in frame.planes] for frame in frames]
        first = frames.pts_seconds[0]

    assert len(chunk) == len(pictures)
    assert chunk.pts == pytest.approx(first, abs=1e-6)
    for shown, planes in zip(np.asarray(chunk), pictures, strict=True):
        assert np.array_equal(shown[0], planes[0].reshape(shown[0].shape))


def test_stream_writer_makes_the_pictures_of_encode_video(tmp_path: Path) -> None:
    frames = tricodec.decode_video(media.generated("h264_bframes.mp4"), count=8, color="yuv").frames
    planar = np.ascontiguousarray(frames.transpose(0, 3, 1, 2))
    lossless = {"qp": "0", "preset": "ultrafast"}
    path = tmp_path / "a.mp4"

    writer = io.StreamWriter(str(path))
    writer.add_video_stream(25, frames.shape[2], frames.shape[1], format="yuv444p", encoder="libx264",
                            encoder_option=lossless, encoder_format="yuv444p")  # fmt: skip
    with writer.open():
        writer.write_video_chunk(0, planar)
    file = tricodec.encode_video(
        frames, color="yuv", pixel_format="yuv444p", codec="libx264", frame_rate=25, options=lossless
    )

    for each in (path, file):
        assert np.array_equal(tricodec.decode_video(each, color="yuv", rotate=False).frames, frames)
