# SPDX-License-Identifier: Apache-2.0
"""torchcodec's image decoders on Pillow."""

from __future__ import annotations

import enum
import importlib
import io
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

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
                f"an encoded image is a uint8 tensor of one axis, not {source.dtype} {tuple(source.shape)}"
            )
        return bytes(source.cpu().contiguous().numpy())
    if isinstance(source, (str, Path)):
        return Path(source).read_bytes()
    if isinstance(source, (bytes, bytearray)):
        return bytes(source)
    raise TypeError(f"Unknown source type: {type(source)}. Supported types are str, Path, bytes and torch.Tensor.")


def _gray_of(rgb: Any) -> Any:
    """[..., 3] to [..., 1] by the weights of ITU-R 601."""
    gray = (rgb.astype(np.float32) * np.array([0.2989, 0.587, 0.114], np.float32)).sum(axis=-1, keepdims=True)
    return gray.round().clip(0, 255).astype(np.uint8)


def _has_alpha(image: Any) -> bool:
    return image.mode in ("RGBA", "LA", "PA") or "transparency" in image.info


def _channels(image: Any, mode: ImageReadMode) -> Any:
    """One upright picture as an array [H, W, C]."""
    if image.mode in ("I;16", "I;16B", "I;16L", "I"):
        deep = np.asarray(image).astype(np.uint16)[..., None]
        return _from_deep_gray(deep, mode)
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
    light = _gray_of(rgba[..., :3])
    return np.concatenate([light, rgba[..., 3:]], axis=-1) if mode is ImageReadMode.GRAY_ALPHA else light


def _from_deep_gray(deep: Any, mode: ImageReadMode) -> Any:
    colors = 3 if mode in (ImageReadMode.RGB, ImageReadMode.RGB_ALPHA) else 1
    planes = [deep] * colors
    if mode in (ImageReadMode.GRAY_ALPHA, ImageReadMode.RGB_ALPHA):
        planes.append(np.full_like(deep, 65535))
    return np.concatenate(planes, axis=-1)


def _to_dtype(array: Any, output_dtype: Dtype) -> Any:
    if output_dtype == torch.uint16 and array.dtype == np.uint8:
        return array.astype(np.uint16) * 257
    if output_dtype == torch.uint8 and array.dtype == np.uint16:
        return np.round(array.astype(np.float32) / 257).astype(np.uint8)
    return array


def _decoded(source: Any, mode: Mode, output_dtype: Dtype, formats: Sequence[str]) -> Tensor:
    """One picture [C, H, W], or the pictures of an animation [N, C, H, W]."""
    _check_dtype(output_dtype)
    wanted = _mode_of(mode)
    data = _bytes_of(source)
    image_module = _pillow("Image")
    turn = _pillow("ImageOps").exif_transpose
    try:
        image = image_module.open(io.BytesIO(data), formats=formats)
        if image.format == "JPEG" and wanted in (ImageReadMode.GRAY, ImageReadMode.GRAY_ALPHA):
            image.draft("L", None)  # the luma as it is coded
        if image.format == "PNG" and data[24:25] == b"\x10" and data[25:26] not in (b"\x00",):
            raise RuntimeError("PNG of 16 bits with colors or alpha is not decoded here; Pillow has no such pictures")
        pictures = []
        for i in range(getattr(image, "n_frames", 1)):
            image.seek(i)
            pictures.append(_channels(turn(image), wanted))
    except (OSError, SyntaxError, ValueError, EOFError, image_module.DecompressionBombError) as error:
        raise RuntimeError(f"the image cannot be decoded: {error}") from error
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
        return [_decoded(each, mode, output_dtype, ["JPEG"]) for each in source]
    return _decoded(source, mode, output_dtype, ["JPEG"])


def decode_png(source: Any, *, mode: Mode = "RGB", output_dtype: Dtype = torch.uint8) -> Tensor:
    """Decode a PNG image; see `decode_jpeg`. Of 16 bits only gray ones are decoded."""
    return _decoded(source, mode, output_dtype, ["PNG"])


def decode_webp(source: Any, *, mode: Mode = "RGB", output_dtype: Dtype = torch.uint8) -> Tensor:
    """Decode a WebP image; see `decode_jpeg`. An animation is [N, C, H, W]."""
    return _decoded(source, mode, output_dtype, ["WEBP"])


def decode_gif(source: Any, *, mode: Mode = "RGB", output_dtype: Dtype = torch.uint8) -> Tensor:
    """Decode a GIF image; see `decode_jpeg`. An animation is [N, C, H, W]."""
    return _decoded(source, mode, output_dtype, ["GIF"])


def decode_avif(source: Any, *, mode: Mode = "RGB", output_dtype: Dtype = torch.uint8, num_threads: int = 1) -> Tensor:
    """Decode an AVIF image of 8 bits; see `decode_jpeg`. `num_threads` is taken and ignored."""
    return _decoded(source, mode, output_dtype, ["AVIF"])


def decode_heic(source: Any, *, mode: Mode = "RGB", output_dtype: Dtype = torch.uint8) -> Tensor:
    """HEIC is not decoded here.

    Raises:
        ImportError: always.
    """
    raise ImportError("Failed to load the HEIC decoding library: there is none here; convert the image")


def decode_image(source: Any, *, mode: Mode = "RGB", output_dtype: Dtype = torch.uint8) -> Tensor:
    """Decode an image of any of these formats, which its first bytes tell; see `decode_jpeg`.

    Raises:
        ValueError: for data of no known format.
    """
    data = _bytes_of(source)
    brands = data[8:64] if data[4:8] == b"ftyp" else b""
    if data.startswith(b"\xff\xd8\xff"):
        formats = ["JPEG"]
    elif data.startswith(b"\x89PNG\r\n\x1a\n"):
        formats = ["PNG"]
    elif data.startswith((b"GIF87a", b"GIF89a")):
        formats = ["GIF"]
    elif data.startswith(b"RIFF") and data[8:12] == b"WEBP":
        formats = ["WEBP"]
    elif b"avif" in brands or b"avis" in brands:
        formats = ["AVIF"]
    elif any(brand in brands for brand in (b"heic", b"heix", b"heim", b"heis", b"hevc", b"hevx", b"mif1", b"msf1")):
        return decode_heic(data, mode=mode, output_dtype=output_dtype)
    else:
        raise ValueError(
            "Unsupported or unrecognized image format. Supported formats are JPEG, PNG, WebP, GIF and AVIF."
        )
    return _decoded(data, mode, output_dtype, formats)


ImageReadMode.__module__ = "tricodec.compat.torchcodec.decoders"
