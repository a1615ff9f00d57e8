# SPDX-License-Identifier: Apache-2.0
"""Frames of the drop-in PyNvVideoCodec, sample for sample, against the ffmpeg command line."""

from __future__ import annotations

import media
import numpy as np
import PyNvVideoCodec as nvc
import pytest
import tricodec
from pynv_helpers import decode_all
from pynv_helpers.pixels import PixFmt, planes_of

WHOLE = [
    "h264_bframes.mp4", "h264_open_gop.mkv", "h264_mbaff.ts", "h264_422_10.mkv", "h264_444_odd.mkv", "h264_rgb.mkv",
    "h264_cropped.mp4", "h264_vfr.mkv", "hevc10.mkv", "hevc_444_12.mkv", "hevc_gray.mkv", "hevc_layers.mkv", "vp8.webm",
    "vp9_odd.webm", "vp9_shown_again.webm", "av1_10.mkv", "av1.ivf", "mpeg2.ts", "mpeg4.avi", "mjpeg_444.mkv",
]  # fmt: skip


def expect_same_samples(frame: nvc.DecodedFrame, data: bytes, pix_fmt: str, width: int, height: int) -> None:
    layout = PixFmt.parse(pix_fmt)
    expected = layout.planes(data, width, height)
    shift = 0 if layout.depth == 8 else 16 - layout.depth
    planes = planes_of(frame, width, height)
    for plane, wanted in zip(planes, expected, strict=False):
        np.testing.assert_array_equal(plane, wanted << shift)
    if layout.gray:
        neutral = 128 if layout.depth == 8 else 32768
        assert all((plane == neutral).all() for plane in planes[1:])


@pytest.mark.parametrize("name", WHOLE)
def test_frames_equal_ffmpegs_samples(name: str) -> None:
    path = media.generated(name)
    stream = tricodec.Demuxer(path).stream
    pix_fmt = stream.pixel_format_name
    expected = media.ffmpeg_frames(path)

    frames = decode_all(path)

    assert len(frames) == len(expected) > 0
    for frame, data in zip(frames, expected, strict=True):
        expect_same_samples(frame, data, pix_fmt, stream.width, stream.height)


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("h264_bframes.mp4", "NV12"),
        ("hevc10.mkv", "P016"),
        ("h264_422.mp4", "NV16"),
        ("h264_422_10.mkv", "P216"),
        ("h264_444.mp4", "YUV444"),
        ("hevc_444_12.mkv", "YUV444_16Bit"),
        ("hevc_gray.mkv", "NV12"),
    ],
)
def test_format_follows_the_stream(name: str, expected: str) -> None:
    demuxer = nvc.CreateDemuxer(str(media.generated(name)))
    decoder = nvc.CreateDecoder(codec=demuxer.GetNvCodecId())
    frame = next(frame for packet in demuxer for frame in decoder.Decode(packet))

    assert frame.format == decoder.GetPixelFormat() == nvc.Pixel_Format[expected]
    assert decoder.GetFrameSize() == frame.framesize() == demuxer.FrameSize() == np.asarray(frame).nbytes


def reference_rgb(planes: tuple[np.ndarray, ...], kr: float, kb: float, full: bool, depth: int) -> np.ndarray:
    """By the formulas of BT.601 and BT.709 in float64: exact except for how a whole number's last bit falls."""
    scale = 1 << (depth - 8)
    luma, u, v = (plane.astype(np.float64) / scale for plane in planes)
    luma = luma if full else (luma - 16) * 255 / 219
    u, v = ((chroma - 128) * (1 if full else 255 / 224) for chroma in (u, v))
    down, across = (-(-luma.shape[0] // u.shape[0]), -(-luma.shape[1] // u.shape[1]))
    u, v = (np.kron(chroma, np.ones((down, across)))[: luma.shape[0], : luma.shape[1]] for chroma in (u, v))
    red = luma + 2 * (1 - kr) * v
    blue = luma + 2 * (1 - kb) * u
    green = (luma - kr * red - kb * blue) / (1 - kr - kb)
    return np.stack([red, green, blue], axis=-1).clip(0, 255)


@pytest.mark.parametrize(
    ("name", "pix_fmt", "weights", "full"),
    [
        ("bt709.mp4", "yuv420p", (0.2126, 0.0722), False),
        ("full_range.mp4", "yuv420p", (0.299, 0.114), True),
        ("hevc10.mkv", "yuv420p10le", (0.299, 0.114), False),
        ("h264_422.mp4", "yuv422p", (0.299, 0.114), False),
        ("vp9_odd.webm", "yuv420p", (0.299, 0.114), False),
    ],
)
def test_rgb_follows_the_originals_arithmetic(
    name: str, pix_fmt: str, weights: tuple[float, float], full: bool
) -> None:
    path = media.generated(name)
    stream = tricodec.Demuxer(path).stream
    layout = PixFmt.parse(pix_fmt)
    data = media.ffmpeg_frames(path)[0]
    exact = reference_rgb(layout.planes(data, stream.width, stream.height), *weights, full, layout.depth)

    frame = decode_all(path, outputColorType=nvc.OutputColorType.RGB)[0]

    assert (frame.format, frame.shape) == (nvc.Pixel_Format.RGB, (stream.height, stream.width, 3))
    pixels = np.asarray(frame)
    # Truncation: where the exact value is a hair off a whole number, either side is right.
    assert ((pixels == np.floor(exact - 1e-4)) | (pixels == np.floor(exact + 1e-4))).all()


def test_rgbp_holds_the_planes_of_rgb() -> None:
    path = media.generated("h264_bframes.mp4")
    interleaved = np.asarray(decode_all(path, outputColorType=nvc.OutputColorType.RGB)[3])

    frame = decode_all(path, outputColorType=nvc.OutputColorType.RGBP)[3]

    assert (frame.format, frame.shape[0]) == (nvc.Pixel_Format.RGBP, 3)
    np.testing.assert_array_equal(np.asarray(frame), interleaved.transpose(2, 0, 1))
