# SPDX-License-Identifier: Apache-2.0
"""fn.tricodec.transform gives what tricodec.Transform gives, from raw frames of any layout and of any reader."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import transform_oracle as oracle
import tricodec
from dali_testing import PerSample, decode, for_dali, operator_pipeline
from media import generated

pytestmark = pytest.mark.needs_dali

IMAGENET: dict[str, Any] = {"mean": [0.485, 0.456, 0.406], "std": [0.229, 0.224, 0.225]}

REQUESTS: dict[str, dict[str, Any]] = {
    "rgb": {},
    "imagenet": {"size": (56, 48), "dtype": "float32", "layout": "CHW", **IMAGENET},
    "half_bicubic": {"size": (90, 33), "dtype": "float16", "resize": "bicubic", "antialias": False},
    "crop": {"crop": (3, 5, 40, 61), "size": (20, 30)},
    "nearest_bgr": {"size": (31, 17), "resize": "nearest", "color": "bgr"},
    "pairs": {"layout": "CHW2", "dtype": "float16"},
    "eights": {"layout": "HWC8"},
}

RANDOM = np.random.default_rng(1)


def transform(samples: list[np.ndarray], *, num_threads: int = 2, **arguments: Any) -> list[tuple[np.ndarray, str]]:
    """One batch through fn.tricodec.transform: copies of the outputs, with their layout."""
    options = {"num_threads": num_threads}
    (outputs,) = operator_pipeline("transform", samples, pipeline_options=options, **for_dali(arguments)).run()
    return [(np.array(outputs.at(i)), outputs.layout()) for i in range(len(outputs))]


@pytest.mark.parametrize("format", tricodec.video.pixel_formats())
def test_transform_takes_every_pixel_format(format: str) -> None:
    frame = tricodec.Frame.from_planes(oracle.random_planes(RANDOM, format, 64, 48), format)
    request: dict[str, Any] = {"size": (30, 40), "dtype": "float32"}

    ((out, layout),) = transform([frame.to_ndarray()], format=format, **request)

    assert layout == "HWC"
    assert out.tobytes() == tricodec.Transform(**request)(frame).tobytes()


@pytest.mark.parametrize("name", REQUESTS)
def test_transform_gives_the_bytes_of_the_python_door(name: str) -> None:
    frames = [tricodec.Frame.from_planes(oracle.random_planes(RANDOM, "nv12", 80, 60), "nv12") for _ in range(3)]
    request = REQUESTS[name]

    batch = transform([np.stack([frame.to_ndarray() for frame in frames])] * 2, format="nv12", **request)

    expected = np.stack([tricodec.Transform(**request)(frame) for frame in frames])
    for out, layout in batch:
        assert (out.shape, out.dtype) == (expected.shape, expected.dtype)
        assert out.tobytes() == expected.tobytes()
        assert layout == {"CHW": "FCHW", "CHW2": "FCHWc"}.get(request.get("layout", ""), "FHWC")


def test_transform_takes_pictures_of_different_sizes_crops_and_rotations() -> None:
    sizes = [(64, 48), (70, 50), (2, 2), (320, 180)]
    frames = [tricodec.Frame.from_planes(oracle.random_planes(RANDOM, "yuv420p", *size), "yuv420p") for size in sizes]
    rotations = [0, 90, 180, 270]
    crops = [(0, 0, 48, 64), (1, 2, 30, 20), (0, 1, 2, 1), (5, 6, 77, 88)]

    batch = transform(
        [frame.to_ndarray() for frame in frames],
        format="yuv420p",
        crop=PerSample(crops),
        rotation=PerSample(np.array(rotations, np.int32)),
        mirrored=True,
        num_threads=3,
    )

    for (out, _), frame, crop, rotation in zip(batch, frames, crops, rotations, strict=True):
        planes = [np.asarray(plane) for plane in frame.planes]
        turned = tricodec.Frame.from_planes(planes, "yuv420p", rotation=rotation, mirrored=True)
        np.testing.assert_array_equal(out, tricodec.Transform(crop=crop)(turned))


@pytest.mark.parametrize(
    ("shape", "dtype", "arguments", "error", "words"),
    [
        ((48, 64), np.uint8, {"format": "yuv999p"}, ValueError, "yuv999p"),
        ((72, 64), np.uint16, {"format": "nv12"}, TypeError, "samples of nv12 are uint8"),
        ((71, 64), np.uint8, {"format": "nv12"}, ValueError, r"Sample 0.*\[71, 64\].*\[H \* 3 / 2, W\]"),
        ((72,), np.uint8, {"format": "nv12"}, ValueError, "1 dimensions"),
        ((72, 64), np.uint8, {"format": "nv12", "width": 64, "height": 50}, ValueError, "4800 samples, not 4608"),
        ((72, 64), np.uint8, {"format": "nv12", "crop": (0, 0, 49, 64)}, ValueError, "Sample 0.*crop"),
    ],
)
def test_transform_says_what_does_not_fit(
    shape: tuple[int, ...], dtype: Any, arguments: dict[str, Any], error: type[Exception], words: str
) -> None:
    with pytest.raises(error, match=words):
        transform([np.zeros(shape, dtype)], **arguments)


CLIPS = [
    ("h264_bframes.mp4", "nv12", {}),
    ("h264_rot90.mp4", "nv12", {"rotation": 90}),
    ("hevc10.mkv", "p010le", {}),
    ("h264_444.mp4", "yuv444p", {}),
    ("full_range.mp4", "yuv420p", {"range": "full"}),
    ("hevc_gray.mkv", "gray", {}),
]


@pytest.mark.parametrize(("clip", "format", "facts"), CLIPS, ids=str)
@pytest.mark.parametrize("name", ["rgb", "imagenet"])
def test_decoded_planes_transformed_are_the_frames_of_decode_video(
    clip: str, format: str, facts: dict[str, Any], name: str
) -> None:
    request = REQUESTS[name]
    path = generated(clip)
    with tricodec.FrameReader(path) as reader:
        color = reader[0].color

    (planes,) = decode([path], stride=5, count=4, format=format)
    ((out, _),) = transform([planes.frames], format=format, chroma_location=color.chroma_location, **facts, **request)

    expected = tricodec.decode_video(path, stride=5, count=4, **request)
    assert out.shape == expected.frames.shape
    assert out.tobytes() == expected.frames.tobytes()
    assert planes.pts.tobytes() == expected.pts_seconds.tobytes()


@pytest.mark.parametrize(
    ("clip", "format"), [("h264_open_gop.mkv", "nv12"), ("hevc10.mkv", "yuv420p10le"), ("vp9_odd.webm", "yuv420p")]
)
def test_decode_video_gives_the_planes_of_its_frames(clip: str, format: str) -> None:
    path = generated(clip)
    with tricodec.FrameReader(path) as reader:
        expected = np.stack([frame.to_ndarray(format) for frame in reader])

    (decoded,) = decode([path], format=format)

    assert decoded.layout == "FHW"
    assert decoded.frames.dtype == expected.dtype
    if expected.ndim == 2:
        expected = expected[:, np.newaxis]  # pictures of odd sizes: one row of samples
    np.testing.assert_array_equal(decoded.frames, expected)


def test_transform_works_in_dynamic_mode() -> None:
    import nvidia.dali.experimental.dynamic as ndd

    frame = tricodec.Frame.from_planes(oracle.random_planes(RANDOM, "nv12", 64, 48), "nv12")

    out = ndd.tricodec.transform(frame.to_ndarray(), format="nv12", size=(20, 30))

    assert np.array_equal(np.array(out.cpu()), tricodec.Transform(size=(20, 30))(frame))
