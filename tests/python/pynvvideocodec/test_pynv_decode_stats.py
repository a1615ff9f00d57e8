# SPDX-License-Identifier: Apache-2.0
"""What comes beside decoded pictures: statistics of blocks, SEI messages and reports of damage."""

from __future__ import annotations

import ctypes
import logging
import struct
from pathlib import Path
from typing import Any

import av
import media
import numpy as np
import PyNvVideoCodec as nvc
import pytest
from pynv_helpers import decode_all, decode_packets, packets_of

NAMES = ["qp_luma", "cu_type", "mv0_x", "mv0_y", "mv1_x", "mv1_y"]
INTRA, INTER, SKIPPED = range(3)


def decoded(path: Path, **options: Any) -> list[Any]:
    return decode_all(path, enableDecodeStats=1, **options)


@pytest.fixture(scope="module")
def clip(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """25 frames of 20 x 12 blocks: B pictures, all types of blocks but PCM, one quantizer."""
    path = tmp_path_factory.mktemp("stats") / "clip.mp4"
    options = "-pix_fmt yuv420p -c:v libx264 -preset medium -bf 2 -x264-params qp=31:ipratio=1:pbratio=1"
    media.ffmpeg("-f lavfi -i testsrc2=s=320x192:r=25 -frames:v 25", options, path)
    return path


def test_decode_stats_have_the_quantizer_that_the_encoder_was_given(clip: Path) -> None:
    frames = decoded(clip)

    assert len(frames) == 25
    for frame in frames:
        assert frame.ParseDecodeStats()["qp_luma"] == [31] * 240


def test_decode_stats_have_the_vectors_that_another_libavcodec_exports(clip: Path) -> None:
    """A block has vectors of a list in both or in neither; a whole block's are equal."""
    frames = decoded(clip)

    num_compared = 0
    with av.open(str(clip), options={"flags2": "+export_mvs"}) as container:
        container.streams.video[0].codec_context.options = {"flags2": "+export_mvs"}
        for frame, theirs in zip(frames, container.decode(video=0), strict=True):
            stats = frame.ParseDecodeStats()
            vectors = theirs.side_data.get("MOTION_VECTORS")
            for vector in [] if vectors is None else vectors:
                number = vector.dst_y // 16 * 20 + vector.dst_x // 16
                assert stats["cu_type"][number] in (INTER, SKIPPED)
                if (vector.w, vector.h) == (16, 16):
                    which = "mv1" if vector.source > 0 else "mv0"
                    assert stats[f"{which}_x"][number] == vector.motion_x
                    assert stats[f"{which}_y"][number] == vector.motion_y
                    num_compared += 1
            inter = {vector.dst_y // 16 * 20 + vector.dst_x // 16 for vector in vectors or []}
            assert {i for i, kind in enumerate(stats["cu_type"]) if kind in (INTER, SKIPPED)} == inter
    assert num_compared > 1000


def test_raw_decode_stats_have_the_layout_of_the_original(clip: Path) -> None:
    """It was observed: the original, over a driver that answers with known bytes, says what it reads where."""
    frame = decoded(clip)[1]
    stats = frame.ParseDecodeStats()

    raw = bytes(frame.getRawDecodeStats())

    assert frame.decode_stats_size == len(raw) == 32 + 240 * 12
    assert ctypes.string_at(frame.decode_stats_ptr, frame.decode_stats_size) == raw
    assert struct.unpack_from("<8I", raw) == (3, 240, 0, 0, 0, 0, 0, 0)
    for number in range(240):
        qp, kind, _, *vectors = struct.unpack_from("<BBHhhhh", raw, 32 + number * 12)
        assert [qp, kind >> 1 & 7, *vectors] == [stats[name][number] for name in NAMES]


def test_file_decoders_give_the_same_decode_stats_in_any_order(clip: Path) -> None:
    expected = [frame.ParseDecodeStats() for frame in decoded(clip)]

    simple = nvc.SimpleDecoder(str(clip), use_device_memory=False, enableDecodeStats=True)
    threaded = nvc.ThreadedDecoder(str(clip), 8, use_device_memory=False, enableDecodeStats=True)

    assert [simple[i].ParseDecodeStats() for i in (20, 3, 4, 24)] == [expected[i] for i in (20, 3, 4, 24)]
    assert [frame.ParseDecodeStats() for frame in simple] == expected
    assert [frame.ParseDecodeStats() for _ in range(5) for frame in threaded.get_batch_frames(5)] == expected


def test_decode_stats_are_empty_when_they_are_not_requested(clip: Path) -> None:
    frame = nvc.SimpleDecoder(str(clip), use_device_memory=False)[0]

    assert frame.ParseDecodeStats() == {name: [] for name in NAMES}
    assert (frame.decode_stats_ptr, frame.decode_stats_size, frame.getRawDecodeStats()) == (None, 0, [])


UUID = bytes(range(0x30, 0x40))
USER_DATA = nvc.SEI_TYPE.USER_DATA_UNREGISTERED


def encoded(codec: str, path: Path) -> Path:
    """A stream with reordered pictures, each of which says its number in a message of its own."""
    encoder = nvc.CreateEncoder(192, 128, "NV12", True, codec=codec, bf=2, gop=6, fps=25)
    rng = np.random.default_rng(3)
    data = b""
    for number in range(12):
        frame = rng.integers(0, 255, (192, 192), np.uint8).astype(np.uint8)
        message = ({"sei_type": int(USER_DATA)}, list(UUID + bytes([number, 0, 0, 1, 0, 0, 3])))
        data += bytes(encoder.Encode(frame, 0, [message]))
    data += bytes(encoder.EndEncode())
    path.write_bytes(data)
    return path


def payloads(frame: nvc.DecodedFrame) -> list[bytes]:
    return [bytes(data) for facts, data in frame.getSEIMessage() if facts["sei_type"] == USER_DATA]


@pytest.mark.parametrize("codec", ["h264", "hevc"])
def test_messages_come_with_their_own_picture_whatever_the_coding_order(codec: str, tmp_path: Path) -> None:
    stream = encoded(codec, tmp_path / f"clip.{codec}")

    frames = decode_all(stream, enableSEIMessage=1)

    assert len(frames) == 12
    ours = [[data for data in payloads(frame) if data.startswith(UUID)] for frame in frames]
    assert ours == [[UUID + bytes([number, 0, 0, 1, 0, 0, 3])] for number in range(12)]
    assert all(facts["sei_uncompressed"] == 0 for facts, _ in frames[0].getSEIMessage())


@pytest.mark.parametrize("piece", [1400, 10**9])
def test_messages_come_too_where_the_caller_cuts_the_stream(piece: int, tmp_path: Path) -> None:
    data = encoded("h264", tmp_path / "clip.h264").read_bytes()
    decoder = nvc.CreateDecoder(codec=nvc.cudaVideoCodec.H264, enableSEIMessage=True)
    frames = []
    for start in range(0, len(data), piece):
        part = np.frombuffer(data[start : start + piece], np.uint8)
        packet = nvc.PacketData()
        packet.bsl, packet.bsl_data = len(part), part.ctypes.data
        frames += decoder.Decode(packet)
    frames += decoder.Decode(nvc.PacketData())

    assert [payloads(frame)[-1][16] for frame in frames] == list(range(12))


def test_a_mastering_display_and_light_levels_are_structures(tmp_path: Path) -> None:
    stream = tmp_path / "hdr.mp4"
    media.ffmpeg(
        "-f lavfi -i testsrc2=size=192x128:rate=25:duration=0.2", "-c:v", "libx265", "-pix_fmt", "yuv420p10le",
        "-x265-params", "log-level=error:hdr10=1:repeat-headers=1:max-cll=1000,400:"
        "master-display=G(13250,34500)B(7500,3000)R(34000,16000)WP(15635,16450)L(10000000,50)", stream,
    )  # fmt: skip

    first = decode_all(stream, enableSEIMessage=1)[0].getSEIMessage()

    found = {facts["sei_type"]: (facts["sei_uncompressed"], bytes(data)) for facts, data in first}
    flag, data = found[nvc.SEI_TYPE.MASTERING_DISPLAY_COLOR_VOLUME]
    colors = (13250, 7500, 34000, 34500, 3000, 16000, 15635, 16450)  # x of G, B, R, their y, the white point
    assert (flag, struct.unpack("<8H2I", data)) == (1, (*colors, 10000000, 50))
    flag, data = found[nvc.SEI_TYPE.CONTENT_LIGHT_LEVEL_INFO]
    assert (flag, struct.unpack("<2H4x", data)) == (1, (1000, 400))


def test_a_time_code_is_a_structure_that_agrees_with_ffprobe(tmp_path: Path) -> None:
    # Written by hand (H.265 D.2.27): one full time stamp, 01:02:03 and frame 4.
    bits = "01" + "1" + "0" + "00000" + "1" + "0" + "0" + f"{4:09b}" + f"{3:06b}" + f"{2:06b}" + f"{1:05b}" + "00000"
    bits += "1"
    payload = int(bits.ljust(-(-len(bits) // 8) * 8, "0"), 2).to_bytes(-(-len(bits) // 8), "big")
    encoder = nvc.CreateEncoder(192, 128, "NV12", True, codec="hevc", bf=0, fps=25)
    frame = np.full((192, 192), 90, np.uint8)
    data = bytes(encoder.Encode(frame, 0, [({"sei_type": int(nvc.SEI_TYPE.TIME_CODE)}, list(payload))]))
    stream = tmp_path / "clip.hevc"
    stream.write_bytes(data + bytes(encoder.EndEncode()))
    shown = media.ffprobe(stream, "-show_frames")["frames"][0]["side_data_list"]
    assert any("01:02:03" in str(each) for each in shown)

    messages = decode_all(stream, enableSEIMessage=1)[0].getSEIMessage()

    (coded,) = [data for facts, data in messages if facts["sei_type"] == nvc.SEI_TYPE.TIME_CODE]
    # Three clocks of 20 bytes, then how many of them are set.
    number, is_full, seconds, minutes, hours, offset_length = struct.unpack_from("<4xH3xB2x3B3xB", bytes(coded))
    assert (len(coded), coded[60]) == (64, 1)
    assert (hours, minutes, seconds, number) == (1, 2, 3, 4)
    assert (is_full, offset_length) == (1, 0)


def test_u15_stream_without_a_decodable_picture_raises_at_its_end() -> None:
    garbage = bytearray(b"\0\0\1\x65" + b"\xff" * 500 + b"\0\0\1\x65" + b"\xaa" * 500)
    packet = nvc.PacketData()
    packet.bsl, packet.bsl_data = len(garbage), ctypes.addressof(ctypes.c_char.from_buffer(garbage))
    decoder = nvc.CreateDecoder()
    assert decoder.Decode(packet) == []

    with pytest.raises(nvc.PyNvVCException, match="no frame of this h264 stream could be decoded"):
        decoder.Decode(nvc.PacketData())

    assert len(decode_packets(decoder, packets_of("h264_bframes.mp4"))) == 50


def test_damage_is_logged_and_listed(caplog: pytest.LogCaptureFixture) -> None:
    demuxer = nvc.CreateDemuxer(str(media.generated("flipped.ts")))
    decoder = nvc.CreateDecoder(codec=demuxer.GetNvCodecId())

    with caplog.at_level(logging.WARNING, logger="PyNvVideoCodec"):
        frames = decode_packets(decoder, list(demuxer))

    assert len(frames) >= 40
    assert len(decoder.issues) >= 1
    assert "packets were damaged" in caplog.text
