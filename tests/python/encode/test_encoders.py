# SPDX-License-Identifier: Apache-2.0
"""Every encoder of encoder_names() encodes a clip that ffmpeg decodes to the same pictures."""

from __future__ import annotations

import gc
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tricodec
from bitstreams import psnr
from media import ffmpeg, ffmpeg_frames, ffprobe, ffprobe_times

_CLIP = "-f lavfi -i testsrc2=s={size}:r=25:d=0.4 -c:v libx264 -crf 4 -pix_fmt yuv420p -bf 0"


@pytest.fixture(scope="module")
def clip(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("encoders") / "clip.mp4"
    ffmpeg(_CLIP.format(size="160x120"), path)
    return path


@pytest.mark.parametrize(
    "name",
    ["libx264", "libx265", "libsvtav1", "libvpx-vp9", "mpeg4", "mpeg2video", "mjpeg", "prores_ks", "ffv1"],
)
def test_each_listed_encoder_encodes_a_clip(name: str, clip: Path, tmp_path: Path) -> None:
    made = tmp_path / "made.mkv"
    result = tricodec.transcode(clip, made, codec=name, device="cpu", bit_rate=4_000_000)

    assert result.num_frames == 10
    times = ffprobe_times(made)
    assert len(times) == 10
    assert np.allclose(np.diff(times), 0.04, atol=2e-3)
    frames = ffmpeg_frames(made, "yuv420p")
    expected = ffmpeg_frames(clip, "yuv420p")
    quality = [
        psnr(np.frombuffer(a, np.uint8), np.frombuffer(b, np.uint8)) for a, b in zip(frames, expected, strict=True)
    ]
    assert min(quality) > 22, quality


@pytest.mark.parametrize(
    ("name", "size", "pix_fmt"),
    [
        ("prores", "160x120", "yuv422p10le"),
        ("prores_ks", "160x120", "yuv422p10le"),
        ("dnxhd", "320x240", "yuv422p"),
        ("mpeg4", "160x120", "yuv420p"),
    ],
)
@pytest.mark.parametrize("container", ["mov", "mkv"])
def test_named_encoders_choose_what_they_take(
    name: str, size: str, pix_fmt: str, container: str, tmp_path: Path
) -> None:
    container = "mov" if name == "dnxhd" else container  # one with a tag of the codec
    source, made = tmp_path / "source.mp4", tmp_path / f"made.{container}"
    ffmpeg(_CLIP.format(size=size), source)
    tricodec.transcode(source, made, codec=name)

    stream = ffprobe(made, "-show_streams")["streams"][0]
    assert (stream["pix_fmt"], stream["width"]) == (pix_fmt, int(size.split("x", maxsplit=1)[0]))
    assert len(ffprobe_times(made)) == 10
    shown, wanted = (np.frombuffer(ffmpeg_frames(each, "yuv420p")[5], np.uint8) for each in (made, source))
    assert psnr(shown, wanted) > 25


@pytest.mark.parametrize(
    ("format", "bits", "shape"),
    [
        ("gray10le", 10, (3, 48, 64)),
        ("yuv420p", 8, (3, 72, 64)),
        ("yuv422p10le", 10, (3, 96, 64)),
        ("gbrp10le", 10, (3, 3, 48, 64)),
    ],
)
def test_lossless_is_lossless(format: str, bits: int, shape: tuple[int, ...], tmp_path: Path) -> None:
    planes = np.random.default_rng(3).integers(0, 1 << bits, shape, np.uint16 if bits > 8 else np.uint8)
    made = tmp_path / "made.mkv"
    made.write_bytes(tricodec.encode_video(planes, format=format, codec="ffv1", container="mkv"))

    assert ffprobe(made, "-show_streams")["streams"][0]["pix_fmt"] == format
    assert b"".join(ffmpeg_frames(made, format)) == planes.tobytes()


@pytest.mark.parametrize(("format", "bits"), [("gray10le", 10), ("gray16le", 16)])
@pytest.mark.parametrize("codec", ["libx264", "libx265", "libsvtav1", "ffv1"])
def test_deep_gray_is_encoded(format: str, bits: int, codec: str) -> None:
    ramp = np.tile(np.linspace(0, (1 << bits) - 1, 64).astype(np.uint16), (64, 1))[None]
    file = tricodec.encode_video(ramp, format=format, codec=codec, container="mkv", bit_rate=5_000_000)
    made = tricodec.decode_video(file, device="cpu", color="gray", dtype="float32").frames[0, ..., 0]
    np.testing.assert_allclose(made, ramp[0] / ((1 << bits) - 1), atol=0.02)


def test_an_encoder_that_is_dropped_without_flush_warns_once() -> None:
    encoder = tricodec.Encoder(64, 48, codec="libx264")
    encoder.encode(np.zeros((48, 64, 3), np.uint8))
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        del encoder
        gc.collect()
    assert [each.category for each in caught] == [ResourceWarning]
    assert "flush()" in str(caught[0].message)

    flushed, unused = tricodec.Encoder(64, 48), tricodec.Encoder(64, 48)
    flushed.encode(np.zeros((48, 64, 3), np.uint8))
    flushed.flush()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        del flushed, unused
        gc.collect()


@pytest.mark.parametrize("height", [96, 94])
def test_each_listed_encoder_takes_interlaced_pictures(height: int, tmp_path: Path) -> None:
    source = tmp_path / "source.ts"
    fields = f"testsrc2=s=128x96:r=50:d=0.16,tinterlace=interleave_top,crop=128:{height}"
    ffmpeg(f"-f lavfi -i {fields} -c:v mpeg2video -flags +ildct+ilme -pix_fmt yuv420p", source)
    for name in set(tricodec.encode.encoder_names()) - {"cinepak", "h263p"}:  # multiples of four
        assert tricodec.transcode(source, None, format="matroska", codec=name, device="cpu").num_frames == 4, name


def test_times_of_a_variable_rate_pass_an_encoder_that_counts_frames() -> None:
    times = [0, 0.04, 0.2, 0.24, 0.9, 1.7, 1.74, 1.78]
    frames = np.random.default_rng(1).integers(0, 255, (8, 48, 64, 3), np.uint8)
    for options in ({}, {"num_b_frames": 2}):
        file = tricodec.encode_video(frames, times, codec="mpeg4", container="mkv", **options)
        assert tricodec.decode_video(file).pts_seconds.tolist() == pytest.approx(times, abs=1e-3)


def test_rgb_stays_rgb_in_a_lossless_codec(tmp_path: Path) -> None:
    source, made = tmp_path / "source.mov", tmp_path / "made.mkv"
    ffmpeg("-f lavfi -i testsrc2=s=64x48:r=5:d=1 -pix_fmt rgb24 -c:v qtrle", source)
    for codec in ("ffv1", "png", "qtrle"):
        made = tmp_path / ("made.mov" if codec == "qtrle" else "made.mkv")
        tricodec.transcode(source, made, codec=codec)
        assert ffmpeg_frames(made, "rgb24") == ffmpeg_frames(source, "rgb24")


@pytest.mark.parametrize("codec", ["libx264", "ffv1"])
def test_sizes_that_an_encoder_refuses_are_refused_alike(codec: str, clip: Path) -> None:
    def outcome(call: Any) -> str:
        try:
            call()
        except ValueError as error:
            return str(error)
        return "encoded"

    transcoded = outcome(lambda: tricodec.transcode(clip, None, format="matroska", codec=codec, size=(131, 227)))
    pictures = np.zeros((2, 131, 227, 3), np.uint8)
    encoded = outcome(lambda: tricodec.encode_video(pictures, codec=codec, container="mkv"))
    by_encoder = outcome(lambda: tricodec.Encoder(227, 131, codec=codec))

    assert transcoded == encoded == by_encoder
    assert (codec == "ffv1") == (encoded == "encoded")
    if codec == "libx264":
        for part in ("227x131", "multiple of 2", "yuv444p"):
            assert part in encoded
