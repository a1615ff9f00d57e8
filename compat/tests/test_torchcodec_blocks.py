# SPDX-License-Identifier: Apache-2.0
"""torchcodec's blocks by their documented rules; TRICODEC_TEST_ORIGINALS=1 runs torchcodec itself."""

from __future__ import annotations

import copy
import io
import pickle
from pathlib import Path
from typing import Any

import media
import numpy as np
import pytest
from peer_names import ORIGINALS, assert_same_pixels, ffmpeg_rgb, torch, torchcodec

pytestmark = pytest.mark.needs_torch


def demuxer(clip: str = "h264_bframes.mp4", **options: Any) -> Any:
    return torchcodec.decoders.Demuxer(media.generated(clip), **options)


def decoded(source: Any, device: str | None = None) -> list[Any]:
    decoder = source.streams[0].make_decoder(device)
    frames = [frame for packet in source for frame in decoder.decode(packet)]
    return frames + decoder.drain()


def packet_streams(path: Path) -> list[int]:
    packets = media.ffprobe(path, "-show_packets -show_entries packet=stream_index")["packets"]
    return [packet["stream_index"] for packet in packets]


@pytest.mark.parametrize(
    "clip",
    [
        "vp9_odd.webm", "h264_420_10.mkv", "h264_rgb.mkv", "hevc_open_gop.mkv", "h264_edit_list.mp4",
    ],
)  # fmt: skip
def test_converted_frames_are_those_of_ffmpeg(clip: str) -> None:
    frames = [torchcodec.decoders.ColorConverter().convert(raw) for raw in decoded(demuxer(clip))]
    path = media.generated(clip)
    assert [frame.pts_seconds for frame in frames] == pytest.approx(media.ffprobe_times(path), abs=1e-6)
    assert frames[0].data.stride()[0] == 1
    assert_same_pixels(torch.stack([frame.data.permute(1, 2, 0) for frame in frames]), ffmpeg_rgb(path))


def test_converted_frames_are_those_of_the_video_decoder() -> None:
    for clip, output_dtype in (("h264_rot90.mp4", torch.uint8), ("h264_420_10.mkv", "auto"), ("vp9.webm", "auto")):
        convert = torchcodec.decoders.ColorConverter("cpu", output_dtype).convert
        reader = torchcodec.decoders.VideoDecoder(media.generated(clip), output_dtype=output_dtype)
        for i, raw in enumerate(decoded(demuxer(clip), "cpu")[:4]):
            found, expected = convert(raw), reader.get_frame_at(i)
            assert found.data.dtype == expected.data.dtype
            assert torch.equal(found.data, expected.data)
            assert (found.pts_seconds, found.duration_seconds) == (expected.pts_seconds, expected.duration_seconds)


def test_packets_are_those_of_the_streams_that_are_followed() -> None:
    every = packet_streams(media.generated("h264_audio.mp4"))
    for streams in ("video", 0, (0,), "all"):
        source = demuxer("h264_audio.mp4", streams=streams)
        assert [stream.index for stream in source.streams] == [0]
        assert [packet.stream_index for packet in source] == [i for i in every if i == 0]


@pytest.mark.parametrize("streams", ["x", 9, -1, (), ("all", 0), (0, "video"), True, 1.5, None])
def test_wrong_selectors_are_refused(streams: Any) -> None:
    with pytest.raises(ValueError):  # noqa: PT011  (each package has words of its own)
        demuxer(streams=streams)


def test_packets_of_sound_and_a_missing_file_are_errors(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="AudioDecoder reads sound"):
        demuxer("h264_audio.mp4", streams="audio")
    with pytest.raises(ValueError, match="is of type 'audio'"):
        demuxer("h264_audio.mp4", streams=1)
    with pytest.raises(RuntimeError, match="Could not open input file"):
        torchcodec.decoders.Demuxer(tmp_path / "none.mp4")
    with pytest.raises(TypeError):
        torchcodec.decoders.Demuxer(5)


def test_a_seek_lands_on_the_key_frame_at_or_before(tmp_path: Path) -> None:
    source = demuxer()
    index = demuxer().streams[0].scan()
    decoder = source.streams[0].make_decoder()
    for seconds in (1.7, 0.0, 0.9):
        source.seek(seconds)
        decoder.reset()
        raw = next(frame for packet in source for frame in decoder.decode(packet))
        assert raw.pts_seconds == index.key_frame_seconds_for(seconds)
    path = tmp_path / "two.mp4"
    first, second = media.generated("h264_bframes.mp4"), media.generated("h264_16x16.mp4")
    media.ffmpeg("-i", first, "-i", second, "-map 0:v -map 1:v -c copy", path)
    both = torchcodec.decoders.Demuxer(path, streams=(0, 1))
    both.seek(0.5, stream=both.streams[1])
    decoder = both.streams[1].make_decoder()
    raw = next(frame for packet in both if packet.stream_index == 1 for frame in decoder.decode(packet))
    assert raw.pts_seconds == torchcodec.decoders.Demuxer(path, streams=1).streams[0].scan().key_frame_seconds_for(0.5)


def test_a_decoder_refuses_packets_after_a_drain_or_a_seek() -> None:
    source = demuxer()
    decoder = source.streams[0].make_decoder(num_ffmpeg_threads=1)
    decoder.decode(next(source))
    source.seek(1.0)
    packet = next(source)
    with pytest.raises(RuntimeError, match=r"reset\(\)"):
        decoder.decode(packet)
    decoder.reset()
    frames = decoder.decode(packet) + decoder.drain()
    assert len(frames) == 1
    with pytest.raises(RuntimeError, match="has been drained"):
        decoder.decode(next(source))
    decoder.reset()
    source.seek(0)
    assert len(decoded(source)) == 50
    with pytest.raises(RuntimeError, match="cannot be instantiated directly"):
        torchcodec.decoders.VideoPacketDecoder()
    with pytest.raises(ValueError, match="should be an int"):
        source.streams[0].make_decoder(num_ffmpeg_threads=None)
    with pytest.raises(RuntimeError, match="Unknown device type"):
        source.streams[0].make_decoder("mps")


@pytest.mark.parametrize("clip", ["h264_bframes.mp4", "h264_vfr.mkv", "h264_edit_list.mp4", "h264_nonzero_start.mkv"])
def test_a_scan_tells_the_times_of_the_frames(clip: str) -> None:
    source = demuxer(clip)
    index = source.streams[0].scan()
    times = media.ffprobe_times(media.generated(clip))
    assert len(index) == index.num_frames_from_content == len(times)
    assert index.pts_seconds.dtype == index.duration_seconds.dtype == torch.float64
    assert index.pts_seconds.tolist() == pytest.approx(times, abs=1e-6)
    keys = index.key_frame_indices
    assert torch.equal(keys, index.is_key_frame.nonzero().reshape(-1))
    content = torchcodec.decoders.VideoDecoder(media.generated(clip)).metadata
    assert index.begin_stream_seconds_from_content == content.begin_stream_seconds
    assert index.end_stream_seconds_from_content == content.end_stream_seconds
    assert index.average_fps_from_content == pytest.approx(content.average_fps)
    # On screen until the own duration ends.
    wanted = torch.tensor([times[0], times[3] + 1e-4, times[-1] + 100, times[0] - 100], dtype=torch.float64)
    assert index.index_at(wanted).tolist() == [0, 3, len(times) - 1, 0]
    assert index.index_at(float(wanted[1])) == 3
    assert index.key_frame_seconds_for(times[0] - 100) == index.begin_stream_seconds_from_content
    assert index.key_frame_seconds_for(times[-1] + 100) == float(index.pts_seconds[keys[-1]])
    assert len(decoded(source)) == len(times)  # the scan took no packet away


def test_a_scan_comes_before_the_packets() -> None:
    source = demuxer()
    next(source)
    with pytest.raises(RuntimeError, match="scan"):
        source.streams[0].scan()


@pytest.mark.parametrize(
    ("clip", "pixel_format", "shapes", "bit_depth"),
    [
        ("h264_bframes.mp4", "yuv420p", [(180, 320), (90, 160), (90, 160)], 8),
        ("h264_422_10.mkv", "yuv422p10le", [(180, 320), (180, 160), (180, 160)], 10),
        ("h264_rot90.mp4", "yuv420p", [(180, 320), (90, 160), (90, 160)], 8),
    ],
)
def test_raw_frames_show_the_codecs_samples(clip: str, pixel_format: str, shapes: Any, bit_depth: int) -> None:
    raw = decoded(demuxer(clip))[0]
    path = media.generated(clip)
    assert (raw.pixel_format, raw.bit_depth, raw.width, raw.height) == (pixel_format, bit_depth, 320, 180)
    assert [tuple(plane.shape) for plane in raw.planes] == shapes
    assert raw.rotation % 360 == (270 if clip == "h264_rot90.mp4" else 0)
    assert raw.storage_cuda is None
    expected = media.ffmpeg_frames(path, pixel_format)[0]
    planes = raw.planes
    del raw  # the planes keep the picture
    assert b"".join(np.ascontiguousarray(plane.numpy()).tobytes() for plane in planes) == expected


def test_raw_frames_tell_their_colors() -> None:
    raw = decoded(demuxer("bt709.mp4"))[0]
    names = (raw.color_space, raw.color_primaries, raw.color_transfer_characteristic, raw.color_range)
    stream = media.ffprobe(
        media.generated("bt709.mp4"),
        "-select_streams v:0 -show_entries stream=color_space,color_primaries,color_transfer,color_range",
    )["streams"][0]
    keys = ("color_space", "color_primaries", "color_transfer", "color_range")
    assert names == tuple(stream.get(key, "unknown") for key in keys)
    assert decoded(demuxer())[0].color_space in ("unknown", "unspecified")
    red, green, blue = decoded(demuxer("h264_rgb.mkv"))[0].planes
    rgb = media.ffmpeg_frames(media.generated("h264_rgb.mkv"), "rgb24")[0]
    found = torch.stack([red, green, blue], dim=-1).numpy()
    assert found.tobytes() == rgb


def test_sources_that_are_bytes_or_files_are_demuxed() -> None:
    data = media.generated("h264_bframes.mp4").read_bytes()
    for source in (data, io.BytesIO(data), torch.frombuffer(bytearray(data), dtype=torch.uint8)):
        found = torchcodec.decoders.Demuxer(source)
        assert len(found.streams[0].scan()) == 50
        assert len(decoded(found)) == 50


def test_blocks_are_neither_pickled_nor_copied() -> None:
    source = demuxer()
    decoder = source.streams[0].make_decoder()
    packet = next(source)
    raw = (decoder.decode(packet) + decoder.drain())[0]
    for block in (source, source.streams[0], decoder, packet, raw, torchcodec.decoders.ColorConverter()):
        with pytest.raises(TypeError, match="cannot be pickled"):
            pickle.dumps(block)
        with pytest.raises(TypeError, match="cannot be pickled"):
            copy.copy(block)


def test_container_metadata_describe_every_stream(tmp_path: Path) -> None:
    path = tmp_path / "subtitles.mkv"
    text = tmp_path / "a.srt"
    text.write_text("1\n00:00:00,000 --> 00:00:01,000\nHello\n")
    media.ffmpeg("-i", media.generated("h264_audio.mp4"), "-i", text, "-map 0 -map 1 -c copy", path)
    found = torchcodec.decoders.get_container_metadata(path)
    assert [stream.media_type for stream in found.streams] == ["video", "audio", "subtitle"]
    assert (found.best_video_stream_index, found.best_audio_stream_index) == (0, 1)
    assert found.streams[0].codec == "h264"
    assert (found.streams[0].width, found.streams[1].sample_rate) == (320, 48000)
    duration = float(media.ffprobe(path, "-show_entries format=duration")["format"]["duration"])
    assert found.duration_seconds_from_header == pytest.approx(duration, abs=1e-3)
    metadata = demuxer("h264_audio.mp4").metadata
    assert metadata.best_audio_stream_index == 1
    assert "best_video_stream_index: 0" in repr(metadata)


@pytest.mark.skipif(ORIGINALS, reason="torchcodec decodes packets of another stream")
def test_a_packet_of_another_stream_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "two.mp4"
    media.ffmpeg("-i", media.generated("h264_bframes.mp4"), "-map 0 -map 0 -c copy", path)
    source = torchcodec.decoders.Demuxer(path, streams=(0, 1))
    packet = next(packet for packet in source if packet.stream_index == 1)
    with pytest.raises(RuntimeError, match="of stream 1"):
        source.streams[0].make_decoder().decode(packet)


@pytest.mark.skipif(ORIGINALS, reason="torchcodec opens them")
def test_metadata_of_a_file_of_sound_alone(tmp_path: Path) -> None:
    path = tmp_path / "a.mp3"
    media.ffmpeg("-f lavfi -i sine=d=1", path)
    found = torchcodec.decoders.get_container_metadata(path)
    assert (found.best_video_stream_index, found.streams[0].media_type) == (None, "audio")
