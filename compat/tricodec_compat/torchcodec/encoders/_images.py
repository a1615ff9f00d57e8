# SPDX-License-Identifier: Apache-2.0
"""torchcodec's image encoders on Pillow."""

from __future__ import annotations

import abc
import importlib
import io
import os
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from tricodec_compat.torchcodec.encoders._targets import as_tensor, expect_file_like


class _ImageEncoder(abc.ABC):
    def __init__(self, img: Tensor) -> None:
        self._img = img

    @abc.abstractmethod
    def _encoded(self, *_: Any, **options: Any) -> bytes:
        """The file."""

    def to_file(self, dest: str | Path, **options: int) -> None:
        """Write a file.

        Args:
            dest: the path.
            options: that of the class.

        Raises:
            RuntimeError: for another tensor, or a file that cannot be written.
        """
        data, target = self._encoded(**options), Path(dest)
        unfinished = target.with_name(f".{target.name}.{os.getpid()}")
        try:
            unfinished.write_bytes(data)
            unfinished.replace(target)
        except OSError as error:
            raise RuntimeError(f"cannot write {dest}: {error}") from error

    def to_file_like(self, dest: Any, **options: int) -> None:
        """Write to an object with ``write`` and ``seek``; see to_file()."""
        expect_file_like(dest)
        dest.write(self._encoded(**options))

    def to_tensor(self, **options: int) -> Tensor:
        """Encode to a uint8 tensor of one axis; see to_file()."""
        return as_tensor(self._encoded(**options))

    def _saved(self, format: str, **options: Any) -> bytes:
        image = self._img
        if image.dtype != torch.uint8:
            raise RuntimeError(f"Input tensor must have uint8 data type, got {image.dtype}")
        if image.ndim != 3:
            raise RuntimeError(f"Input data must be a 3-dimensional tensor, got {image.ndim} dimensions")
        if image.shape[0] not in (1, 3):
            raise RuntimeError(f"The number of channels should be 1 or 3, got {image.shape[0]}")
        try:
            module = importlib.import_module("PIL.Image")
        except ImportError as error:
            raise ImportError("images are encoded by Pillow, which is not installed: pip install pillow") from error
        array = image.detach().cpu().permute(1, 2, 0).contiguous().numpy()
        file = io.BytesIO()
        module.fromarray(array[..., 0] if array.shape[-1] == 1 else array).save(file, format, **options)
        return file.getvalue()


class JpegEncoder(_ImageEncoder):
    """Encodes one image as JPEG. The methods take `quality`, from 1 to 100 (75); others are a ValueError.

    Args:
        img: uint8, [C, H, W] with 1 or 3 channels.
    """

    def _encoded(self, *, quality: int = 75) -> bytes:
        if not 1 <= quality <= 100:
            raise ValueError(f"Image quality should be a positive number between 1 and 100, not {quality}")
        return self._saved("JPEG", quality=quality)


class PngEncoder(_ImageEncoder):
    """Encodes one image as PNG. The methods take `compression_level`, from 0 to 9 (6).

    Args:
        img: uint8, [C, H, W] with 1 or 3 channels.
    """

    def _encoded(self, *, compression_level: int = 6) -> bytes:
        if not 0 <= compression_level <= 9:
            raise RuntimeError(f"Compression level should be between 0 and 9, not {compression_level}")
        return self._saved("PNG", compress_level=compression_level)


for _class in (JpegEncoder, PngEncoder):
    _class.__module__ = "tricodec_compat.torchcodec.encoders"
