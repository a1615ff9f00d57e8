# SPDX-License-Identifier: Apache-2.0
"""torchcodec's image decoders and encoders; TRICODEC_TEST_ORIGINALS=1 runs torchcodec itself."""

from __future__ import annotations

import io
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from peer_names import ORIGINALS, torch, torchcodec
from PIL import Image

pytestmark = pytest.mark.needs_torch

_Y, _X = np.mgrid[0:40, 0:60]
RGB = np.stack([_X * 4, _Y * 6, 255 - _X * 4], axis=-1).astype(np.uint8)
ALPHA = (_Y * 6).astype(np.uint8)


def saved(image: Image.Image, format: str, **options: Any) -> bytes:
    file = io.BytesIO()
    image.save(file, format, **options)
    return file.getvalue()


def chw(array: Any) -> Any:
    return torch.from_numpy(np.ascontiguousarray(np.moveaxis(array, -1, 0)))


def decoded(data: Any, name: str = "decode_image", **options: Any) -> Any:
    return getattr(torchcodec.decoders, name)(data, **options)


def test_sources_of_every_kind(tmp_path: Path) -> None:
    data = saved(Image.fromarray(RGB), "PNG")
    path = tmp_path / "a.png"
    path.write_bytes(data)
    for source in (data, bytearray(data), path, str(path), torch.frombuffer(bytearray(data), dtype=torch.uint8)):
        assert torch.equal(decoded(source), chw(RGB))
    with pytest.raises(TypeError, match="Unknown source type"):
        decoded(io.BytesIO(data))
    with pytest.raises(FileNotFoundError):
        decoded(tmp_path / "none.png")


def test_modes_give_channels() -> None:
    with_alpha = np.concatenate([RGB, ALPHA[..., None]], axis=-1)
    data = saved(Image.fromarray(with_alpha), "PNG")
    plain = saved(Image.fromarray(RGB), "PNG")
    assert torch.equal(decoded(data, mode="rgb_alpha"), chw(with_alpha))
    assert torch.equal(decoded(data, mode="UNCHANGED"), chw(with_alpha))
    assert torch.equal(decoded(plain, mode="RGBA")[3], torch.full((40, 60), 255, dtype=torch.uint8))
    luma = (RGB @ np.array([0.2989, 0.587, 0.114])).round()
    assert np.abs(decoded(plain, mode="GRAY").numpy()[0] - luma).max() <= 1
    both = decoded(data, mode="gray_alpha")
    assert both.shape == (2, 40, 60)
    assert torch.equal(both[1], torch.from_numpy(ALPHA))
    gray = saved(Image.fromarray(ALPHA), "PNG")
    assert torch.equal(decoded(gray, mode=torchcodec.decoders.ImageReadMode.UNCHANGED)[0], torch.from_numpy(ALPHA))
    assert decoded(gray).shape == (3, 40, 60)
    with pytest.raises(ValueError, match="Invalid mode"):
        decoded(data, mode="CMYK")
    with pytest.raises(TypeError, match="mode must be a str"):
        decoded(data, mode=3)


def test_dtypes_have_16_bits() -> None:
    data = saved(Image.fromarray(RGB), "PNG")
    deep = decoded(data, output_dtype=torch.uint16)
    assert deep.dtype == torch.uint16
    assert torch.equal(deep.to(torch.int32), chw(RGB).to(torch.int32) * 257)
    sixteen = saved(Image.fromarray((ALPHA.astype(np.uint16) * 257 + 90).astype(np.uint16)), "PNG")
    found = decoded(sixteen, "decode_png", mode="GRAY", output_dtype="auto")
    assert found.dtype == torch.uint16
    assert torch.equal(found[0].to(torch.int32), torch.from_numpy(ALPHA.astype(np.int32) * 257 + 90))
    assert torch.equal(decoded(sixteen, mode="GRAY")[0], torch.from_numpy(ALPHA))
    with pytest.raises(ValueError, match="Invalid output_dtype"):
        decoded(data, output_dtype=torch.float32)


def test_jpegs_alone_and_in_lists() -> None:
    data = saved(Image.fromarray(RGB), "JPEG", quality=90)
    expected = chw(np.asarray(Image.open(io.BytesIO(data))))
    assert torch.equal(decoded(data), expected)
    pair = decoded([data, data], "decode_jpeg")
    assert len(pair) == 2
    assert torch.equal(pair[1], expected)
    luma = Image.open(io.BytesIO(data))
    luma.draft("L", None)
    assert torch.equal(decoded(data, mode="GRAY")[0], torch.from_numpy(np.array(luma)))


@pytest.mark.parametrize("orientation", range(1, 9))
def test_exif_turns_pictures_upright(orientation: int) -> None:
    exif = Image.Exif()
    exif[0x0112] = orientation
    data = saved(Image.fromarray(RGB), "JPEG", quality=95, exif=exif)
    upright = np.asarray(Image.open(io.BytesIO(data)))
    turned = {
        1: upright, 2: upright[:, ::-1], 3: upright[::-1, ::-1], 4: upright[::-1], 5: upright.transpose(1, 0, 2),
        6: np.rot90(upright, -1), 7: upright[::-1, ::-1].transpose(1, 0, 2), 8: np.rot90(upright),
    }[orientation]  # fmt: skip
    assert torch.equal(decoded(data), chw(turned))


@pytest.mark.parametrize(("format", "name"), [("GIF", "decode_gif"), ("WEBP", "decode_webp")])
def test_animations_have_an_axis_of_pictures(format: str, name: str) -> None:
    pictures = [Image.fromarray(np.full((40, 60, 3), 60 * i, np.uint8)) for i in range(3)]
    options = {"lossless": True} if format == "WEBP" else {}
    data = saved(pictures[0], format, save_all=True, append_images=pictures[1:], **options)
    found = decoded(data, name)
    assert found.shape == (3, 3, 40, 60)
    assert [int(picture.max()) for picture in found] == [0, 60, 120]
    assert torch.equal(decoded(data), found)
    assert decoded(saved(pictures[1], format, **options), name).shape == (3, 40, 60)


def test_damage_is_an_error() -> None:
    data = saved(Image.fromarray(np.random.default_rng(0).integers(0, 256, (80, 80, 3), np.uint8)), "PNG")
    with pytest.raises(RuntimeError):
        decoded(data[:2000])
    with pytest.raises(RuntimeError):
        decoded(data, "decode_jpeg")
    with pytest.raises(ValueError, match="Unsupported or unrecognized"):
        decoded(b"no picture" * 10)


@pytest.mark.parametrize(
    ("format", "name", "no_image", "damaged"),
    [
        ("JPEG", "decode_jpeg", "Not a JPEG", "incomplete or truncated"),
        ("PNG", "decode_png", "Not a PNG", "Out of bound read"),
        ("WEBP", "decode_webp", "WebPGetFeatures failed", "Failed to decode the WebP bitstream"),
        ("GIF", "decode_gif", "DGifOpen", "DGifSlurp"),
    ],
)
def test_damage_is_told_in_the_words_that_callers_look_for(format: str, name: str, no_image: str, damaged: str) -> None:
    data = saved(Image.fromarray(np.random.default_rng(0).integers(0, 256, (80, 80, 3), np.uint8)), format)
    with pytest.raises(RuntimeError, match=no_image):
        decoded(bytes(100), name)
    with pytest.raises(RuntimeError, match=damaged):
        decoded(data[: len(data) // 2], name)


def test_exif_that_cannot_be_read_turns_nothing() -> None:
    data = saved(Image.fromarray(RGB), "PNG", exif=b"1" * 23)
    assert torch.equal(decoded(data), chw(RGB))


@pytest.mark.needs_heif
def test_heic() -> None:
    import pillow_heif

    file = io.BytesIO()
    pillow_heif.from_pillow(Image.fromarray(RGB)).save(file, quality=-1, chroma=444)
    found = decoded(file.getvalue())
    assert torch.equal(decoded(file.getvalue(), "decode_heic"), found)
    assert (found.to(torch.int16) - chw(RGB)).abs().max() <= 2


@pytest.mark.skipif(ORIGINALS, reason="torchcodec has libraries of its own")
def test_a_package_that_is_missing_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pillow_heif", None)
    with pytest.raises(ImportError, match=r"Failed to load the HEIC decoding library.*pip install pillow-heif"):
        decoded(b"\0\0\0\x18ftypheic" + bytes(40))


def test_encoders_write_to_every_kind_of_target(tmp_path: Path) -> None:
    names = torchcodec.encoders
    for image in (chw(RGB), chw(RGB)[:1]):
        png = names.PngEncoder(image)
        png.to_file(tmp_path / "a.png")
        file = io.BytesIO()
        png.to_file_like(file, compression_level=9)
        for data in ((tmp_path / "a.png").read_bytes(), file.getvalue(), bytes(png.to_tensor().numpy())):
            assert torch.equal(decoded(data, mode="UNCHANGED"), image)
        jpeg = names.JpegEncoder(image)
        jpeg.to_file(tmp_path / "a.jpg", quality=95)
        for data in ((tmp_path / "a.jpg").read_bytes(), bytes(jpeg.to_tensor(quality=95).numpy())):
            assert (decoded(data, mode="UNCHANGED").to(torch.int16) - image).abs().max() < 30


def test_encoders_check_their_arguments() -> None:
    names = torchcodec.encoders
    for quality in (0, 101):
        with pytest.raises(ValueError, match="between 1 and 100"):
            names.JpegEncoder(chw(RGB)).to_tensor(quality=quality)
    with pytest.raises(RuntimeError):
        names.PngEncoder(chw(RGB)).to_tensor(compression_level=10)
    for wrong in (chw(RGB).float(), chw(RGB)[:2], chw(RGB)[0]):
        for make in (names.JpegEncoder, names.PngEncoder):
            with pytest.raises(RuntimeError):
                make(wrong).to_tensor()
