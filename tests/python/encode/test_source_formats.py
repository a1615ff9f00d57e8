# SPDX-License-Identifier: Apache-2.0
"""Sources of every pixel format decode and transcode to the pictures that ffmpeg makes of them."""

from __future__ import annotations

import logging
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tricodec
from media import ffmpeg, ffmpeg_frames, ffprobe, generated
from media_recipes import rotate_mp4

#: Without hard edges, of which every resampling of chroma makes something else.
_SOURCE = "-f lavfi -i testsrc2=s={size}:r=10:d=0.5,gblur=sigma=4"
_ALPHA = ",format=rgba,geq=r='r(X,Y)':g='g(X,Y)':b='b(X,Y)':a='mod(3*X+Y*2,256)'"

#: By name: the file's ending, the encoder's options, the format in which ffmpeg gives the same samples; None where its
#: own format has them, and more.
_FORMATS = {
    "gif": ("gif", "", "rgb24"),
    "qtrle_argb": ("mov", "-c:v qtrle -pix_fmt argb", "rgb24"),
    "qtrle_rgb555": ("mov", "-c:v qtrle -pix_fmt rgb555be", "rgb24"),
    "png_rgb48": ("mkv", "-c:v png -pix_fmt rgb48be", "gbrp16le"),
    "png_pal8": ("mkv", "-c:v png -pix_fmt pal8", "rgb24"),
    "png_gray16": ("mkv", "-c:v png -pix_fmt gray16be", "gray16le"),
    "png_monob": ("mkv", "-c:v png -pix_fmt monob", "gray"),
    "prores_4444": ("mov", "-c:v prores_ks -profile:v 4444 -pix_fmt yuva444p10le", None),
    "ffv1_yuva444p16": ("mkv", "-c:v ffv1 -pix_fmt yuva444p16le", None),
    "ffv1_yuva420p": ("mkv", "-c:v ffv1 -pix_fmt yuva420p", None),
    "ffv1_bgra": ("mkv", "-c:v ffv1 -pix_fmt bgra", "rgb24"),
    "ffv1_gbrap12": ("mkv", "-c:v ffv1 -pix_fmt gbrap12le", None),
    "ffv1_yuv420p9": ("mkv", "-c:v ffv1 -pix_fmt yuv420p9le", None),
    "raw_uyvy": ("nut", "-c:v rawvideo -pix_fmt uyvy422", "yuv422p"),
    "raw_nv21": ("nut", "-c:v rawvideo -pix_fmt nv21", "yuv420p"),
    "raw_yuv422p10be": ("nut", "-c:v rawvideo -pix_fmt yuv422p10be", "yuv422p10le"),
    "raw_rgba64": ("nut", "-c:v rawvideo -pix_fmt rgba64le", "gbrp16le"),
}


def _clip(name: str, folder: Path, size: str = "64x48") -> Path:
    ending, options, _ = _FORMATS[name]
    path = folder / f"{name}.{ending}"
    alpha = _ALPHA if ("a" in options.rpartition(" ")[2].removesuffix("le") and "gray" not in options) else ""
    ffmpeg(_SOURCE.format(size=size) + alpha, options, path)
    return path


def _packed(frame: Any) -> bytes:
    return bytes(frame.pack())


@pytest.mark.parametrize("name", sorted(_FORMATS))
def test_frames_are_those_of_ffmpeg(name: str, tmp_path: Path) -> None:
    path = _clip(name, tmp_path)
    same = _FORMATS[name][2]
    with tricodec.FrameReader(path, device="cpu") as reader:
        frames = list(reader)
    if same is None:  # nine bits in ten, or planes of alpha behind the others
        shift = 1 if "p9" in name else 0
        for frame, raw in zip(frames, ffmpeg_frames(path), strict=True):
            got = np.frombuffer(_packed(frame), np.uint16)
            np.testing.assert_array_equal(got >> shift, np.frombuffer(raw, np.uint16)[: len(got)])
        return
    expected = ffmpeg_frames(path, same)
    assert [frame.format for frame in frames] == [same] * len(expected)
    assert [_packed(frame) for frame in frames] == expected


@pytest.mark.parametrize("name", ["qtrle_argb", "ffv1_bgra"])
def test_alpha_is_kept_where_it_is_asked_for(name: str, tmp_path: Path) -> None:
    path = _clip(name, tmp_path)
    expected = np.frombuffer(b"".join(ffmpeg_frames(path, "rgba")), np.uint8).reshape(-1, 48, 64, 4)
    frames = tricodec.decode_video(path, device="cpu", color="rgba").frames
    np.testing.assert_array_equal(frames, expected)
    np.testing.assert_array_equal(tricodec.decode_video(path, device="cpu").frames, expected[..., :3])
    with tricodec.FrameReader(path, device="cpu") as reader:
        planes = reader.batch(range(len(reader)), color="RGBA", layout="CHW", dtype="float32")
    np.testing.assert_allclose(planes, expected.transpose(0, 3, 1, 2) / np.float32(255), atol=1e-6)


def _difference(a: list[bytes], b: list[bytes]) -> float:
    left, right = (np.frombuffer(b"".join(each), np.uint8).astype(float) for each in (a, b))
    return float(np.abs(left - right).mean())


_TRANSCODED = ["gif", "png_rgb48", "prores_4444", "ffv1_bgra", "raw_uyvy", "raw_yuv422p10be"]


@pytest.mark.parametrize(("name", "size"), [(name, "64x48") for name in _TRANSCODED] + [("ffv1_bgra", "96x720")])
def test_sources_transcode(name: str, size: str, tmp_path: Path) -> None:
    path, made = _clip(name, tmp_path, size), tmp_path / "made.mp4"
    # The noise of a palette's colors would be another in subsampled chroma.
    pixel_format = "yuv444p" if name in {"gif", "png_pal8"} else None
    tricodec.transcode(path, made, options={"qp": 0}, pixel_format=pixel_format)

    # Both are decoded by the tags that they have.
    assert _difference(ffmpeg_frames(made, "rgb24"), ffmpeg_frames(path, "rgb24")) < 6
    stream = ffprobe(made, "-show_streams")["streams"][0]
    if _FORMATS[name][2] in {"rgb24", "gbrp10le", "gbrp16le"}:
        assert stream["color_space"] == ("bt709" if size == "96x720" else "smpte170m")


@pytest.mark.parametrize("source", ["yuv420p10le", "yuv444p12le"])
@pytest.mark.parametrize("wanted", ["yuv422p", "yuv420p10le", "gray10le"])
def test_every_depth_and_chroma_transcodes_to_every_other(source: str, wanted: str, tmp_path: Path) -> None:
    path, made = tmp_path / "source.mkv", tmp_path / "made.mkv"
    ffmpeg(_SOURCE.format(size="64x48"), f"-c:v ffv1 -pix_fmt {source}", path)
    tricodec.transcode(path, made, codec="ffv1", pixel_format=wanted)

    assert ffprobe(made, "-show_streams")["streams"][0]["pix_fmt"] == wanted
    if wanted.startswith("gray"):  # gray has full range
        luma = np.frombuffer(b"".join(ffmpeg_frames(made, wanted)), np.uint16).astype(float)
        planes = np.frombuffer(b"".join(ffmpeg_frames(path)), np.uint16).reshape(5, -1)
        original = planes[:, : 48 * 64].astype(float) / (1 << (int(source[7:9]) - 8))
        full = np.clip((original - 16) * 255 / 219, 0, 255) * (1023 / 255)
        assert np.abs(luma - full.ravel()).max() <= 3
        return
    assert _difference(ffmpeg_frames(made, "yuv444p"), ffmpeg_frames(path, "yuv444p")) < 2


@pytest.mark.parametrize("container", ["mp4", "mkv"])
@pytest.mark.parametrize(("clockwise", "mirrored"), [(0, True), (90, False), (90, True), (180, False), (270, True)])
@pytest.mark.parametrize("options", [{}, {"crop": (8, 4, 40, 24)}, {"size": (60, 40)}], ids=str)
def test_crop_and_size_mean_the_upright_picture(
    container: str, clockwise: int, mirrored: bool, options: dict[str, Any], tmp_path: Path
) -> None:
    plain, turned, made = tmp_path / "plain.mp4", tmp_path / "turned.mp4", tmp_path / f"made.{container}"
    ffmpeg(_SOURCE.format(size="96x64") + " -c:v libx264 -qp 0 -pix_fmt yuv420p", plain)
    turned.write_bytes(rotate_mp4(plain.read_bytes(), clockwise=clockwise, mirrored=mirrored))
    tricodec.transcode(turned, made, options={"qp": 0}, **options)

    expected = tricodec.decode_video(turned, device="cpu", **options).frames
    assert tricodec.decode_video(made, device="cpu").frames.shape == expected.shape
    # ffmpeg turns pictures by what the container says.
    shown = np.frombuffer(ffmpeg("-i", made, "-pix_fmt rgb24 -f rawvideo", "-"), np.uint8).reshape(expected.shape)
    assert np.abs(shown.astype(int) - expected).mean() < 5
    if "size" not in options:
        top, left, height, width = options.get("crop", (0, 0, *expected.shape[1:3]))
        kept = f"-vf crop={width}:{height}:{left}:{top} -pix_fmt yuv420p -f rawvideo"
        assert ffmpeg("-i", made, "-pix_fmt yuv420p -f rawvideo", "-") == ffmpeg("-i", turned, kept, "-")


@pytest.mark.parametrize("size", [None, (40, 60)])
@pytest.mark.parametrize("crop", [None, (4, 6, 20, 30)])
def test_a_stream_that_changes_its_size(size: Any, crop: Any, tmp_path: Path) -> None:
    parts = []
    for number, each in enumerate(["96x64", "64x48", "128x96"]):
        part = tmp_path / f"{number}.ts"
        ffmpeg(_SOURCE.format(size=each) + " -c:v mpeg2video -q:v 2 -pix_fmt yuv420p", part)
        parts.append(part.read_bytes())
    joined, made = tmp_path / "joined.ts", tmp_path / "made.mkv"
    joined.write_bytes(b"".join(parts))
    tricodec.transcode(joined, made, codec="ffv1", size=size, crop=crop)
    height, width = size or (crop or (0, 0, 64, 96))[2:]
    assert {len(frame) for frame in ffmpeg_frames(made, "rgb24")} == {height * width * 3}


@pytest.mark.parametrize("codec", ["libx264", "mpeg2video", "prores_ks"])
def test_interlaced_stays_marked_or_is_deinterlaced(codec: str, tmp_path: Path) -> None:
    source, made, flat = tmp_path / "source.ts", tmp_path / "made.mov", tmp_path / "flat.mkv"
    ffmpeg(
        "-f lavfi -i testsrc2=s=64x48:r=50:d=0.8,tinterlace=interleave_top -c:v mpeg2video -q:v 2",
        "-flags +ildct+ilme -top 1 -pix_fmt yuv420p", source,
    )  # fmt: skip
    tricodec.transcode(source, made, codec=codec)
    by_ffmpeg = tmp_path / "by_ffmpeg.mov"
    ffmpeg("-i", source, f"-c:v {codec} -flags +ildct+ilme", by_ffmpeg)
    marks = "-select_streams v -show_entries stream=field_order:frame=interlaced_frame,top_field_first"
    shown, expected = ffprobe(made, marks), ffprobe(by_ffmpeg, marks)
    orders = [(each["streams"][0].get("field_order") or "unknown")[0] for each in (shown, expected)]
    assert orders[0] == orders[1]
    frames = shown["frames"]
    assert len(frames) == 20
    assert all(frame["interlaced_frame"] == 1 for frame in frames)
    assert all(frame["top_field_first"] == 1 for frame in frames)

    tricodec.transcode(source, flat, codec="ffv1", deinterlace=True)
    assert ffmpeg_frames(flat) == ffmpeg_frames(source, output_options=("-vf", "bwdif=mode=send_frame"))
    shown = ffprobe(flat, "-select_streams v -show_entries frame=interlaced_frame")
    assert all(frame["interlaced_frame"] == 0 for frame in shown["frames"])


@pytest.mark.parametrize(("name", "bits"), [("prores_4444", 12), ("ffv1_yuva420p", 8), ("ffv1_yuva444p16", 16)])
def test_alpha_beside_yuv_is_kept(name: str, bits: int, tmp_path: Path) -> None:
    path = _clip(name, tmp_path)
    planes = np.frombuffer(b"".join(ffmpeg_frames(path)), np.uint8 if bits == 8 else np.uint16).reshape(5, -1)
    alpha = planes[:, -48 * 64 :].reshape(5, 48, 64)
    frames = tricodec.decode_video(path, device="cpu", color="rgba").frames
    np.testing.assert_allclose(frames[..., 3], alpha * (255 / ((1 << bits) - 1)), atol=0.51)


def test_an_opaque_video_is_opaque() -> None:
    path = generated("h264_bframes.mp4")
    frames = tricodec.decode_video(path, device="cpu", count=3, color="rgba", size=(40, 50)).frames
    assert frames.shape == (3, 40, 50, 4)
    assert (frames[..., 3] == 255).all()
    rgb = tricodec.decode_video(path, device="cpu", count=3, size=(40, 50)).frames
    np.testing.assert_array_equal(frames[..., :3], rgb)


def test_odd_sizes_are_kept_or_cropped_with_a_line(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    source = tmp_path / "odd.mkv"
    ffmpeg(_SOURCE.format(size="64x48") + ",format=rgb24,crop=63:47:0:0 -c:v ffv1 -pix_fmt yuv420p", source)
    sizes = {}
    with caplog.at_level(logging.WARNING, "tricodec"):
        for codec in ("ffv1", "mpeg4", "libvpx-vp9", "libx264", "libx265"):
            made = tmp_path / f"{codec}.mkv"
            tricodec.transcode(source, made, codec=codec)
            stream = ffprobe(made, "-show_streams")["streams"][0]
            sizes[codec] = (stream["width"], stream["height"])
    assert sizes["ffv1"] == sizes["mpeg4"] == sizes["libvpx-vp9"] == (63, 47)
    assert ffmpeg_frames(tmp_path / "ffv1.mkv") == ffmpeg_frames(source)
    assert sizes["libx264"] == (62, 46)
    tricodec.transcode(source, tmp_path / "part.mkv", codec="ffv1", crop=(4, 6, 30, 42))
    assert ffmpeg_frames(tmp_path / "part.mkv") == ffmpeg_frames(source, output_options=("-vf", "crop=42:30:6:4"))
    lines = [record.message for record in caplog.records if "is cropped to" in record.message]
    assert len(lines) == sum(size == (62, 46) for size in sizes.values())
    assert "63x47 is cropped to 62x46" in lines[0]
