# SPDX-License-Identifier: Apache-2.0
"""torchcodec's sources, for the project's readers."""

from __future__ import annotations

import io
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import torch
from tricodec import AudioReader, DeviceError, Error, RefusedError, probe
from tricodec.video import MediaInfo

_Opened = TypeVar("_Opened")


def to_source(source: Any) -> Any:
    """The same source as in `tricodec.FrameReader`.

    Raises:
        TypeError: for objects that are no source, text files among them.
        ValueError: for bytes without content.
        RuntimeError: for a tensor that is not of one axis and uint8, or empty.
    """
    if isinstance(source, (str, Path)):
        text = str(source)
        return text.removeprefix("file:") if text.startswith("file:/") else text
    if isinstance(source, bytes):
        if not source:
            raise ValueError("the source is bytes without content; pass the whole file")
        return source
    if isinstance(source, torch.Tensor):
        return _bytes_of(source)
    if isinstance(source, io.TextIOBase):
        raise TypeError("source is for reading text, likely from open(..., 'r'). Try with 'rb' for binary reading?")
    if isinstance(source, (io.RawIOBase, io.BufferedReader)) or (hasattr(source, "read") and hasattr(source, "seek")):
        return source
    raise TypeError(
        f"Unknown source type: {type(source)}. Supported types are str, Path, bytes, Tensor and file-like objects with "
        "read(self, size: int) -> bytes and seek(self, offset: int, whence: int) -> int methods."
    )


def _bytes_of(tensor: torch.Tensor) -> Any:
    if tensor.dtype != torch.uint8:
        raise RuntimeError(f"a source that is a tensor must be uint8 (kUInt8), not {tensor.dtype}")
    if tensor.numel() == 0:
        raise RuntimeError("the source is a tensor without elements: data must not be empty")
    if tensor.ndim != 1:
        raise RuntimeError(f"Failed to open input buffer: a tensor of bytes has one axis, not {tensor.ndim}")
    return tensor.detach().cpu().contiguous().numpy()


def opened(source: Any, open_it: Callable[[Any], _Opened]) -> _Opened:
    """What `open_it` makes of a source.

    Raises:
        RuntimeError: if the source cannot be opened, with the start of torchcodec's text.
    """
    given = to_source(source)
    try:
        return open_it(given)
    except DeviceError:
        raise
    except RefusedError as error:
        if isinstance(given, str) and "://" in given:
            raise RuntimeError(
                f"Could not open input file: {given}: no URL is opened here; pass bytes, or a file-like object such as "
                f"fsspec.open({given!r}).open()"
            ) from error
        raise RuntimeError(f"{_failure(given)}: {error}") from error
    except Error as error:
        raise RuntimeError(f"{_failure(given)}: {error}") from error


def probed(source: Any) -> MediaInfo:
    """What a file says of its streams; also a file of sound alone, which `probe` refuses."""
    try:
        return probe(source)
    except RefusedError:
        return AudioReader(source).info


def _failure(source: Any) -> str:
    if isinstance(source, str):
        return f"Could not open input file: {os.fspath(source)}"
    return "Failed to open input buffer"
