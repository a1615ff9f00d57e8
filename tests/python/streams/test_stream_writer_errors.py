# SPDX-License-Identifier: Apache-2.0
"""tricodec.io.StreamWriter: what it refuses and what it says then, failing outputs, hardware that is not there."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tricodec
from gpu_helpers import has_cuda
from stream_testing import RATE, generate, probe, sine
from tricodec.io import StreamArgumentError, StreamWriter, ffmpeg_utils


@pytest.mark.parametrize("pts", [-0.1, float("nan"), float("inf")])
def test_times_that_are_none_are_refused(pts: float, tmp_path: Path) -> None:
    writer = StreamWriter(tmp_path / "a.wav")
    writer.add_audio_stream(16000, 1)

    with writer.open(), pytest.raises(StreamArgumentError, match="pts"):
        writer.write_audio_chunk(0, sine(16, 1), pts=pts)


@pytest.mark.parametrize(
    ("chunk", "message"),
    [
        (np.zeros((1, 3, 48, 64), np.float32), "Expected Tensor of uint8 type, found float32"),
        (np.zeros((3, 48, 64), np.uint8), "Input Tensor has to be 4D"),
        (np.zeros((1, 3, 64, 48), np.uint8), r"shape \(N, 3, 48, 64\) \(NCHW format\). Found \(1, 3, 64, 48\)"),
        (np.zeros((1, 1, 48, 64), np.uint8), r"Found \(1, 1, 48, 64\)"),
        ("a string", "cannot be encoded"),
        (object(), "must be an array"),
    ],
)
def test_wrong_chunks_are_refused_by_shape_and_type(chunk: Any, message: str, tmp_path: Path) -> None:
    writer = StreamWriter(tmp_path / "a.mp4")
    writer.add_video_stream(30, 64, 48)

    with writer.open():
        with pytest.raises(ValueError, match=message) as raised:
            writer.write_video_chunk(0, chunk)
        writer.write_video_chunk(0, generate(frames=2))

    assert isinstance(raised.value, RuntimeError)
    assert int(probe(tmp_path / "a.mp4")["streams"][0]["nb_read_frames"]) == 2


def test_the_order_of_calls_is_checked(tmp_path: Path) -> None:
    writer = StreamWriter(tmp_path / "a.mp4")
    with pytest.raises(RuntimeError, match="no stream was added"):
        writer.open()
    writer.add_video_stream(30, 64, 48)
    with pytest.raises(RuntimeError, match=r"Output is not opened. Did you call `open` method\?"):
        writer.write_video_chunk(0, generate())
    assert not (tmp_path / "a.mp4").exists()
    with writer.open() as same:
        assert same is writer.open()  # a second time does nothing
        with pytest.raises(RuntimeError, match=r"Output is already opened\. Cannot add a new stream"):
            writer.add_audio_stream(8000, 1)
        with pytest.raises(RuntimeError, match="already opened"):
            writer.set_metadata({})
        with pytest.raises(RuntimeError, match="Stream 0 is not audio type"):
            writer.write_audio_chunk(0, sine(10, 1))
        with pytest.raises(RuntimeError, match="stream 1 was not added"):
            writer.write_video_chunk(1, generate())
        writer.write_video_chunk(0, generate())
        writer.flush()
        with pytest.raises(RuntimeError, match="flushed"):
            writer.write_video_chunk(0, generate())
    writer.close()
    with pytest.raises(RuntimeError, match="closed"):
        writer.open()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"encoder": "libx268"}, "unexpected codec: .*libx268"),
        ({"encoder": "aac"}, "no encoder of video"),
        ({"format": "rgb25"}, "rgb25"),
        ({"format": "yuyv422"}, "yuyv422"),
        ({"encoder_format": "rgb24"}, "encoder_format rgb24 is not accepted by 'libx264'; it accepts yuv420p"),
        ({"encoder_option": {"presett": "fast"}}, "'presett'"),
        ({"encoder_option": {"preset": "hurry"}}, "hurry"),
        ({"filter_desc": "blurr"}, "blurr"),
        ({"filter_desc": "crop=10:10"}, "encoder_width"),
        ({"frame_rate": 0}, "frame_rate"),
        ({"width": 0}, "width"),
        ({"width": 63}, "63"),
        ({"hw_accel": "metal"}, "format|metal"),
    ],
)
def test_arguments_that_are_not_accepted_are_named(arguments: dict[str, Any], message: str, tmp_path: Path) -> None:
    writer = StreamWriter(tmp_path / "a.mp4")

    with pytest.raises(ValueError, match=message):
        writer.add_video_stream(**{"frame_rate": 30, "width": 64, "height": 48, **arguments})

    writer.add_video_stream(30, 64, 48)  # what failed has added nothing
    with writer.open():
        writer.write_video_chunk(0, generate())
    assert len(probe(tmp_path / "a.mp4")["streams"]) == 1


def test_muxer_options_take_effect_and_unknown_ones_are_named(tmp_path: Path) -> None:
    writer = StreamWriter(tmp_path / "a.mp4")
    writer.add_video_stream(30, 64, 48)
    with pytest.raises(ValueError, match="nonsense"):
        writer.open({"nonsense": "1"})

    class Pipe:
        def __init__(self) -> None:
            self.data = b""

        def write(self, data: bytes) -> int:
            self.data += data
            return len(data)

    pipe = Pipe()
    fragmented = StreamWriter(pipe, format="mp4")
    fragmented.add_video_stream(30, 64, 48)
    with fragmented.open({"movflags": "frag_keyframe+empty_moov"}):
        fragmented.write_video_chunk(0, generate())
    assert pipe.data.count(b"moof") == 1
    assert int(probe(pipe.data)["streams"][0]["nb_read_frames"]) == 10
    unseekable = StreamWriter(Pipe(), format="mp4")
    unseekable.add_video_stream(30, 64, 48)
    with pytest.raises(tricodec.UnsupportedError, match="cannot seek"):
        unseekable.open()


def test_destinations_that_are_not_accepted_are_named(tmp_path: Path) -> None:
    with pytest.raises(RuntimeError, match="`format` must be provided when the input is file-like object"):
        StreamWriter(io.BytesIO())
    with pytest.raises(ValueError, match=r"a\.xyz"):
        StreamWriter(tmp_path / "a.xyz")
    with pytest.raises(tricodec.RefusedError, match="rtmp"):
        StreamWriter("rtmp://localhost/live", format="flv")
    absent = StreamWriter(tmp_path / "absent" / "a.mp4")
    absent.add_video_stream(30, 64, 48)
    with pytest.raises(FileNotFoundError, match="absent"):
        absent.open()


def test_an_error_inside_the_block_is_raised_and_the_output_given_up(tmp_path: Path) -> None:
    class Failing(io.BytesIO):
        broken = False

        def write(self, data: Any) -> int:
            if self.broken:
                raise OSError("the disk is full")
            return super().write(data)

    file = Failing()
    writer = StreamWriter(file, format="mp4")
    writer.add_video_stream(30, 64, 48)

    def fail(error: str) -> None:
        with writer.open():
            writer.write_video_chunk(0, generate())
            file.broken = True
            raise KeyError(error)

    with pytest.raises(KeyError, match="mine"):
        fail("mine")

    whole = StreamWriter(tmp_path / "a.mp4")
    whole.add_video_stream(30, 64, 48)
    writer, file = whole, Failing()
    with pytest.raises(KeyError, match="later"):
        fail("later")
    assert list(tmp_path.iterdir()) == []


def test_a_trailer_that_cannot_be_written_is_reported() -> None:
    class Full(io.BytesIO):
        broken = False

        def write(self, data: Any) -> int:
            if self.broken:
                raise OSError("the disk is full")
            return super().write(data)

    file = Full()
    writer = StreamWriter(file, format="mp4")
    writer.add_video_stream(30, 64, 48)

    writer.open()
    writer.write_video_chunk(0, generate())
    file.broken = True

    with pytest.raises(OSError, match="the disk is full"):
        writer.__exit__(None, None, None)


@pytest.mark.needs_torch
def test_torch_tensors_are_written_as_arrays_are() -> None:
    import torch

    video, audio = generate(), sine(1600, 2)
    outputs = []
    for convert in (lambda array: array, torch.from_numpy):
        file = io.BytesIO()
        writer = StreamWriter(file, format="nut")
        writer.add_video_stream(RATE, 64, 48, encoder="rawvideo")
        writer.add_audio_stream(16000, 2, encoder="pcm_f32le")
        with writer.open({"fflags": "bitexact"}):
            writer.write_video_chunk(0, convert(video))
            writer.write_audio_chunk(1, convert(audio))
        outputs.append(file.getvalue())

    assert outputs[0] == outputs[1]


def test_hardware_that_is_not_there_is_named_when_the_stream_is_added(tmp_path: Path) -> None:
    if has_cuda():
        pytest.skip("there is a GPU")
    writer = StreamWriter(tmp_path / "a.mp4")

    if "h264_nvenc" in ffmpeg_utils.get_video_encoders():
        with pytest.raises(tricodec.UnsupportedError, match=r"h264_nvenc.*libcuda\.so\.1.*libx264"):
            writer.add_video_stream(30, 256, 256, encoder="h264_nvenc")
    with pytest.raises(tricodec.DeviceError, match="cuda:0"):
        writer.add_video_stream(30, 256, 256, "yuv444p", hw_accel="cuda:0")


def test_conversion_of_frames_on_a_gpu_is_refused(tmp_path: Path) -> None:
    writer = StreamWriter(tmp_path / "a.mp4")

    with pytest.raises(StreamArgumentError, match="encoder_format"):
        writer.add_video_stream(30, 256, 256, "yuv444p", encoder_format="yuv420p", hw_accel="cuda:0")
