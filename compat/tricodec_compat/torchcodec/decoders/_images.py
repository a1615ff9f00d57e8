# SPDX-License-Identifier: Apache-2.0
"""torchcodec's image decoders on Pillow, and on pillow-heif for HEIC."""

from __future__ import annotations

import enum
import importlib
import io
import struct
import zlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

_HEIC_BRANDS = (b"heic", b"heix", b"heim", b"heis", b"hevc", b"hevx", b"mif1", b"msf1")

Mode = Any  # a name in any case, or an ImageReadMode
Dtype = Any  # torch.uint8, torch.uint16 or "auto"


class ImageReadMode(enum.Enum):
    """The channels of a decoded image."""

    UNCHANGED = 0
    GRAY = 1
    GRAY_ALPHA = 2
    RGB = 3
    RGB_ALPHA = 4
    RGBA = 4  # noqa: PIE796  (another name of RGB_ALPHA)


def _pillow(module: str) -> Any:
    try:
        return importlib.import_module(f"PIL.{module}")
    except ImportError as error:
        raise ImportError("images are decoded by Pillow, which is not installed: pip install pillow") from error


def _load_heif() -> None:
    try:
        importlib.import_module("pillow_heif").register_heif_opener()
    except ImportError as error:
        raise ImportError(
            "Failed to load the HEIC decoding library: images are decoded by pillow-heif, which is not installed: "
            "pip install pillow-heif"
        ) from error


def _format_of(data: bytes) -> str | None:
    """Pillow's name of the format that the first bytes tell."""
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
    return "HEIF" if any(brand in brands for brand in _HEIC_BRANDS) else None


def _mode_of(mode: Mode) -> ImageReadMode:
    if isinstance(mode, ImageReadMode):
        return mode
    if not isinstance(mode, str):
        raise TypeError(f"mode must be a str (or ImageReadMode), got {type(mode)}.")
    try:
        return ImageReadMode[mode.upper()]
    except KeyError:
        names = ", ".join(repr(each.name) for each in ImageReadMode)
        raise ValueError(f"Invalid mode {mode!r}. Supported modes are {names} (case-insensitive).") from None


def _check_dtype(output_dtype: Dtype) -> None:
    if output_dtype not in (torch.uint8, torch.uint16, "auto"):
        raise ValueError(
            f"Invalid output_dtype ({output_dtype}). Supported values are torch.uint8, torch.uint16, and 'auto'."
        )


def _bytes_of(source: Any) -> bytes:
    if isinstance(source, Tensor):
        if source.dtype != torch.uint8 or source.ndim != 1 or source.numel() == 0:
            raise RuntimeError(
                f"Expected a non-empty 1-dimensional uint8 tensor, got {source.dtype} of shape {tuple(source.shape)}"
            )
        return bytes(source.cpu().contiguous().numpy())
    if isinstance(source, (str, Path)):
        return Path(source).read_bytes()
    if isinstance(source, (bytes, bytearray)):
        return bytes(source)
    raise TypeError(f"Unknown source type: {type(source)}. Supported types are str, Path, bytes and torch.Tensor.")


#: What is said of data that are no such image, and of one that is damaged; callers look for these texts.
_FAILURES = {
    "JPEG": ("Not a JPEG file", "Image is incomplete or truncated"),
    "PNG": ("Not a PNG file", "Out of bound read"),
    "WEBP": ("WebPGetFeatures failed", "Failed to decode the WebP bitstream"),
    "GIF": ("DGifOpen failed", "DGifSlurp failed"),
    "AVIF": ("avifDecoderParse failed", "avifDecoderParse failed"),
    "HEIF": ("Not a HEIC file", "Failed to decode the HEIC image"),
}


def _failure(data: bytes, format: str) -> str:
    if _format_of(data) != format:
        return _FAILURES[format][0]
    if format == "PNG" and zlib.crc32(data[12:29]) != int.from_bytes(data[29:33], "big"):
        return "CRC error"
    return _FAILURES[format][1]


def _has_alpha(image: Any) -> bool:
    return image.mode in ("RGBA", "LA", "PA") or "transparency" in image.info


def _channels(image: Any, mode: ImageReadMode) -> Any:
    """One upright picture as an array [H, W, C]."""
    if image.mode.startswith("I"):  # gray of 16 bits
        light = np.asarray(image).astype(np.uint16)[..., None]
        colors = np.repeat(light, 3, axis=-1) if mode.name.startswith("RGB") else light
        return np.concatenate([colors, np.full_like(light, 65535)], axis=-1) if mode.name.endswith("ALPHA") else colors
    if image.mode == "CMYK" and mode is ImageReadMode.UNCHANGED:
        return np.asarray(image)
    gray = image.mode in ("1", "L", "LA")
    if mode is ImageReadMode.UNCHANGED:
        alpha = _has_alpha(image)
        mode = {
            (True, True): ImageReadMode.GRAY_ALPHA, (True, False): ImageReadMode.GRAY,
            (False, True): ImageReadMode.RGB_ALPHA, (False, False): ImageReadMode.RGB,
        }[gray, alpha]  # fmt: skip
    if mode is ImageReadMode.RGB:
        return np.asarray(image.convert("RGB"))
    if mode is ImageReadMode.RGB_ALPHA:
        return np.asarray(image.convert("RGBA"))
    if gray:
        return np.asarray(image.convert("LA" if mode is ImageReadMode.GRAY_ALPHA else "L")).reshape(
            image.height, image.width, -1
        )
    rgba = np.asarray(image.convert("RGBA"))
    # ITU-R 601
    luma = (rgba[..., :3].astype(np.float32) * np.array([0.2989, 0.587, 0.114], np.float32)).sum(-1, keepdims=True)
    light = luma.round().clip(0, 255).astype(np.uint8)
    return np.concatenate([light, rgba[..., 3:]], axis=-1) if mode is ImageReadMode.GRAY_ALPHA else light


def _to_dtype(array: Any, output_dtype: Dtype) -> Any:
    if output_dtype == torch.uint16 and array.dtype == np.uint8:
        return array.astype(np.uint16) * 257
    if output_dtype == torch.uint8 and array.dtype == np.uint16:
        return np.round(array.astype(np.float32) / 257).astype(np.uint8)
    return array


def _decoded(source: Any, mode: Mode, output_dtype: Dtype, format: str) -> Tensor:
    """One picture [C, H, W], or the pictures of an animation [N, C, H, W]."""
    _check_dtype(output_dtype)
    wanted = _mode_of(mode)
    data = _bytes_of(source)
    if format == "HEIF":
        _load_heif()
    image_module = _pillow("Image")
    turn = _pillow("ImageOps").exif_transpose
    try:
        image = image_module.open(io.BytesIO(data), formats=[format])
        if image.format == "JPEG" and wanted in (ImageReadMode.GRAY, ImageReadMode.GRAY_ALPHA):
            image.draft("L", None)  # the luma as it is coded
        pictures = []
        for i in range(getattr(image, "n_frames", 1)):
            image.seek(i)
            pictures.append(_channels(_upright(image, turn), wanted))
    except (OSError, SyntaxError, ValueError, EOFError, image_module.DecompressionBombError) as error:
        raise RuntimeError(f"{_failure(data, format)}: the image cannot be decoded: {error}") from error
    return _tensor_of(pictures, output_dtype)


def _upright(image: Any, turn: Any) -> Any:
    """The picture as EXIF turns it; EXIF that cannot be read turns nothing."""
    try:
        return turn(image)
    except (SyntaxError, struct.error, KeyError, TypeError):
        return image


def _tensor_of(pictures: Sequence[Any], output_dtype: Dtype) -> Tensor:
    array = _to_dtype(np.stack(pictures) if len(pictures) > 1 else pictures[0], output_dtype)
    return torch.from_numpy(np.array(np.moveaxis(array, -1, -3), order="C"))


def decode_jpeg(
    source: Any, *, mode: Mode = "RGB", output_dtype: Dtype = torch.uint8, device: str | torch.device = "cpu"
) -> Tensor | list[Tensor]:
    """Decode a JPEG image, or a list of them to a list.

    Args:
        source: a path, bytes, or a uint8 tensor of one axis.
        mode: "RGB", "GRAY", "GRAY_ALPHA", "RGB_ALPHA" or "UNCHANGED", in any case, or an `ImageReadMode`.
        output_dtype: torch.uint8, torch.uint16 (times 257), or "auto".
        device: "cpu".

    Returns:
        [C, H, W], turned upright as EXIF says.

    Raises:
        RuntimeError: for data that is no such image, or another device.
        ValueError, TypeError: for another mode or dtype.
        FileNotFoundError: if there is no such file.
    """
    if torch.device(device).type != "cpu":
        raise RuntimeError(f"images are decoded on the CPU here, not on {device}")
    if isinstance(source, (list, tuple)):
        return [_decoded(each, mode, output_dtype, "JPEG") for each in source]
    return _decoded(source, mode, output_dtype, "JPEG")


def decode_png(source: Any, *, mode: Mode = "RGB", output_dtype: Dtype = torch.uint8) -> Tensor:
    """Decode a PNG image; see `decode_jpeg`. Of 16 bits only gray keeps more than 8."""
    return _decoded(source, mode, output_dtype, "PNG")


def decode_webp(source: Any, *, mode: Mode = "RGB", output_dtype: Dtype = torch.uint8) -> Tensor:
    """Decode a WebP image; see `decode_jpeg`. An animation is [N, C, H, W]."""
    return _decoded(source, mode, output_dtype, "WEBP")


def decode_gif(source: Any, *, mode: Mode = "RGB", output_dtype: Dtype = torch.uint8) -> Tensor:
    """Decode a GIF image; see `decode_jpeg`. An animation is [N, C, H, W]."""
    return _decoded(source, mode, output_dtype, "GIF")


def decode_avif(source: Any, *, mode: Mode = "RGB", output_dtype: Dtype = torch.uint8, num_threads: int = 1) -> Tensor:
    """Decode an AVIF image to 8 bits; see `decode_jpeg`.

    Args:
        num_threads: at least 1; it changes no pixel.
    """
    if num_threads < 1:
        raise RuntimeError(f"num_threads must be >= 1, got {num_threads}")
    return _decoded(source, mode, output_dtype, "AVIF")


def decode_heic(source: Any, *, mode: Mode = "RGB", output_dtype: Dtype = torch.uint8) -> Tensor:
    """Decode a HEIC image by the package pillow-heif; see `decode_jpeg`. Several images are [N, C, H, W].

    Raises:
        ImportError: if that package is not installed.
    """
    return _decoded(source, mode, output_dtype, "HEIF")


def decode_image(source: Any, *, mode: Mode = "RGB", output_dtype: Dtype = torch.uint8) -> Tensor:
    """Decode an image of any of these formats, which its first bytes tell; see `decode_jpeg`.

    Raises:
        ValueError: for data of no known format.
    """
    data = _bytes_of(source)
    format = _format_of(data)
    if format is None:
        raise ValueError(
            "Unsupported or unrecognized image format. Supported formats are JPEG, PNG, WebP, GIF, AVIF and HEIC."
        )
    return _decoded(data, mode, output_dtype, format)


ImageReadMode.__module__ = "tricodec_compat.torchcodec.decoders"
