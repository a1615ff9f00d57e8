# SPDX-License-Identifier: Apache-2.0
"""torchcodec's encoders, read back by ffmpeg; TRICODEC_TEST_ORIGINALS=1 runs torchcodec itself."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import media
import numpy as np
import pytest
from peer_names import ORIGINALS, torch, torchcodec

pytestmark = pytest.mark.needs_torch


def pictures(count: int = 8) -> Any:
    ramp = torch.arange(96).repeat(64, 1)
    planes = torch.stack([ramp * 2, ramp.flip(1) * 2, torch.arange(64)[:, None].repeat(1, 96) * 3])
    return torch.stack([(planes + 5 * i) % 256 for i in range(count)]).to(torch.uint8)


def tone(channels: int = 1) -> Any:
    return torch.stack([torch.sin(torch.arange(16000) * 0.05 * (c + 1)) / 2 for c in range(channels)])


def frames_of(data: bytes, options: str = "") -> np.ndarray[Any, Any]:
    found = media.ffmpeg("-i -", *options.split(), "-pix_fmt rgb24 -f rawvideo -", stdin=data)
    return np.frombuffer(found, np.uint8).reshape(-1, 64, 96, 3).transpose(0, 3, 1, 2)


def test_frames_come_back_from_every_kind_of_target(tmp_path: Path) -> None:
    frames = pictures()
    options: dict[str, Any] = {"codec": "libx264", "pixel_format": "yuv444p", "crf": 0, "preset": "fast"}
    encoder = torchcodec.encoders.VideoEncoder(frames, frame_rate=30)
    encoder.to_file(tmp_path / "a.mp4", **options)
    file = io.BytesIO()
    encoder.to_file_like(file, "mp4", **options)
    tensor = encoder.to_tensor("mp4", **options)
    assert tensor.dtype == torch.uint8
    assert tensor.ndim == 1
    for data in ((tmp_path / "a.mp4").read_bytes(), file.getvalue(), bytes(tensor.numpy())):
        assert np.abs(frames_of(data).astype(int) - frames.numpy()).max() <= 3
    other = frames.permute(0, 2, 3, 1).contiguous().permute(0, 3, 1, 2)
    assert torch.equal(torchcodec.encoders.VideoEncoder(other, frame_rate=30).to_tensor("mp4", **options), tensor)


def test_encoding_is_ffmpegs(tmp_path: Path) -> None:
    frames = pictures()
    data = bytes(
        torchcodec.encoders.VideoEncoder(frames, frame_rate=29.97).to_tensor("mp4", codec="h264", crf=20).numpy()
    )
    raw = tmp_path / "a.rgb"
    raw.write_bytes(frames.permute(0, 2, 3, 1).contiguous().numpy().tobytes())
    file = tmp_path / "a.mkv"
    media.ffmpeg(
        "-f rawvideo -pix_fmt rgb24 -s 96x64 -r 29.97 -i", raw, "-c:v libx264 -crf 20 -pix_fmt yuv420p -threads 1", file
    )
    by_command = frames_of(file.read_bytes()).astype(int)
    assert (np.abs(frames_of(data).astype(int) - by_command) <= 2).mean() > 0.99
    facts = media.ffprobe(data, "-show_entries stream=codec_name,pix_fmt,r_frame_rate,color_space")["streams"][0]
    assert (facts["codec_name"], facts["pix_fmt"], facts["r_frame_rate"]) == ("h264", "yuv420p", "2997/100")
    assert facts.get("color_space", "unknown") == "unknown"


def test_video_arguments_are_checked(tmp_path: Path) -> None:
    frames = pictures(2)
    make = torchcodec.encoders.VideoEncoder
    for wrong in (5, frames[0], frames.float()):
        with pytest.raises(ValueError, match="Expected"):
            make(wrong, frame_rate=5)
    with pytest.raises(ValueError, match="must be > 0"):
        make(frames, frame_rate=0)
    with pytest.raises(RuntimeError, match="must have 3 channels"):
        make(frames[:, :2], frame_rate=5).to_tensor("mp4")
    encoder = make(frames, frame_rate=5)
    for options, words in (
        ({"codec": "nope"}, "Video codec nope not found"),
        ({"pixel_format": "nope"}, "Unknown pixel format"),
        ({"pixel_format": "rgb565", "codec": "libx264"}, "is not supported by the"),
        ({"preset": "nope", "codec": "libx264"}, "Invalid argument"),
    ):
        with pytest.raises(RuntimeError, match=words):
            encoder.to_tensor("mp4", **options)
    with pytest.raises(RuntimeError, match="check the desired extension"):
        encoder.to_file(tmp_path / "a.nope")
    with pytest.raises(RuntimeError, match="Check the desired format"):
        encoder.to_tensor("nope")
    with pytest.raises(RuntimeError, match="make sure it's a valid path"):
        encoder.to_file(tmp_path / "none/a.mp4")
    with pytest.raises(RuntimeError):
        make(frames[:, :, :63], frame_rate=5).to_tensor("mp4", codec="libx264", pixel_format="yuv420p")


@pytest.mark.parametrize(("format", "bound"), [("wav", 1e-4), ("flac", 1e-6)])
def test_samples_come_back(format: str, bound: float, tmp_path: Path) -> None:
    samples = tone(2)
    encoder = torchcodec.encoders.AudioEncoder(samples, sample_rate=16000)
    encoder.to_file(tmp_path / f"a.{format}")
    buffer = io.BytesIO()
    encoder.to_file_like(buffer, format=format)
    for data in ((tmp_path / f"a.{format}").read_bytes(), bytes(encoder.to_tensor(format).numpy()), buffer.getvalue()):
        found = np.frombuffer(media.ffmpeg("-i - -f f32le -", stdin=data), np.float32).reshape(-1, 2).T
        assert found.shape == (2, 16000)
        assert np.abs(found - samples.numpy()).max() < bound
    other = encoder.to_tensor("wav", num_channels=1, sample_rate=8000)
    facts = media.ffprobe(bytes(other.numpy()), "-show_entries stream=sample_rate,channels,codec_name")["streams"][0]
    assert (facts["sample_rate"], facts["channels"], facts["codec_name"]) == ("8000", 1, "pcm_s16le")
    mono = torchcodec.encoders.AudioEncoder(samples[0], sample_rate=16000).to_tensor("wav")
    assert media.ffprobe(bytes(mono.numpy()), "-show_entries stream=channels")["streams"][0]["channels"] == 1


def test_audio_arguments_are_checked() -> None:
    make = torchcodec.encoders.AudioEncoder
    for wrong in (5, tone().double(), tone()[None]):
        with pytest.raises(ValueError, match="Expected"):
            make(wrong, sample_rate=16000)
    encoder = make(tone(), sample_rate=32000)
    with pytest.raises(RuntimeError, match="bit_rate=-1 must be >= 0"):
        encoder.to_tensor("mp3", bit_rate=-1)
    with pytest.raises(RuntimeError, match="44100"):
        encoder.to_tensor("mp3", sample_rate=7)
    for options, words in (
        ({"sample_rate": 7}, "invalid sample rate=7"),
        ({"num_channels": 3}, r"number of channels \(3\) is not supported"),
    ):
        with pytest.raises(RuntimeError, match=words):
            encoder.to_tensor("mp3", **options)
    with pytest.raises(RuntimeError, match="Trying to encode 10 channels, but FFmpeg only supports"):
        make(torch.zeros(10, 99), sample_rate=8000).to_tensor("wav")


def test_streams_of_one_file_follow_their_order() -> None:
    encoder = torchcodec.encoders.Encoder()
    with pytest.raises(RuntimeError, match="before open"):
        encoder.open_file("a.mp4")
    video = encoder.add_video(height=64, width=96, frame_rate=10)
    with pytest.raises(RuntimeError, match="Call open"):
        video.add_frames(pictures())
    audio = encoder.add_audio(sample_rate=16000, num_channels=1)
    file = io.BytesIO()
    with encoder.open_file_like(file, format="mp4") as opened:
        assert opened is encoder
        with pytest.raises(RuntimeError, match="open"):
            encoder.open_file("b.mp4")
        video.add_frames(pictures()[:3])
        audio.add_samples(tone()[:, :8000])
        video.add_frames(pictures()[3:])
        audio.add_samples(tone()[:, 8000:])
        with pytest.raises(RuntimeError, match="same dimensions"):
            video.add_frames(pictures()[:, :, :32])
    encoder.close()
    with pytest.raises(RuntimeError, match="close"):
        video.add_frames(pictures())
    kinds = [
        each["codec_type"] for each in media.ffprobe(file.getvalue(), "-show_entries stream=codec_type")["streams"]
    ]
    assert sorted(kinds) == ["audio", "video"]
    assert len(frames_of(file.getvalue())) == 8


def test_file_likes_need_their_methods() -> None:
    class Writes:
        def write(self, data: bytes) -> int:
            return len(data)

    encoder = torchcodec.encoders.VideoEncoder(pictures(2), frame_rate=5)
    with pytest.raises(RuntimeError, match="must implement a seek method"):
        encoder.to_file_like(Writes(), "mp4")
    with pytest.raises(RuntimeError, match="must implement a write method"):
        encoder.to_file_like(object(), "mp4")


def test_a_fragmented_file_is_read_although_it_is_cut() -> None:
    options = {"movflags": "frag_keyframe+empty_moov", "g": 2}
    data = torchcodec.encoders.VideoEncoder(pictures(20), frame_rate=10).to_tensor("mp4", extra_options=options)
    found = media.ffmpeg("-i - -f framemd5 -", stdin=bytes(data.numpy())[: int(len(data) * 0.7)])
    assert found.count(b"\n0,") >= 5


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"crf": -10}, r"crf=-10 is out of valid range"),
        ({"extra_options": {"qp": ""}}, r"Option qp expects a numeric value but got ''"),
        ({"extra_options": {"tune": "nope"}}, r"avcodec_open2 failed: Invalid argument"),
        ({"pixel_format": "nope"}, r"Unknown pixel format: nope[\s\S]*Supported pixel formats.*yuv420p"),
        ({"pixel_format": "rgb24"}, r"pixel format rgb24 is not supported[\s\S]*Supported pixel formats.*yuv420p"),
    ],
)
def test_refusals_are_in_the_words_that_callers_look_for(options: dict[str, Any], words: str) -> None:
    encoder = torchcodec.encoders.VideoEncoder(pictures(2), frame_rate=5)
    with pytest.raises(RuntimeError, match=words):
        encoder.to_tensor("mp4", codec="libx264", **options)


def test_an_encoder_without_crf_or_preset_ignores_them() -> None:
    encoder = torchcodec.encoders.VideoEncoder(pictures(), frame_rate=10)
    plain = encoder.to_tensor("avi")
    assert torch.equal(encoder.to_tensor("avi", crf=3, preset="fast"), plain)


@pytest.mark.skipif(ORIGINALS, reason="torchcodec 0.17.0 marks the stream and does not convert")
@pytest.mark.parametrize("tags", [{"colorspace": "bt709"}, {"color_range": "pc"}])
def test_samples_are_of_the_colors_that_the_stream_is_marked_with(tags: dict[str, str]) -> None:
    frames = torch.zeros((3, 3, 64, 96), dtype=torch.uint8)
    frames[:, 0], frames[:, 1], frames[:, 2] = 0x40, 0x80, 0x60
    data = torchcodec.encoders.VideoEncoder(frames, frame_rate=10).to_tensor(
        "mp4", codec="libx264", crf=0, pixel_format="yuv444p", extra_options=tags
    )
    found = frames_of(bytes(data.numpy()), "-vf scale=in_color_matrix=auto")
    assert np.abs(found.astype(int) - frames.numpy()).max() <= 3


def test_a_fragmented_file_is_read_while_it_grows(tmp_path: Path) -> None:
    file = tmp_path / "a.mp4"
    encoder = torchcodec.encoders.Encoder()
    options = {
        "movflags": "+frag_every_frame+empty_moov", "flush_packets": "1", "threads": "1", "tune": "zerolatency",
    }  # fmt: skip
    video = encoder.add_video(height=64, width=96, frame_rate=10, codec="libx264", extra_options=options)
    with encoder.open_file(file):
        video.add_frames(pictures(5))
        assert len(frames_of(file.read_bytes())) >= 3
    assert len(frames_of(file.read_bytes())) == 5


@pytest.mark.skipif(ORIGINALS, reason="torchcodec takes them without a word")
def test_unknown_options_are_errors() -> None:
    with pytest.raises(RuntimeError, match="nope"):
        torchcodec.encoders.VideoEncoder(pictures(2), frame_rate=5).to_tensor("mp4", extra_options={"nope": 1})
