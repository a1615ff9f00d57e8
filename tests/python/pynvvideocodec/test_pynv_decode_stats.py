# SPDX-License-Identifier: Apache-2.0
"""enableDecodeStats: quantizers, types and vectors of 16x16 blocks, against the encoder's settings and PyAV."""

from __future__ import annotations

import ctypes
import struct
import subprocess
from pathlib import Path
from typing import Any

import av
import PyNvVideoCodec as nvc
import pytest

NAMES = ["qp_luma", "cu_type", "mv0_x", "mv0_y", "mv1_x", "mv1_y"]
INTRA, INTER, SKIPPED = range(3)


def encode(path: Path, source: str, options: str, codec: str = "libx264") -> Path:
    """A clip of 25 frames of 320x192, 20 x 12 blocks."""
    command = [
        "ffmpeg",
        "-nostdin",
        "-v",
        "error",
        "-f",
        "lavfi",
        "-i",
        source,
        "-frames:v",
        "25",
        "-pix_fmt",
        "yuv420p",
    ]
    subprocess.run([*command, "-c:v", codec, *options.split(), str(path)], check=True)
    return path


def decoded(path: Path, **options: Any) -> list[Any]:
    demuxer = nvc.CreateDemuxer(str(path))
    decoder = nvc.CreateDecoder(codec=demuxer.GetNvCodecId(), enableDecodeStats=1, **options)
    return [frame for packet in demuxer for frame in decoder.Decode(packet)]


@pytest.fixture(scope="module")
def clip(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """B pictures, all types of blocks but PCM, one quantizer."""
    options = "-preset medium -bf 2 -x264-params qp=31:ipratio=1:pbratio=1"
    return encode(tmp_path_factory.mktemp("stats") / "clip.mp4", "testsrc2=s=320x192:r=25", options)


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
