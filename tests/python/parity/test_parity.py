# SPDX-License-Identifier: Apache-2.0
"""The same request gives the same bytes behind every door: Python, DALI, Triton, PyNvVideoCodec."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import dali_testing
import media
import numpy as np
import pytest
import tricodec

CLIPS = [
    "h264_bframes.mp4",
    "h264_open_gop.mkv",
    "h264_edit_list.mp4",
    "h264_422_10.mkv",
    "h264_444.mp4",
    "h264_rot90.mp4",
    "hevc10.mkv",
    "hevc_open_gop.mkv",
    "vp8.webm",
    "vp9_odd.webm",
    "av1.mp4",
    "mpeg2.ts",
    "mpeg4.avi",
    "mjpeg.avi",
    "gray.mkv",
    "full_range.mp4",
    "bt709.mp4",
    "h264_raw.h264",
]

IMAGENET: dict[str, Any] = {"mean": [0.485, 0.456, 0.406], "std": [0.229, 0.224, 0.225]}

REQUESTS: dict[str, dict[str, Any]] = {
    "every_frame": {},
    "stride": {"start": 3, "stride": 5, "count": 4},
    "from_the_end": {"start": -4},
    "nothing": {"count": 0},
    "imagenet": {"stride": 9, "size": (96, 80), "dtype": "float32", "layout": "CHW", **IMAGENET},
    "half": {"count": 3, "size": (33, 47), "dtype": "float16", "scale": 2.0},
    "crop": {"count": 2, "crop": (5, 7, 90, 111), "size": (45, 60), "resize": "bicubic"},
    "nearest_bgr": {"count": 2, "size": (50, 60), "resize": "nearest", "color": "bgr", "layout": "CHW"},
    "gray": {"count": 2, "color": "gray", "antialias": False, "size": (40, 40)},
    "yuv": {"count": 2, "color": "yuv", "rotate": False},
    "override": {"count": 2, "matrix": "bt2020nc", "range": "full", "unspecified": "bt709"},
    "bfloat16": {"count": 2, "size": (31, 40), "dtype": "bfloat16", "layout": "CHW", "std": 0.25},
    "pairs_of_channels": {"count": 2, "dtype": "bfloat16", "layout": "CHW2"},
    "eight_channels": {"count": 2, "dtype": "float16", "layout": "HWC8"},
}
NOT_OF_DALI = ("bfloat16", "pairs_of_channels", "eight_channels")  # it has no such dtype and no such layout

CASES = [(clip, "imagenet") for clip in CLIPS] + [("h264_bframes.mp4", name) for name in REQUESTS] + [
    ("h264_rot90.mp4", "crop"),
    ("hevc10.mkv", "half"),
    ("h264_open_gop.mkv", "stride"),
]  # fmt: skip


@pytest.fixture(scope="module")
def triton() -> Iterator[Any]:
    from tricodec.client import Client
    from tricodec.serve import Server

    with (
        Server(models=["video_decode", "video_stream"], stop_timeout_seconds=5) as server,
        Client(server.grpc_url) as client,
    ):
        yield client


def joined(chunks: Iterable[tricodec.DecodedVideo]) -> tricodec.DecodedVideo:
    parts = list(chunks)
    frames, pts = ([getattr(part, name) for part in parts] for name in ("frames", "pts_seconds"))
    return tricodec.DecodedVideo(np.concatenate(frames), np.concatenate(pts))


def by_dali(path: Path, request: dict[str, Any]) -> tricodec.DecodedVideo:
    from nvidia.dali import types

    dtypes = {"uint8": types.UINT8, "float16": types.FLOAT16, "float32": types.FLOAT}
    arguments = request | ({"dtype": dtypes[request["dtype"]]} if "dtype" in request else {})
    (sample,) = dali_testing.decode([path], **arguments)
    return tricodec.DecodedVideo(sample.frames, sample.pts)


@pytest.mark.needs_dali
@pytest.mark.needs_triton
@pytest.mark.parametrize(("clip", "name"), CASES, ids=str)
def test_every_door_returns_the_same_bytes(triton: Any, clip: str, name: str) -> None:
    path, request = media.generated(clip), REQUESTS[name]

    expected = tricodec.decode_video(path, **request)
    answers = {
        "Triton": triton.decode_video(path, **request),
        "Triton in chunks": joined(triton.stream_video(path, 3, **request)),
    }
    if name not in NOT_OF_DALI:
        answers["DALI"] = by_dali(path, request)

    for door, answer in answers.items():
        assert answer.frames.dtype == expected.frames.dtype, door
        assert answer.frames.shape == expected.frames.shape, door
        assert answer.frames.tobytes() == expected.frames.tobytes(), door
        assert answer.pts_seconds.tolist() == expected.pts_seconds.tolist(), door


@pytest.mark.parametrize("clip", CLIPS)
def test_frame_by_frame_transforms_equal_the_batch(clip: str) -> None:
    path = media.generated(clip)
    options = {key: value for key, value in REQUESTS["imagenet"].items() if key != "stride"}
    transform = tricodec.Transform(**options)

    with tricodec.FrameReader(path) as reader:
        one_by_one = np.stack([transform(frame) for frame in reader.iterate(stride=9)])

    assert one_by_one.tobytes() == tricodec.decode_video(path, stride=9, **options).frames.tobytes()


@pytest.mark.parametrize("clip", ["h264_bframes.mp4", "hevc.mp4", "vp9.webm", "av1.mp4"])
def test_the_drop_in_decodes_the_same_frames(clip: str) -> None:
    import PyNvVideoCodec as nvc

    path = str(media.generated(clip))
    demuxer = nvc.CreateDemuxer(path)
    decoder = nvc.CreateDecoder(codec=demuxer.GetNvCodecId(), usedevicememory=False)
    frames = [np.array(np.from_dlpack(frame)) for packet in demuxer for frame in decoder.Decode(packet)]

    with tricodec.FrameReader(path) as reader:
        expected = [frame.convert("nv12").to_ndarray() for frame in reader]
    assert len(frames) == len(expected)
    assert all(np.array_equal(frame, other) for frame, other in zip(frames, expected, strict=True))


# Nearest chroma and the stream's own values: what was decoded can be read back from the tensor, sample by sample.
NATIVE: dict[str, Any] = {"color": "yuv", "resize": "nearest", "rotate": False}
MOST_BYTES = 120 << 20


def native_request(clip: media.Clip) -> dict[str, Any]:
    """All frames of a clip, or as many of a large one as a test has memory for."""
    deep = "10" in clip.pix_fmt
    frame_bytes = clip.width * clip.height * 3 * (4 if deep else 1)
    stride = -(-clip.num_frames * frame_bytes // MOST_BYTES)
    return NATIVE | {"stride": stride} | ({"dtype": "float32", "scale": 4.0} if deep else {})


def native_md5s(frames: np.ndarray, clip: media.Clip) -> list[str]:
    """The MD5 of each 4:2:0 frame that a tensor [F, H, W, 3] was made from."""
    samples = frames.astype(np.uint16) if frames.dtype == np.float32 else frames
    assert clip.pix_fmt.removeprefix("yuvj").removeprefix("yuv").startswith("420p")
    return [
        hashlib.md5(
            b"".join([frame[:, :, 0].tobytes(), frame[::2, ::2, 1].tobytes(), frame[::2, ::2, 2].tobytes()]),
            usedforsecurity=False,
        ).hexdigest()
        for frame in samples
    ]


@pytest.mark.parametrize("clip", media.manifest(), ids=lambda clip: clip.name)
class TestRealClipsHaveTheirPublishedFrames:
    """Every door gives the pictures whose MD5s MANIFEST.tsv publishes."""

    def test_through_python(self, clip: media.Clip) -> None:
        request = native_request(clip)
        frames = tricodec.decode_video(clip.path, **request).frames
        assert native_md5s(frames, clip) == clip.frame_md5s()[:: request["stride"]]

    @pytest.mark.needs_dali
    def test_through_dali(self, clip: media.Clip) -> None:
        request = native_request(clip)
        assert native_md5s(by_dali(clip.path, request).frames, clip) == clip.frame_md5s()[:: request["stride"]]

    @pytest.mark.needs_triton
    def test_through_triton(self, triton: Any, clip: media.Clip) -> None:
        request = native_request(clip)
        frames = triton.decode_video(clip.path, **request).frames
        assert native_md5s(frames, clip) == clip.frame_md5s()[:: request["stride"]]
