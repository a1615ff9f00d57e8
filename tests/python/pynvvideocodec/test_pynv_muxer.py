# SPDX-License-Identifier: Apache-2.0
"""FFmpegMuxer, GetMediaFormat and Transcoder: the containers of release 2.2."""

from __future__ import annotations

import ctypes
from pathlib import Path

import bitstreams
import media
import numpy as np
import PyNvVideoCodec as nvc
import pytest
import tricodec

WIDTH, HEIGHT = 96, 64


@pytest.mark.parametrize(
    ("name", "wanted"),
    [
        ("a.mp4", "MP4"),
        ("A.MP4", "MP4"),
        ("a.mov", "MOV"),
        ("a.webm", "WEBM"),
        ("a.mkv", "ELEMENTARY"),
        ("a", "ELEMENTARY"),
    ],
)
def test_media_format_follows_the_extension(name: str, wanted: str) -> None:
    assert nvc.GetMediaFormat(name) is nvc.MEDIA_FORMAT[wanted]


def test_muxed_b_frames_are_shown_in_the_order_they_were_encoded_in(tmp_path: Path) -> None:
    frames = bitstreams.moving(WIDTH, HEIGHT, 12)
    encoder = nvc.CreateEncoder(WIDTH, HEIGHT, "NV12", True, bf=3, constqp=20)
    path = tmp_path / "a.mp4"
    muxer = nvc.FFmpegMuxer(
        str(path), nvc.MP4, "h264", WIDTH, HEIGHT, fps_num=25, timebase_den=12800,
        extradata=encoder.GetSequenceParams(),
    )  # fmt: skip
    muxer.SetUniformPtsIncrement(512)

    packets = [packet for frame in frames for packet in encoder.Encode(frame.reshape(-1))]
    for packet in [*packets, *encoder.EndEncode()]:
        muxer.MuxVideoPacket(packet["data"], packet["picture_type"], packet["timestamp"])
    muxer.Finalize()
    muxer.Finalize()

    times = [float(frame["pts_time"]) for frame in bitstreams.probe(path, "frame=pts_time")["frames"]]
    assert times == pytest.approx([number / 25 for number in range(12)], abs=1e-4)
    assert encoder.GetNumBFrames() == 2
    assert "B" in bitstreams.pictures(path)
    shown = bitstreams.decoded(path, "nv12").reshape(frames.shape).astype(np.int16)
    nearest = [int(np.abs(frames - picture).mean(axis=(1, 2)).argmin()) for picture in shown]
    assert nearest == list(range(12))


@pytest.fixture(scope="module")
def talking(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Pictures of a variable rate with B frames, and two streams of sound."""
    path = tmp_path_factory.mktemp("muxer") / "talking.mp4"
    media.ffmpeg(
        f"-f lavfi -i testsrc2=s={WIDTH}x{HEIGHT}:r=25:d=2 -f lavfi -i sine=d=2 -f lavfi -i sine=f=900:d=2",
        "-map 0 -map 1 -map 2 -vf select='mod(n,5)' -fps_mode vfr -c:v libx264 -bf 2 -c:a aac", path,
    )  # fmt: skip
    return path


def transcoded(source: Path, path: Path) -> list[nvc.PacketData]:
    """As NVIDIA's sample transcodes: pictures encoded again, sound as it is. Gives the packets of sound."""
    demuxer = nvc.CreateDemuxer(str(source))
    decoder = nvc.CreateDecoder(codec=demuxer.GetNvCodecId())
    encoder = nvc.CreateEncoder(
        demuxer.Width(), demuxer.Height(), "NV12", False, bf=3,
        source_av_format_context=demuxer.GetAVFormatInputContext(),
    )  # fmt: skip
    rates = encoder.GetEncodeReconfigureParams()
    assert rates.frameRateNum / rates.frameRateDen == pytest.approx(demuxer.FrameRate())
    muxer = nvc.FFmpegMuxer(
        str(path), nvc.GetMediaFormat(str(path)), in_format_context=demuxer.GetAVFormatInputContext(), codec="h264",
        width=demuxer.Width(), height=demuxer.Height(), extradata=encoder.GetSequenceParams(),
    )  # fmt: skip
    packets, sound = [], []
    while (packet := demuxer.DemuxNoSkipAudio()).bsl:
        if not packet.is_video:
            sound.append(packet)
            assert muxer.MuxPassthroughPacket(packet)
            continue
        assert not muxer.MuxPassthroughPacket(packet)
        muxer.RecordSourceVideoPacket(packet)
        for frame in decoder.Decode(packet):
            packets += list(encoder.Encode(frame))
    for frame in decoder.Decode(nvc.PacketData()):
        packets += list(encoder.Encode(frame))
    for each in [*packets, *encoder.EndEncode()]:
        muxer.MuxVideoPacket(each["data"], each["picture_type"], each["timestamp"])
    muxer.Finalize()
    return sound


def test_a_transcode_keeps_times_and_copies_sound(talking: Path, tmp_path: Path) -> None:
    path = tmp_path / "out.mp4"

    sound = transcoded(talking, path)

    assert {packet.stream_index for packet in sound} == {1, 2}
    assert media.ffprobe_times(path) == pytest.approx(media.ffprobe_times(talking), abs=1e-3)
    for stream in (0, 1):
        entries = "packet=pts_time,data_hash"
        ours, theirs = (
            bitstreams.probe(each, entries, "-show_data_hash", "md5", stream=f"a:{stream}")["packets"]
            for each in (path, talking)
        )
        assert [packet["data_hash"] for packet in ours] == [packet["data_hash"] for packet in theirs]
        assert [float(packet["pts_time"]) for packet in ours] == pytest.approx(
            [float(packet["pts_time"]) for packet in theirs], abs=1e-3
        )


def test_transcoder_needs_no_audio_and_names_segments(tmp_path: Path) -> None:
    source = media.generated("h264_bframes.mp4")
    transcoder = nvc.Transcoder(str(source), str(tmp_path / "out.mp4"), 0, 0, 0, codec="h264", bf=3, preset="P1")

    transcoder.transcode_with_mux()
    transcoder.segmented_transcode(0.2, 0.7)

    assert len(tricodec.FrameReader(tmp_path / "out.mp4")) == len(tricodec.FrameReader(source))
    segment = tricodec.FrameReader(tmp_path / "out_0.2_0.7.mp4")
    assert len(segment) == sum(0.2 <= time < 0.7 - 1e-9 for time in tricodec.FrameReader(source).pts_seconds)
    with pytest.raises(ValueError, match="end must be after start"):
        transcoder.segmented_transcode(0.7, 0.2)


def test_packets_with_times_of_ones_own_are_written(talking: Path, tmp_path: Path) -> None:
    demuxer = nvc.CreateDemuxer(str(talking))
    muxer = nvc.FFmpegMuxer(str(tmp_path / "a.mp4"), nvc.MP4, demuxer.GetAVFormatInputContext(), "h264", WIDTH, HEIGHT)
    with pytest.raises(ValueError, match="stream_index is 9"):
        muxer.Mux(b"", 0, 0, 0, 9)

    while (packet := demuxer.DemuxNoSkipAudio()).bsl:
        stream = 0 if packet.is_video else muxer.PreparePassthroughPacket(packet)
        assert stream is not None
        data = ctypes.string_at(packet.bsl_data, packet.bsl)
        assert muxer.Mux(data, packet.pts, packet.dts, packet.duration, stream, packet.key)
    muxer.Finalize()

    assert bitstreams.decoded(tmp_path / "a.mp4", "nv12").tobytes() == bitstreams.decoded(talking, "nv12").tobytes()
