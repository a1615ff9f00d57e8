# SPDX-License-Identifier: Apache-2.0
"""tricodec.io.StreamWriter: what it refuses and what it says then, failing outputs, hardware that is not there."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from stream_testing import generate, probe, sine
from tricodec.io import StreamWriter


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
        ({"format": "rgb25"}, "rgb25"),
        ({"encoder_format": "rgb24"}, "encoder_format rgb24 is not accepted by 'libx264'; it accepts yuv420p"),
        ({"encoder_option": {"presett": "fast"}}, "'presett'"),
        ({"filter_desc": "blurr"}, "blurr"),
        ({"frame_rate": 0}, "frame_rate"),
        ({"width": 63}, "63"),
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


class Failing(io.BytesIO):
    broken = False

    def write(self, data: Any) -> int:
        if self.broken:
            raise OSError("the disk is full")
        return super().write(data)


def test_an_error_inside_the_block_is_raised_and_the_output_given_up() -> None:
    file = Failing()
    writer = StreamWriter(file, format="mp4")
    writer.add_video_stream(30, 64, 48)

    def fail() -> None:
        with writer.open():
            writer.write_video_chunk(0, generate())
            file.broken = True
            raise KeyError("mine")

    with pytest.raises(KeyError, match="mine"):
        fail()


def test_a_trailer_that_cannot_be_written_is_reported() -> None:
    file = Failing()
    writer = StreamWriter(file, format="mp4")
    writer.add_video_stream(30, 64, 48)

    writer.open()
    writer.write_video_chunk(0, generate())
    file.broken = True

    with pytest.raises(OSError, match="the disk is full"):
        writer.__exit__(None, None, None)
