# SPDX-License-Identifier: Apache-2.0
"""Integers near and past the ends of what C++ holds: each is accepted for what it is, or named in a ValueError or an
IndexError. None is cut to its lower bits, and none is a matter of "incompatible function arguments"."""

from __future__ import annotations

import io
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import PyNvVideoCodec as nvc
import pytest
import tricodec
import tricodec.io
from dali_testing import PerSample, decode
from media import ffmpeg_framemd5, generated
from programs import limits
from tricodec.cli import main
from tricodec.compress import DecompressConfig

CLIP = "h264_bframes.mp4"
NUM_FRAMES = 50
VALUES = [
    2**31, 2**32, 2**32 + 1, 2**62, 2**63 - 1, 2**63, 2**64, 2**64 + 1, 10**30,
    -(2**31) - 1, -(2**32), -(2**63) + 1, -(2**63), -(2**63) - 1, -(2**64), -(10**30),
]  # fmt: skip
ACCEPTED = (ValueError, IndexError, tricodec.RefusedError)


@pytest.fixture(scope="module")
def reader() -> Any:
    with tricodec.FrameReader(generated(CLIP), device="cpu") as opened:
        yield opened


def numbers(frames: Any) -> list[int]:
    """Of frames, which they are."""
    return [frame.index for frame in frames]


def picture() -> np.ndarray:
    """One RGB picture."""
    return np.zeros((96, 160, 3), np.uint8)


def encoded(**options: Any) -> list[Any]:
    """The packets of an encoder made with these words."""
    encoder = tricodec.Encoder(160, 96, **{"options": {"preset": "ultrafast"}, **options})
    return [*encoder.encode(picture()), *encoder.encode(picture()), *encoder.flush()]


def encoded_at(pts: int) -> list[int | None]:
    """The times of the packets of a picture at `pts` and of the next."""
    encoder = tricodec.Encoder(160, 96)
    packets = [*encoder.encode(picture(), pts=pts), *encoder.encode(picture()), *encoder.flush()]
    return [packet.pts for packet in packets]


def muxed(**fields: Any) -> int:
    """Writes one packet with these times to memory."""
    stream = tricodec.describe_stream("mpeg4", 160, 96, (1, 90000))
    muxer = tricodec.Muxer(None, format="mp4")
    number = muxer.add_stream(stream)
    packet = tricodec.Packet(b"\0" * 20, key=True, time_base=(1, 90000), **{"pts": 0, "dts": 0, **fields})
    muxer.write(packet, number)
    muxer.finish()
    return len(muxer.getvalue())


def written_to(stream: int) -> None:
    """Writes one packet to a stream of that number."""
    muxer = tricodec.Muxer(None, format="matroska")
    muxer.add_stream(tricodec.describe_stream("mpeg4", 160, 96, (1, 25)))
    muxer.write(tricodec.Packet(b"\0" * 20, pts=0, dts=0, key=True), stream)


def limited(value: int) -> int:
    """What the limit is after it was set so."""
    with limits(max_packets=value):
        return tricodec.get_limits().max_packets


def compressed(**options: Any) -> Any:
    """Bytes through a codec of the CPU and back."""
    codec = tricodec.Codec(**{"algorithm": "LZ4", "device": "cpu", **options})
    return np.asarray(codec.decode(codec.encode(np.arange(100, dtype=np.uint8)))).tolist()


def range_of(start: int, stop: int) -> list[int]:
    """A part of compressed data."""
    codec = tricodec.Codec(algorithm="LZ4", device="cpu")
    return np.asarray(codec.decode_range(codec.encode(np.arange(100, dtype=np.uint8)), start, stop)).tolist()


def expanded_to(size: int) -> Any:
    """Decompresses what is said to have that size."""
    codec = tricodec.Codec(algorithm="LZ4", device="cpu")
    return codec.decode(codec.encode(np.arange(100, dtype=np.uint8)), decompression_config=DecompressConfig((size,)))


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


def written_chunk(stream: int) -> None:
    """Writes a picture to the stream of that number."""
    with stream_writer().open() as writer:
        writer.write_video_chunk(0, np.zeros((1, 3, 96, 160), np.uint8))
        writer.write_video_chunk(stream, np.zeros((1, 3, 96, 160), np.uint8))


def video_of(**options: Any) -> bytes:
    """Two pictures as a file."""
    return tricodec.encode_video(np.zeros((2, 96, 160, 3), np.uint8), preset="ultrafast", **options)


def demuxed(call: Callable[[tricodec.Demuxer], None]) -> int | None:
    """The time of the packet that comes after a seek."""
    with tricodec.Demuxer(generated(CLIP)) as demuxer:
        call(demuxer)
        packet = demuxer.read()
        return None if packet is None else packet.pts


CALLS: dict[str, Callable[[Any, int], Any]] = {
    "reader[n]": lambda reader, n: reader[n],
    "reader[[n]]": lambda reader, n: reader[[0, n]],
    "reader[(n,)]": lambda reader, n: reader[(n,)],
    "reader.frames": lambda reader, n: reader.frames([n]),
    "reader.batch": lambda reader, n: reader.batch([n]),
    "reader.select start": lambda reader, n: reader.select(start=n),
    "reader.select count": lambda reader, n: reader.select(count=n),
    "reader.iterate start": lambda reader, n: next(reader.iterate(start=n)),
    "reader.batches start": lambda reader, n: next(reader.batches(4, start=n)),
    "FrameReader stream_index": lambda _, n: tricodec.FrameReader(generated(CLIP), stream_index=n),
    "decode_video start": lambda _, n: tricodec.decode_video(generated(CLIP), start=n),
    "decode_video count": lambda _, n: tricodec.decode_video(generated(CLIP), count=n),
    "decode_video stream_index": lambda _, n: tricodec.decode_video(generated(CLIP), stream_index=n),
    "Demuxer stream_index": lambda _, n: tricodec.Demuxer(generated(CLIP), stream_index=n),
    "Transform size": lambda _, n: tricodec.Transform(size=(n, 8)),
    "Transform crop": lambda reader, n: tricodec.Transform(crop=(n, 0, 8, 8))(reader[0]),
    "Transform crop width": lambda reader, n: tricodec.Transform(crop=(0, 0, 8, n))(reader[0]),
    "Packet time_base": lambda _, n: tricodec.Packet(b"x", time_base=(1, n)),
    "Packet time_base Fraction": lambda _, n: tricodec.Packet(b"x", time_base=Fraction(n)),
    "describe_stream width": lambda _, n: tricodec.describe_stream("h264", n, 8, (1, 25)),
    "Muxer.write stream": lambda _, n: written_to(n),
    "Encoder width": lambda _, n: tricodec.Encoder(n, 96),
    "Encoder rotation": lambda _, n: encoded(rotation=n),
    "Encoder gop_size": lambda _, n: encoded(gop_size=n),
    "Encoder num_b_frames": lambda _, n: encoded(num_b_frames=n),
    "Encoder num_threads": lambda _, n: encoded(num_threads=n),
    "Encoder frame_rate": lambda _, n: encoded(frame_rate=n),
    "Encoder time_base": lambda _, n: encoded(time_base=(1, n)),
    "encode_video gop_size": lambda _, n: video_of(gop_size=n),
    "Codec level": lambda _, n: compressed(level=n),
    "Codec algorithm_type": lambda _, n: compressed(algorithm="Deflate", algorithm_type=n),
    "Codec num_rles": lambda _, n: compressed(algorithm="Cascaded", num_rles=n),
    "Codec num_deltas": lambda _, n: compressed(algorithm="Cascaded", num_deltas=n),
    "Codec num_threads": lambda _, n: compressed(num_threads=n),
    "Codec.decode_range start": lambda _, n: range_of(n, 10),
    "Codec.decode_range stop": lambda _, n: range_of(0, n),
    "Codec.decode size": lambda _, n: expanded_to(n),
    "StreamReader buffer_size": lambda _, n: tricodec.io.StreamReader(generated(CLIP), buffer_size=n),
    "StreamReader stream_index": lambda _, n: stream_reader(stream_index=n),
    "StreamReader.get_src_stream_info": lambda _, n: stream_reader().get_src_stream_info(n),
    "StreamReader.get_out_stream_info": lambda _, n: stream_reader().get_out_stream_info(n),
    "StreamReader.remove_stream": lambda _, n: stream_reader().remove_stream(n),
    "StreamWriter width": lambda _, n: stream_writer(width=n),
    "StreamWriter.write_video_chunk": lambda _, n: written_chunk(n),
    "SimpleDecoder[n]": lambda _, n: nvc.CreateSimpleDecoder(str(generated(CLIP)))[n],
    "SimpleDecoder.seek_to_index": lambda _, n: nvc.CreateSimpleDecoder(str(generated(CLIP))).seek_to_index(n),
    "CreateEncoder width": lambda _, n: nvc.CreateEncoder(n, 96, "NV12", True),
}  # fmt: skip


@pytest.mark.parametrize("name", CALLS)
def test_an_integer_out_of_range_is_named(reader: tricodec.FrameReader, name: str) -> None:
    for value in VALUES:
        with pytest.raises(ACCEPTED) as caught:
            CALLS[name](reader, value)

        assert str(value) in str(caught.value)
        assert "incompatible" not in str(caught.value)


@pytest.mark.parametrize("value", VALUES, ids=lambda value: f"{value:#x}")
def test_slices_clip_as_those_of_a_list(reader: tricodec.FrameReader, value: int) -> None:
    frames = list(range(NUM_FRAMES))
    for where in (
        slice(value, None),
        slice(None, value),
        slice(40, value),
        slice(None, None, value),
        slice(3, None, value),
    ):
        assert numbers(reader[where]) == frames[where], where


@pytest.mark.parametrize("value", [10**12, 2**63, 10**30])
def test_a_range_past_the_end_is_an_index_error_at_once(reader: tricodec.FrameReader, value: int) -> None:
    for where in (range(value), range(-value, 0), range(0, value, 10**6)):
        with pytest.raises(IndexError, match=r"frame -?\d+ was asked for"):
            reader[where]
    assert reader[range(value, 0)] == []


@pytest.mark.parametrize("value", [2**31, 2**62, 2**63 - 1])
def test_a_large_stride_or_count_means_what_it_says(reader: tricodec.FrameReader, value: int) -> None:
    for start in (0, 5, -1, 49):
        assert reader.select(start=start, stride=value) == [start % NUM_FRAMES]
        assert numbers(reader.iterate(start=start, stride=value)) == [start % NUM_FRAMES]
        assert numbers(reader.iterate(start=start, count=value)) == list(range(start % NUM_FRAMES, NUM_FRAMES))
        assert [len(batch) for batch in reader.batches(value, start=start, size=(8, 8))] == [
            NUM_FRAMES - start % NUM_FRAMES
        ]
    assert len(list(reader.batches(1, stride=value, count=value, size=(8, 8)))) == 1


@pytest.mark.parametrize("value", [value for value in VALUES if not -(2**63) <= value < 2**63])
@pytest.mark.parametrize("word", ["stride", "count", "batch_size"])
def test_a_stride_count_or_batch_past_64_bits_is_a_value_error(
    reader: tricodec.FrameReader, word: str, value: int
) -> None:
    calls: list[Callable[..., Any]] = [lambda **words: reader.batches(**{"batch_size": 4, **words})]
    if word != "batch_size":
        calls += [reader.select, reader.iterate, lambda **words: tricodec.decode_video(generated(CLIP), **words)]
    for call in calls:
        with pytest.raises(ValueError, match=str(value)):
            call(**{word: value})


@pytest.mark.parametrize("value", VALUES)
def test_a_seek_goes_to_the_nearest_packet_or_names_the_value(value: int) -> None:
    if -(2**63) <= value < 2**63:
        expected = demuxed(lambda demuxer: demuxer.seek(0 if value < 0 else 10**9))
        assert demuxed(lambda demuxer: demuxer.seek(value)) == expected
    else:
        with pytest.raises(ValueError, match=str(value)):
            demuxed(lambda demuxer: demuxer.seek(value))
    if not 0 <= value < 2**63:
        with pytest.raises(ValueError, match=str(value)):
            demuxed(lambda demuxer: demuxer.seek_bytes(value))


@pytest.mark.parametrize("value", VALUES)
@pytest.mark.parametrize("field", ["pts", "dts", "duration"])
def test_a_time_stamp_is_kept_or_named(field: str, value: int) -> None:
    if -(2**63) < value < 2**63 or (field == "duration" and value == -(2**63)):
        assert getattr(tricodec.Packet(b"x", **{field: value}), field) == value
    else:
        with pytest.raises(ValueError, match=str(value)):
            tricodec.Packet(b"x", **{field: value})


@pytest.mark.parametrize("value", [2**62 + 1, 2**63 - 1, -(2**63) + 1])
@pytest.mark.parametrize("field", ["pts", "dts", "duration"])
def test_a_container_refuses_a_time_stamp_that_would_go_round(field: str, value: int) -> None:
    with pytest.raises(ValueError, match=str(value)):
        muxed(**{field: value})


@pytest.mark.parametrize("value", [2**62 + 1, 2**63 - 1, -(2**63) + 1, 2**63, -(2**63)])
def test_an_encoder_refuses_a_time_stamp_that_would_go_round(value: int) -> None:
    with pytest.raises(ValueError, match=str(value)):
        encoded_at(value)


@pytest.mark.parametrize("value", VALUES)
def test_a_limit_is_set_or_named(value: int) -> None:
    if 0 < value < 2**63:
        assert limited(value) == value
    else:
        with pytest.raises(ValueError, match=str(value)):
            limited(value)


@pytest.mark.parametrize("value", VALUES)
def test_a_bit_rate_or_a_chunk_is_taken_or_named(value: int) -> None:
    if 0 <= value < 2**32:
        assert len(encoded(bit_rate=value)) == 2
    else:
        with pytest.raises(ValueError, match=str(value)):
            encoded(bit_rate=value)
    if 0 <= value <= 2**32:
        assert compressed(uncomp_chunk_size=value) == list(range(100))
    else:
        with pytest.raises(ValueError, match=str(value)):
            compressed(uncomp_chunk_size=value)


@pytest.mark.parametrize("value", VALUES)
def test_a_number_of_workers_is_taken_or_named(value: int) -> None:
    with pytest.raises(ValueError, match=str(value)):
        tricodec.FrameReader(generated(CLIP), num_workers=value)
    with pytest.raises(ValueError, match=str(value)):
        tricodec.Decoder("h264", num_threads=value)


def test_the_most_workers_that_there_are_decode_the_same_frames() -> None:
    with tricodec.FrameReader(generated(CLIP), device="cpu", num_workers=2**31 - 1) as reader:
        assert [frame.md5() for frame in reader.frames(range(NUM_FRAMES))] == ffmpeg_framemd5(generated(CLIP))


@pytest.mark.parametrize("value", [value for value in VALUES if value > 0])
def test_chunks_of_a_large_size_hold_everything(value: int) -> None:
    for word in ("frames_per_chunk", "buffer_chunk_size"):
        if value < 2**63:
            opened = stream_reader(**{word: value})
            opened.process_all_packets()
            num_frames = 0
            while (chunk := opened.pop_chunks()[0]) is not None:
                num_frames += len(chunk)
            assert num_frames == NUM_FRAMES
        else:
            with pytest.raises(ValueError, match=str(value)):
                stream_reader(**{word: value})


@pytest.mark.parametrize("value", [2**62, 2**63, 10**30, 1e300])
def test_a_time_that_no_time_stamp_holds_is_a_value_error_of_a_stream_reader(value: float) -> None:
    with pytest.raises(ValueError, match="timestamp"):
        stream_reader().seek(value)


@pytest.mark.parametrize("value", [2**62, 2**63 - 1, 2**63, 10**30])
def test_a_bound_of_compressed_bytes_is_not_wrapped(value: int) -> None:
    for algorithm in ("LZ4", "Snappy", "Zstd", "Deflate", "GDeflate", "Cascaded", "Bitcomp"):
        codec = tricodec.Codec(algorithm=algorithm, device="cpu")
        with pytest.raises(ACCEPTED, match=str(value)):
            codec.compression_config(value)


@pytest.mark.parametrize("value", [-5, -2, 1, 7])
def test_a_stream_that_is_not_there_is_refused_everywhere(value: int) -> None:
    opens: list[Callable[[], Any]] = [
        lambda: tricodec.FrameReader(generated(CLIP), stream_index=value),
        lambda: tricodec.Demuxer(generated(CLIP), stream_index=value),
        lambda: tricodec.decode_video(generated(CLIP), stream_index=value),
        lambda: stream_reader(stream_index=value),
    ]
    for opened in opens:
        with pytest.raises(ValueError, match=rf"stream_index.*{value}"):
            opened()


def test_a_stream_that_is_no_video_is_told() -> None:
    clip = generated("h264_audio.mp4")
    audio = next(stream.index for stream in tricodec.probe(clip).streams if stream.kind == "audio")

    with pytest.raises(ValueError, match="only video streams have frames"):
        tricodec.FrameReader(clip, stream_index=audio)
    assert tricodec.Demuxer(clip, stream_index=audio).stream.kind == "audio"
    assert tricodec.Demuxer(clip, stream_index=-1).stream.kind == "video"


@pytest.mark.needs_dali
@pytest.mark.parametrize("word", ["start", "stride", "count", "stream_index", "size", "crop"])
@pytest.mark.parametrize("value", [2**31, 2**32, 2**32 + 1, 2**63 - 1, -(2**32), -(2**63)])
def test_a_dali_argument_is_not_cut_to_32_bits(word: str, value: int) -> None:
    if word == "stride" and value > 0:
        assert [len(sample.frames) for sample in decode([generated(CLIP)], stride=value)] == [1]
        return
    given: Any = {"size": [value, 8], "crop": [0, 0, 8, value]}.get(word, value)

    with pytest.raises((ValueError, IndexError, RuntimeError, OverflowError), match=str(value)):
        decode([generated(CLIP)], **{word: given})


@pytest.mark.needs_dali
@pytest.mark.parametrize("word", ["start", "count", "size", "crop"])
@pytest.mark.parametrize("value", [2**31, 2**32 + 1, 2**63 - 1, -(2**63)])
def test_a_dali_argument_of_one_sample_costs_that_sample(word: str, value: int) -> None:
    good: Any = {"start": 2, "count": 3, "size": [8, 8], "crop": [0, 0, 8, 8]}[word]
    bad: Any = {"size": [value, 8], "crop": [0, 0, 8, value]}.get(word, value)

    samples = decode(
        [generated(CLIP)] * 2, on_error="empty", **{word: PerSample([np.int64(good), np.asarray(bad, np.int64)])}
    )

    assert len(samples[0].frames) > 0
    assert len(samples[1].frames) == 0


@pytest.mark.needs_dali
def test_a_dali_stream_index_that_cannot_be_fails_the_pipeline() -> None:
    with pytest.raises((ValueError, RuntimeError), match="stream_index is -5"):
        decode([generated(CLIP)], stream_index=-5, on_error="empty")


@pytest.mark.needs_triton
@pytest.mark.parametrize("value", [value for value in VALUES if not -(2**63) <= value < 2**63])
def test_an_input_of_triton_is_not_cut_to_64_bits(value: int) -> None:
    from tricodec.client._requests import DECODE_OPTIONS, option_tensors

    for word, given in (("start", value), ("stream_index", np.array([value], np.object_)), ("size", (8, value))):
        with pytest.raises(ValueError, match=f"{word} holds {value}"):
            option_tensors({word: given}, DECODE_OPTIONS, "decode_video")


@pytest.mark.parametrize("word", ["--first", "--stream"])
@pytest.mark.parametrize("value", [-5 - NUM_FRAMES, 2**31, 2**63, 10**30])
def test_the_command_line_names_a_number_that_cannot_be(
    word: str, value: int, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["frames", str(generated(CLIP)), f"{word}={value}", "--framemd5"]) != 0
    assert str(value) in capsys.readouterr().err
