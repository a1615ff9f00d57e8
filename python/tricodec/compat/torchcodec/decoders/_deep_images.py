# SPDX-License-Identifier: Apache-2.0
"""Images of more than 8 bits, which Pillow does not have: PNG and AVIF by imagecodecs, HEIC by pillow-heif."""

from __future__ import annotations

import importlib
import io
from typing import Any

import numpy as np

_HEIC_BRANDS = (b"heic", b"heix", b"heim", b"heis", b"hevc", b"hevx", b"mif1", b"msf1")


def format_of(data: bytes) -> str | None:
    """What the first bytes say: Pillow's name of the format, or "HEIC"."""
    if data.startswith(b"\xff\xd8\xff"):
        return "JPEG"
    if data.startswith(b"\x89PNG\r\n\x1a\n"):
        return "PNG"
    if data.startswith((b"GIF87a", b"GIF89a")):
        return "GIF"
    if data.startswith(b"RIFF") and data[8:12] == b"WEBP":
        return "WEBP"
    brands = data[8:64] if data[4:8] == b"ftyp" else b""
    if b"avif" in brands or b"avis" in brands:
        return "AVIF"
    return "HEIC" if any(brand in brands for brand in _HEIC_BRANDS) else None


def _avif_bits(data: bytes) -> int:
    """The bits of a sample, from the configuration record of AV1."""
    at = data.find(b"av1C")
    flags = data[at + 6] if 0 <= at < len(data) - 6 else 0
    return 8 if not flags & 0x40 else (12 if flags & 0x20 else 10)


def deep_picture(data: bytes, format: str, *, may_be_8_bits: bool) -> Any:
    """A picture [H, W, C] of uint16 up to 65535, as it lies in the file; None of those that Pillow has.

    Args:
        data: the file.
        format: Pillow's name.
        may_be_8_bits: Pillow's 8 bits of an AVIF are enough.

    Raises:
        ImportError: if imagecodecs is needed and not installed.
        ValueError: for damaged data.
    """
    if format == "PNG" and data[24:25] == b"\x10" and data[25:26] != b"\x00":
        return _planes(_decoded(data, "png"))
    bits = 8 if format != "AVIF" or may_be_8_bits else _avif_bits(data)
    if bits == 8:
        return None
    most = (1 << bits) - 1
    picture = _planes(_decoded(data, "avif")).astype(np.uint32)
    return ((picture * 65535 + most // 2) // most).astype(np.uint16)


def _decoded(data: bytes, codec: str) -> Any:
    try:
        module = importlib.import_module("imagecodecs")
    except ImportError as error:
        message = f"{codec.upper()} of more than 8 bits is decoded by imagecodecs: pip install imagecodecs"
        raise ImportError(message) from error
    try:
        return getattr(module, f"{codec}_decode")(data)
    except RuntimeError as error:
        raise ValueError(str(error)) from error


def _planes(picture: Any) -> Any:
    return picture[..., None] if picture.ndim == 2 else picture


def heic_pictures(data: bytes) -> list[Any]:
    """The pictures [H, W, C] of a HEIC file, upright, of uint8, or of uint16 up to 65535.

    Raises:
        ImportError: if pillow-heif is not installed.
        RuntimeError: for data that is no such image.
    """
    try:
        module = importlib.import_module("pillow_heif")
    except ImportError as error:
        raise ImportError(
            "Failed to load the HEIC decoding library: images are decoded by pillow-heif, which is not installed: "
            "pip install pillow-heif"
        ) from error
    try:
        file = module.open_heif(io.BytesIO(data), convert_hdr_to_8bit=False, bgr_mode=False)
        pictures = [_planes(np.array(each)) for each in file]
    except (OSError, SyntaxError, ValueError, EOFError, RuntimeError) as error:
        raise RuntimeError(f"the HEIC image cannot be decoded: {error}") from error
    # Deep samples are at the upper end of 16 bits, and the lower bits are 0.
    return [
        picture if picture.dtype == np.uint8 else picture | picture >> each.info.get("bit_depth", 10)
        for picture, each in zip(pictures, file, strict=True)
    ]


def gray_of(rgb: Any) -> Any:
    """[..., 3] to [..., 1] by the weights of ITU-R 601."""
    gray = (rgb.astype(np.float32) * np.array([0.2989, 0.587, 0.114], np.float32)).sum(axis=-1, keepdims=True)
    return gray.round().clip(0, np.iinfo(rgb.dtype).max).astype(rgb.dtype)


def channels_of(picture: Any, mode: str) -> Any:
    """A picture [H, W, 1 to 4] in the channels of a mode; what has no alpha is opaque."""
    has_alpha, gray = picture.shape[-1] in (2, 4), picture.shape[-1] <= 2
    if mode == "UNCHANGED":
        return picture
    colors = picture[..., : 1 if gray else 3]
    if mode in ("GRAY", "GRAY_ALPHA"):
        colors = colors if gray else gray_of(colors)
    elif gray:
        colors = np.repeat(colors, 3, axis=-1)
    if not mode.endswith("ALPHA"):
        return colors
    opaque = np.full((*picture.shape[:2], 1), np.iinfo(picture.dtype).max, picture.dtype)
    return np.concatenate([colors, picture[..., -1:] if has_alpha else opaque], axis=-1)


def upright(picture: Any, orientation: int) -> Any:
    """A picture [H, W, C] as EXIF's orientation turns it."""
    if orientation in (5, 6, 7, 8):
        picture = picture.swapaxes(0, 1)
    if orientation in (3, 4, 7, 8):
        picture = picture[::-1]
    return picture[:, ::-1] if orientation in (2, 3, 6, 7) else picture
