# SPDX-License-Identifier: Apache-2.0
"""Integers near and past the ends of what C++ holds: each is accepted for what it is, or named in a ValueError or an
IndexError. None is cut to its lower bits, and none is a matter of "incompatible function arguments"."""

from __future__ import annotations

import io
from collections.abc import Callable
from typing import Any

import numpy as np
import PyNvVideoCodec as nvc
import pytest
import tricodec
import tricodec.io
from media import generated

CLIP = "h264_bframes.mp4"
VALUES = [2**31, 2**32 + 1, 2**63 - 1, 2**63, 10**30, -(2**31) - 1, -(2**63) - 1, -(10**30)]
ACCEPTED = (ValueError, IndexError, tricodec.RefusedError)


@pytest.fixture(scope="module")
def reader() -> Any:
    with tricodec.FrameReader(generated(CLIP), device="cpu") as opened:
        yield opened


def picture() -> np.ndarray:
    """One RGB picture."""
    return np.zeros((96, 160, 3), np.uint8)


def encoded(**options: Any) -> list[Any]:
    """The packets of an encoder made with these options."""
    encoder = tricodec.Encoder(160, 96, **{"options": {"preset": "ultrafast"}, **options})
    return [*encoder.encode(picture()), *encoder.encode(picture()), *encoder.flush()]


def written_to(stream: int) -> None:
    """Writes one packet to a stream of that number."""
    muxer = tricodec.Muxer(None, format="matroska")
    muxer.add_stream(tricodec.video.describe_stream("mpeg4", 160, 96, (1, 25)))
    muxer.write(tricodec.Packet(b"\0" * 20, pts=0, dts=0, key=True), stream)


def compressed(**options: Any) -> Any:
    """Bytes through a codec of the CPU and back."""
    codec = tricodec.Codec(**{"algorithm": "LZ4", "device": "cpu", **options})
    return np.asarray(codec.decode(codec.encode(np.arange(100, dtype=np.uint8)))).tolist()


def stream_reader(**options: Any) -> Any:
    """A StreamReader with one output of pictures."""
    opened = tricodec.io.StreamReader(generated(CLIP), arrays="numpy")
    opened.add_basic_video_stream(**{"frames_per_chunk": 10, **options})
    return opened


def stream_writer(**options: Any) -> Any:
    """A StreamWriter with one stream of pictures."""
    writer = tricodec.io.StreamWriter(io.BytesIO(), format="matroska")
    writer.add_video_stream(**{"frame_rate": 25, "width": 160, "height": 96, "encoder": "mpeg4", **options})
    return writer


CALLS: dict[str, Callable[[Any, int], Any]] = {
"reader[n]": lambda reader, n: reader[n],
"reader.batch": lambda reader, n: reader.batch([n]),
"reader.select start": lambda reader, n: reader.select(start=n),
"FrameReader stream_index": lambda _, n: tricodec.FrameReader(generated(CLIP), stream_index=n),
"decode_video count": lambda _, n: tricodec.decode_video(generated(CLIP), count=n),
"Transform size": lambda _, n: tricodec.Transform(size=(n, 8)),
"Transform crop": lambda reader, n: tricodec.Transform(crop=(n, 0, 8, 8))(reader[0]),
"Packet time_base": lambda _, n: tricodec.Packet(b"x", time_base=(1, n)),
"Muxer.write stream": lambda _, n: written_to(n),
"Encoder width": lambda _, n: tricodec.Encoder(n, 96),
"Encoder gop_size": lambda _, n: encoded(gop_size=n),
"Codec level": lambda _, n: compressed(level=n),
"Codec.decode_range start": lambda _, n: tricodec.Codec(algorithm="LZ4", device="cpu").decode_range(b"", n, 10),
"StreamReader stream_index": lambda _, n: stream_reader(stream_index=n),
"StreamWriter width": lambda _, n: stream_writer(width=n),
"SimpleDecoder[n]": lambda _, n: nvc.CreateSimpleDecoder(str(generated(CLIP)))[n],
}  # fmt: skip


@pytest.mark.parametrize("name", CALLS)
def test_an_integer_out_of_range_is_named(reader: tricodec.FrameReader, name: str) -> None:
    for value in VALUES:
        with pytest.raises(ACCEPTED) as caught:
            CALLS[name](reader, value)

        assert str(value) in str(caught.value)
        assert "incompatible" not in str(caught.value)


@pytest.mark.parametrize("value", VALUES)
@pytest.mark.parametrize("field", ["pts", "dts", "duration"])
def test_a_time_stamp_is_kept_or_named(field: str, value: int) -> None:
    if -(2**63) < value < 2**63 or (field == "duration" and value == -(2**63)):
        assert getattr(tricodec.Packet(b"x", **{field: value}), field) == value
    else:
        with pytest.raises(ValueError, match=str(value)):
            tricodec.Packet(b"x", **{field: value})
