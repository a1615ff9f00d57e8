# SPDX-License-Identifier: Apache-2.0
"""fn.tricodec.transform gives what tricodec.Transform gives, from raw frames of any layout and of any reader."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tricodec
from dali_testing import PerSample, constant_source, decode, read
from media import ffmpeg, generated
from programs import limits

pytestmark = pytest.mark.needs_dali

IMAGENET: dict[str, Any] = {"mean": [0.485, 0.456, 0.406], "std": [0.229, 0.224, 0.225]}

REQUESTS: dict[str, dict[str, Any]] = {
    "rgb": {},
    "imagenet": {"size": (56, 48), "dtype": "float32", "layout": "CHW", **IMAGENET},
    "half_bicubic": {"size": (90, 33), "dtype": "float16", "resize": "bicubic", "antialias": False},
    "crop": {"crop": (3, 5, 40, 61), "size": (20, 30)},
    "nearest_bgr": {"size": (31, 17), "resize": "nearest", "color": "bgr"},
    "nearest_chroma": {"chroma": "nearest", "crop": (1, 3, 41, 60)},
    "gray": {"color": "gray", "layout": "CHW"},
    "matrix": {"matrix": "bt709", "range": "full"},
    "pairs": {"layout": "CHW2", "dtype": "float16"},
    "eights": {"layout": "HWC8"},
}


SEMI_PLANAR = {"p0": "420", "p2": "422", "p4": "444"}
"""The family of p010le and its like, with samples in the high bits, by their first letters."""


def samples_of(format: str, height: int, width: int, seed: int = 1) -> list[np.ndarray]:
    """Random planes of a picture, each as [rows, columns(, components)]."""
    blank = tricodec.Frame.from_planes(planes_like(format, height, width), format)
    random = np.random.default_rng(seed)
    depth = {"10": 10, "12": 12, "16": 16}.get(format.removesuffix("le")[-2:], 8)
    shift = 16 - depth if format[:2] in SEMI_PLANAR else 0
    return [(random.integers(0, 1 << depth, p.shape) << shift).astype(p.dtype) for p in blank.planes]


def planes_like(format: str, height: int, width: int) -> list[np.ndarray]:
    dtype = np.uint16 if format.endswith("le") else np.uint8
    if format.startswith("gray"):
        return [np.zeros((height, width), dtype)]
    if format in ("rgb24", "bgr24"):
        return [np.zeros((height, width, 3), dtype)]
    log2 = {"420": (1, 1), "422": (0, 1), "440": (1, 0), "444": (0, 0), "411": (0, 2), "410": (2, 2)}
    semi = {"nv12": "420", "nv16": "422", "nv24": "444"}.get(format) or SEMI_PLANAR.get(format[:2])
    name = semi or ("444" if format.startswith("gbrp") else format.removeprefix("yuv")[:3])
    rows, columns = -(-height >> log2[name][0]), -(-width >> log2[name][1])
    if semi:
        return [np.zeros((height, width), dtype), np.zeros((rows, columns, 2), dtype)]
    return [np.zeros((height, width), dtype), *(np.zeros((rows, columns), dtype) for _ in range(2))]


def dali_dtype(request: dict[str, Any]) -> dict[str, Any]:
    from nvidia.dali import types

    names = {"uint8": types.UINT8, "float16": types.FLOAT16, "float32": types.FLOAT}
    return request | ({"dtype": names[request["dtype"]]} if "dtype" in request else {})


def transform(samples: list[np.ndarray], *, num_threads: int = 2, **arguments: Any) -> list[tuple[np.ndarray, str]]:
    """One batch through fn.tricodec.transform: copies of the outputs, with their layout."""
    from nvidia.dali import Pipeline, fn

    pipe = Pipeline(batch_size=len(samples), num_threads=num_threads, device_id=None)
    with pipe:
        frames = fn.external_source(source=constant_source(samples), batch=True)
        for name, value in arguments.items():
            if isinstance(value, PerSample):
                tensors = [np.asarray(item) for item in value]
                arguments[name] = fn.external_source(source=constant_source(tensors), batch=True)
        pipe.set_outputs(fn.tricodec.transform(frames, **dali_dtype(arguments)))
    pipe.build()
    (outputs,) = pipe.run()
    return [(np.array(outputs.at(i)), outputs.layout()) for i in range(len(outputs))]


@pytest.mark.parametrize("format", tricodec.pixel_formats())
def test_transform_takes_every_pixel_format(format: str) -> None:
    frame = tricodec.Frame.from_planes(samples_of(format, 48, 64), format)
    request: dict[str, Any] = {"size": (30, 40), "dtype": "float32"}

    ((out, layout),) = transform([frame.to_ndarray()], format=format, **request)

    assert layout == "HWC"
    assert out.tobytes() == tricodec.Transform(**request)(frame).tobytes()


@pytest.mark.parametrize("name", REQUESTS)
def test_transform_gives_the_bytes_of_the_python_door(name: str) -> None:
    frames = [tricodec.Frame.from_planes(samples_of("nv12", 60, 80, seed), "nv12") for seed in range(3)]
    request = REQUESTS[name]

    batch = transform([np.stack([frame.to_ndarray() for frame in frames])] * 2, format="nv12", **request)

    expected = np.stack([tricodec.Transform(**request)(frame) for frame in frames])
    for out, layout in batch:
        assert (out.shape, out.dtype) == (expected.shape, expected.dtype)
        assert out.tobytes() == expected.tobytes()
        assert layout == {"CHW": "FCHW", "CHW2": "FCHWc"}.get(request.get("layout", ""), "FHWC")


def test_transform_takes_pictures_of_different_sizes_crops_and_rotations() -> None:
    sizes = [(48, 64), (50, 70), (2, 2), (180, 320)]
    frames = [tricodec.Frame.from_planes(samples_of("yuv420p", *size), "yuv420p") for size in sizes]
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


@pytest.mark.parametrize("name", ["rgb", "imagenet", "half_bicubic", "pairs"])
def test_transform_shares_a_large_frame_among_the_threads(name: str) -> None:
    frame = tricodec.Frame.from_planes(samples_of("nv12", 1080, 1920), "nv12")
    request = REQUESTS[name]

    ((out, _),) = transform([frame.to_ndarray()], format="nv12", rotation=90, num_threads=5, **request)

    turned = tricodec.Frame.from_planes([np.asarray(plane) for plane in frame.planes], "nv12", rotation=90)
    assert out.tobytes() == tricodec.Transform(**request)(turned).tobytes()


@pytest.mark.parametrize(("format", "height", "width"), [("yuv420p", 47, 63), ("nv12", 5, 7), ("yuv410p", 9, 10)])
def test_transform_takes_odd_sizes_with_width_and_height(format: str, height: int, width: int) -> None:
    frame = tricodec.Frame.from_planes(samples_of(format, height, width), format)
    flat = frame.to_ndarray()
    assert flat.ndim == 1

    one = transform([flat], format=format, width=width, height=height)
    several = transform([np.stack([flat, flat])[:, np.newaxis]], format=format, width=width, height=height)

    expected = tricodec.Transform()(frame)
    np.testing.assert_array_equal(one[0][0], expected)
    np.testing.assert_array_equal(several[0][0], np.stack([expected, expected]))


def test_transform_believes_the_color_words() -> None:
    planes = samples_of("yuv420p", 48, 64)
    words = {"matrix": "bt2020nc", "range": "full", "chroma_location": "topleft"}
    frame = tricodec.Frame.from_planes(planes, "yuv420p", color=words)

    ((out, _),) = transform([frame.to_ndarray()], format="yuv420p", **words)

    np.testing.assert_array_equal(out, tricodec.Transform()(frame))
    ((plain, _),) = transform([frame.to_ndarray()], format="yuv420p")
    assert not np.array_equal(out, plain)


def test_transform_of_no_frames_has_none() -> None:
    ((out, layout),) = transform([np.zeros((0, 72, 64), np.uint8)], format="nv12", size=(8, 9))

    assert out.shape == (0, 8, 9, 3)
    assert layout == "FHWC"


@pytest.mark.parametrize(
    ("shape", "dtype", "arguments", "error", "words"),
    [
        ((48, 64), np.uint8, {"format": "yuv999p"}, ValueError, "yuv999p"),
        ((48, 64), np.uint8, {"format": "nv12", "chroma_location": "middle"}, ValueError, "middle"),
        ((72, 64), np.uint16, {"format": "nv12"}, TypeError, "samples of nv12 are uint8"),
        ((72, 64), np.uint8, {"format": "p010le"}, TypeError, "fn.reinterpret"),
        ((71, 64), np.uint8, {"format": "nv12"}, ValueError, r"Sample 0.*\[71, 64\].*\[H \* 3 / 2, W\]"),
        ((72, 63), np.uint8, {"format": "nv12"}, ValueError, "give width= and height="),
        ((72,), np.uint8, {"format": "nv12"}, ValueError, "1 dimensions"),
        ((0, 64), np.uint8, {"format": "nv12"}, ValueError, "no pixels"),
        ((72, 64), np.uint8, {"format": "nv12", "width": 64}, ValueError, "give both"),
        ((72, 64), np.uint8, {"format": "nv12", "width": 64, "height": 50}, ValueError, "4800 samples, not 4608"),
        ((72, 64), np.uint8, {"format": "nv12", "width": -2, "height": -3}, ValueError, "-2 and -3"),
        ((72, 64), np.uint8, {"format": "nv12", "rotation": 45}, ValueError, "rotation is 45"),
        ((72, 64), np.uint8, {"format": "nv12", "crop": (0, 0, 49, 64)}, ValueError, "Sample 0.*crop"),
        ((72, 64), np.uint8, {"format": "nv12", "mean": [1.0]}, ValueError, "mean"),
        ((48, 64, 3), np.uint8, {"format": "rgb24", "color": "yuv"}, RuntimeError, "Sample 0.*yuv"),
    ],
)
def test_transform_says_what_does_not_fit(
    shape: tuple[int, ...], dtype: Any, arguments: dict[str, Any], error: type[Exception], words: str
) -> None:
    with pytest.raises(error, match=words):
        transform([np.zeros(shape, dtype)], **arguments)


CLIPS = [
    ("h264_bframes.mp4", "yuv420p", {}),
    ("h264_bframes.mp4", "nv12", {}),
    ("h264_bframes.mp4", "p016le", {}),
    ("h264_rot90.mp4", "nv12", {"rotation": 90}),
    ("hevc10.mkv", "p010le", {}),
    ("h264_422_10.mkv", "yuv422p10le", {}),
    ("h264_444.mp4", "yuv444p", {}),
    ("full_range.mp4", "yuv420p", {"range": "full"}),
    ("bt709.mp4", "nv12", {"matrix": "bt709"}),
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
    ("clip", "format", "layout"),
    [
        ("h264_open_gop.mkv", None, "FHW"),
        ("h264_open_gop.mkv", "nv12", "FHW"),
        ("hevc10.mkv", "yuv420p10le", "FHW"),
        ("h264_444.mp4", "yuv444p", "FCHW"),
        ("hevc_gray.mkv", "gray", "FHW"),
        ("vp9_odd.webm", "yuv420p", "FHW"),
    ],
)
def test_decode_video_gives_the_planes_of_its_frames(clip: str, format: str | None, layout: str) -> None:
    path = generated(clip)
    with tricodec.FrameReader(path) as reader:
        expected = np.stack([frame.to_ndarray(format) for frame in reader])
        format = format or reader[0].format

    (decoded,) = decode([path], format=format)

    assert decoded.layout == layout
    assert decoded.frames.dtype == expected.dtype
    if expected.ndim == 2:
        expected = expected[:, np.newaxis]  # pictures of odd sizes: one row of samples
    np.testing.assert_array_equal(decoded.frames, expected)


def test_raw_video_of_another_program_is_transformed(tmp_path: Path) -> None:
    raw = tmp_path / "a.yuv"
    ffmpeg("-i", generated("h264_bframes.mp4"), "-frames:v 3 -pix_fmt nv12 -f rawvideo", raw)
    from nvidia.dali import Pipeline, fn

    pipe = Pipeline(batch_size=1, num_threads=2, device_id=None)
    with pipe:
        bytes_, _ = fn.readers.file(files=[str(raw)])
        frames = fn.reshape(bytes_, shape=[-1, 270, 320], layout="FHW")
        pipe.set_outputs(fn.tricodec.transform(frames, format="nv12", size=(32, 48)))
    pipe.build()

    (outputs,) = pipe.run()

    expected = tricodec.decode_video(generated("h264_bframes.mp4"), count=3, size=(32, 48)).frames
    np.testing.assert_array_equal(outputs.at(0), expected)


@pytest.mark.parametrize(
    ("arguments", "error", "words"),
    [
        ({"format": "nope"}, ValueError, "nope"),
        ({"format": "nv12", "size": (8, 8)}, ValueError, "size transforms them.*fn.tricodec.transform"),
        ({"format": "nv12", "layout": "CHW"}, ValueError, "layout"),
        ({"format": "nv12", "crop": PerSample([(0, 0, 8, 8)])}, ValueError, "crop"),
        ({"format": "yuv444p"}, RuntimeError, "Sample 0.*resample"),
    ],
)
def test_decode_video_says_why_it_cannot_give_such_planes(
    arguments: dict[str, Any], error: type[Exception], words: str
) -> None:
    with pytest.raises(error, match=words):
        decode([generated("h264_bframes.mp4")], **arguments)


def test_planes_that_cannot_be_had_are_an_empty_sample_where_that_is_asked_for() -> None:
    good, bad = generated("h264_bframes.mp4"), generated("h264_444.mp4")

    batch = decode([good, bad, b"no video"], count=2, format="nv12", on_error="empty")

    assert [sample.frames.shape for sample in batch] == [(2, 270, 320), (0, *batch[1].frames.shape[1:]), (0, 0, 0)]
    np.testing.assert_array_equal(batch[0].frames[1], tricodec.FrameReader(good)[1].to_ndarray("nv12"))


def test_transform_refuses_a_batch_past_the_limits_though_each_sample_is_within() -> None:
    planes = np.zeros((15, 10), np.uint8)  # of NV12, 10x10: 300 bytes of RGB

    with limits(max_output_bytes=900):
        assert len(transform([planes] * 3, format="nv12")) == 3
        with pytest.raises(RuntimeError, match=r"batch's 4 samples, 900 bytes.*max_output_bytes 900"):
            transform([planes] * 4, format="nv12")


def test_transform_works_in_dynamic_mode() -> None:
    import nvidia.dali.experimental.dynamic as ndd

    frame = tricodec.Frame.from_planes(samples_of("nv12", 48, 64), "nv12")

    out = ndd.tricodec.transform(frame.to_ndarray(), format="nv12", size=(20, 30))

    assert np.array_equal(np.array(out.cpu()), tricodec.Transform(size=(20, 30))(frame))


def test_transform_survives_serialization_and_runs_again_and_again() -> None:
    from nvidia.dali import Pipeline, fn

    data = read(generated("h264_bframes.mp4"))
    pipe = Pipeline(batch_size=1, num_threads=2, device_id=None)
    with pipe:
        encoded = fn.external_source(name="encoded")
        planes, _ = fn.tricodec.decode_video(encoded, count=3, format="nv12")
        pipe.set_outputs(fn.tricodec.transform(planes, format="nv12", size=(30, 40), layout="CHW"))
    restored = Pipeline.deserialize(pipe.serialize())
    expected = tricodec.decode_video(generated("h264_bframes.mp4"), count=3, size=(30, 40), layout="CHW").frames

    for _ in range(3):
        restored.feed_input("encoded", [data])
        (outputs,) = restored.run()
        np.testing.assert_array_equal(outputs.at(0), expected)
