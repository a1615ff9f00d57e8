# SPDX-License-Identifier: Apache-2.0
"""The same request gives the same bytes through every front end: Python, DALI, Triton, PyNvVideoCodec."""

from __future__ import annotations

import io
import mmap
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import damaged_clips
import media
import numpy as np
import pytest
import tricodec
from compress_data import ALGORITHMS, available, corpus, whole
from dali_testing import decode, for_dali, operator_pipeline
from tricodec.node.tasks import Tools
from tricodec.triton.serve import Server
from tricodec.triton_backend.models.decode_task import DecodeTask
from tricodec.triton_backend.runtime.settings import Settings

CLIPS = [
    "h264_open_gop.mkv", "h264_edit_list.mp4", "h264_422_10.mkv", "h264_rot90.mp4", "hevc10.mkv", "hevc_open_gop.mkv",
    "vp8.webm", "vp9_odd.webm", "av1.mp4", "mpeg2.ts", "mpeg4.avi", "mjpeg.avi", "full_range.mp4", "h264_raw.h264",
]  # fmt: skip

IMAGENET: dict[str, Any] = {"mean": [0.485, 0.456, 0.406], "std": [0.229, 0.224, 0.225]}

REQUESTS: dict[str, dict[str, Any]] = {
    "every_frame": {},
    "stride": {"start": 3, "stride": 5, "count": 4},
    "past_key_frames": {"stride": 13},
    "from_the_end": {"start": -4},
    "imagenet": {"stride": 9, "size": (96, 80), "dtype": "float32", "layout": "CHW", **IMAGENET},
    "half": {"count": 3, "size": (33, 47), "dtype": "float16", "scale": 2.0},
    "crop": {"count": 2, "crop": (5, 7, 90, 111), "size": (45, 60), "resize": "bicubic"},
    "nearest_bgr": {"count": 2, "size": (50, 60), "resize": "nearest", "color": "bgr", "layout": "CHW"},
    "gray": {"count": 2, "color": "gray", "antialias": False, "size": (40, 40)},
    "yuv": {"count": 2, "color": "yuv", "rotate": False},
    "nearest_chroma": {"count": 2, "chroma": "nearest"},
    "override": {"count": 2, "matrix": "bt2020nc", "range": "full", "unspecified": "bt709"},
    "bfloat16": {"count": 2, "size": (31, 40), "dtype": "bfloat16", "layout": "CHW", "std": 0.25},
    "pairs_of_channels": {"count": 2, "dtype": "bfloat16", "layout": "CHW2"},
    "eight_channels": {"count": 2, "dtype": "float16", "layout": "HWC8"},
    "indices": {"indices": [7, 1, 1, -1], "size": (48, 64)},
    "times": {"times": [0.9, 0.1, 0.1, 0.37], "tolerance_s": 0.1, "size": (48, 64)},
    "on_screen": {"times": [0.3, 0.55], "policy": "on_screen", "size": (48, 64)},
    "fps": {"fps": 7.3, "start_s": 0.21, "end_s": 1.1, "size": (48, 64)},
    "part": {"start_s": 0.3, "end_s": 0.8, "stride": 2, "size": (48, 64)},
    "bounds": {"fps": 20.0, "min_frames": 2, "max_frames": 5, "size": (48, 64)},
    "evenly": {"num_frames": 5, "size": (48, 64)},
    "rule": {"sampling": "centers", "num_frames": 6, "size": (48, 64)},
    "key_frames": {"sampling": "key_frames", "size": (48, 64)},
    "around": {"sampling": "around", "times": [0.2, 0.9], "num_frames": 3, "stride": 2, "size": (48, 64)},
}
SELECTIONS = ("indices", "times", "on_screen", "fps", "part", "bounds", "evenly", "rule", "key_frames", "around")
NOT_OF_DALI = ("bfloat16", "pairs_of_channels", "eight_channels")  # it has no such dtype and no such layout

CASES = [(clip, "imagenet") for clip in CLIPS] + [("h264_bframes.mp4", name) for name in REQUESTS] + [
    ("h264_rot90.mp4", "crop"),
    ("hevc10.mkv", "half"),
    ("h264_open_gop.mkv", "stride"),
] + [("h264_vfr.mkv", name) for name in SELECTIONS]  # fmt: skip


@pytest.fixture(scope="module")
def triton() -> Iterator[Any]:
    from tricodec.triton.client import Client

    models = ["video_decode", "video_stream", "video_encode", "compress", "decompress"]
    with (
        Server(
            models=models, parameters={"*": {"workers": "1"}}, ready_timeout_seconds=180, stop_timeout_seconds=5
        ) as server,
        Client(server.grpc_url) as client,
    ):
        yield client


def by_dali(operator: str, *samples: np.ndarray, **arguments: Any) -> np.ndarray:
    """What an operator makes of one sample of each input."""
    pipe = operator_pipeline(operator, *([sample] for sample in samples), **arguments)
    return np.array(pipe.run()[0].at(0))


def joined(chunks: Iterable[tricodec.DecodedVideo]) -> tricodec.DecodedVideo:
    parts = list(chunks)
    frames, pts = ([getattr(part, name) for part in parts] for name in ("frames", "pts_seconds"))
    return tricodec.DecodedVideo(np.concatenate(frames), np.concatenate(pts))


def decoded_by_dali(path: Path, request: dict[str, Any]) -> tricodec.DecodedVideo:
    (sample,) = decode([path], **for_dali(request))
    return tricodec.DecodedVideo(sample.frames, sample.pts)


@pytest.mark.needs_dali
@pytest.mark.needs_triton
@pytest.mark.parametrize(("clip", "name"), CASES, ids=str)
def test_every_front_end_decodes_to_the_same_bytes(triton: Any, clip: str, name: str) -> None:
    path, request = media.generated(clip), REQUESTS[name]
    expected = tricodec.decode_video(path, **request)
    answers = {
        "Triton": triton.decode_video(path, **request),
        "Triton in chunks": joined(triton.stream_video(path, 3, **request)),
    }
    if name not in NOT_OF_DALI:
        answers["DALI"] = decoded_by_dali(path, request)

    for way, answer in answers.items():
        assert answer.frames.dtype == expected.frames.dtype, way
        assert answer.frames.shape == expected.frames.shape, way
        assert answer.frames.tobytes() == expected.frames.tobytes(), way
        assert answer.pts_seconds.tolist() == expected.pts_seconds.tolist(), way


@pytest.mark.needs_dali
@pytest.mark.parametrize("start", [0, -15])
def test_every_front_end_resolves_a_request_again_where_decoding_shows_other_frames(start: int) -> None:
    clip = damaged_clips.without_frame_15()
    with tricodec.FrameReader(clip, device="cpu") as reader:
        promised = len(reader.select(start=start))
    expected = tricodec.decode_video(clip, device="cpu", num_workers=1, start=start)
    assert len(expected.frames) == (promised - 1 if start == 0 else promised)
    (by_dali,) = decode([clip], start=start)
    answers = {"DALI": (by_dali.frames, by_dali.pts)}
    with DecodeTask({"start": start}).open(clip, Settings(device="cpu"), Tools("cpu", 1)) as (job,):
        memory = mmap.mmap(-1, job.block.total_bytes)
        job.write(memory)
        answers["Triton"] = job.block.places[0].array(memory), job.block.beside[0]

    whole = 15 if start == 0 else 0  # frames before the damage
    for way, (frames, pts) in answers.items():
        assert frames.shape == expected.frames.shape, way
        assert frames[:whole].tobytes() == expected.frames[:whole].tobytes(), way
        assert pts.tolist() == expected.pts_seconds.tolist(), way


# What libx264's mbtree decides depends on memory that it has not written (docs/reference/encoding.md).
SAME = {"mbtree": "0"}

FILES: dict[str, dict[str, Any]] = {
    "h264": {"preset": "fast", "crf": 23.0, "gop_size": 5, "num_b_frames": 2, "frame_rate": 25.0, "options": SAME},
    "h264_rate": {"bit_rate": 250_000, "frame_rate": 29.97, "container": "ts", "options": SAME},
    "hevc": {"codec": "hevc", "container": "mkv", "preset": "ultrafast", "crf": 30.0},
    "av1": {"codec": "av1", "preset": "12", "crf": 40.0},
    "told": {"matrix": "bt709", "range": "full", "fast_start": True, "preset": "ultrafast"},
    "lossless": {"pixel_format": "yuv444p", "preset": "ultrafast", "options": {"qp": "0"}, "fragmented": True},
    "planar": {"layout": "CHW", "color": "bgr", "preset": "ultrafast", "rotation": 180},
}


@pytest.mark.needs_dali
@pytest.mark.needs_triton
@pytest.mark.parametrize("name", FILES)
def test_every_front_end_makes_the_same_file(triton: Any, name: str) -> None:
    words = FILES[name]
    described = {word: words[word] for word in ("layout", "color") if word in words}
    video = tricodec.decode_video(media.generated("h264_vfr.mkv"), count=12, **described)

    expected = tricodec.encode_video(video.frames, video.pts_seconds, device="cpu", **words)

    for_dali = dict(words)
    if "options" in words:
        for_dali["options"] = [f"{name}={value}" for name, value in words["options"].items()]
    assert by_dali("encode_video", video.frames, video.pts_seconds, **for_dali).tobytes() == expected
    assert triton.encode_video(video.frames, video.pts_seconds, **words) == expected
    assert len(tricodec.FrameReader(expected)) == 12


SETTINGS: dict[str, dict[str, Any]] = {name: {"algorithm": name} for name in ALGORITHMS} | {
    "zstd_19": {"algorithm": "Zstd", "level": 19, "uncomp_chunk_size": 1 << 17},
    "lz4_raw": {"algorithm": "LZ4", "bitstream_kind": "RAW"},
    "lz4_12_in_small_chunks": {"algorithm": "LZ4", "level": 12, "uncomp_chunk_size": 4096},
    "gzip_small": {"algorithm": "Gzip", "algorithm_type": 5},
    "lz4_shuffled": {"algorithm": "LZ4", "data_type": "<i4", "bitshuffle_mode": "NVCOMP_BITSHUFFLE_MSB_FIRST"},
    "checked": {"algorithm": "Snappy", "checksum_policy": "COMPUTE_AND_NO_VERIFY"},
}


def by_python(settings: dict[str, Any]) -> tricodec.Codec:
    words = dict(settings)
    if "bitstream_kind" in words:
        words["bitstream_kind"] = tricodec.compress.BitstreamKind[words["bitstream_kind"]]
    if "checksum_policy" in words:
        words["checksum_policy"] = tricodec.compress.ChecksumPolicy[words["checksum_policy"]]
    if "bitshuffle_mode" in words:
        words["bitshuffle_mode"] = tricodec.compress.BitshuffleMode[words["bitshuffle_mode"]]
    return tricodec.Codec(device="cpu", **words)


@pytest.mark.needs_dali
@pytest.mark.needs_triton
@pytest.mark.parametrize("name", SETTINGS)
def test_every_front_end_compresses_to_the_same_bytes_and_reads_them(triton: Any, name: str) -> None:
    settings = SETTINGS[name]
    available(settings["algorithm"])
    data = whole("Cascaded", corpus()["walk"][: 1 << 19])
    array = np.frombuffer(data, "<i4").reshape(-1, 64).copy()

    expected = bytes(by_python(settings).encode(array))
    assert by_dali("compress", array, **settings).tobytes() == expected
    assert triton.compress(array, **settings).tobytes() == expected

    words = ("algorithm", "bitstream_kind", "data_type", "bitshuffle_mode")
    reading = {key: settings[key] for key in words if key in settings}
    packed = np.frombuffer(expected, np.uint8).copy()
    assert by_dali("decompress", packed, trusted=True, **reading).tobytes() == array.tobytes()
    assert triton.decompress(packed, **reading).tobytes() == array.tobytes()


@pytest.mark.needs_dali
@pytest.mark.needs_triton
@pytest.mark.parametrize("dtype", ["|u1", "<f2", "<i8", "|b1"])
def test_every_front_end_writes_the_same_header_and_reads_it(triton: Any, dtype: str) -> None:
    array = np.random.default_rng(8).integers(0, 2, (17, 3, 29)).astype(dtype)
    codec = tricodec.Codec(algorithm="Zstd", device="cpu")

    expected = bytes(codec.encode_npy(array))
    assert by_dali("compress", array, algorithm="Zstd", header=True).tobytes() == expected
    assert triton.compress(array, algorithm="Zstd", header=True).tobytes() == expected

    file = io.BytesIO()
    np.save(file, array)
    packed = np.frombuffer(expected, np.uint8).copy()
    assert bytes(codec.decode(packed)) == file.getvalue()
    for answer in (
        codec.decode_npy(packed), by_dali("decompress", packed, header=True), triton.decompress(packed, header=True)
    ):  # fmt: skip
        assert (answer.dtype, answer.shape) == (array.dtype, array.shape)
        np.testing.assert_array_equal(answer, array)
