# SPDX-License-Identifier: Apache-2.0
"""Arguments that torchcodec's decoders and blocks share."""

from __future__ import annotations

import numbers
from collections.abc import Sequence
from typing import Any, Literal

import torch
from tricodec.video import StreamInfo

DTypeName = Literal["uint8", "float32"]
#: The data types of RGB pictures, by the project's names.
DTYPES: dict[DTypeName, torch.dtype] = {"uint8": torch.uint8, "float32": torch.float32}


def device_of(device: str | torch.device | None) -> str:
    """ "cpu", "cuda" or "cuda:1"; None is torch's default device.

    Raises:
        RuntimeError: for a device of another type.
    """
    name = str(torch.get_default_device() if device is None else device)
    kind = name.partition(":")[0]
    if kind not in ("cpu", "cuda"):
        raise RuntimeError(f"Unknown device type: {kind}; frames are decoded on 'cpu' or 'cuda'")
    return "cpu" if kind == "cpu" else name


def expect_output_dtype(output_dtype: Any) -> None:
    """Throws ValueError for a data type that RGB pictures cannot have."""
    if output_dtype != "auto" and output_dtype not in DTYPES.values():
        raise ValueError(
            f"Invalid output_dtype ({output_dtype}). Supported values are torch.uint8, torch.float32, and 'auto'."
        )


def expect_num_threads(num_ffmpeg_threads: Any) -> None:
    """Throws ValueError for a number of threads that is no integer."""
    if not isinstance(num_ffmpeg_threads, numbers.Integral):
        raise ValueError(f"num_ffmpeg_threads = {num_ffmpeg_threads!r} should be an int.")


def expect_stream(streams: Sequence[StreamInfo], stream_index: int) -> None:
    """Throws ValueError for a stream number past the last one."""
    if not 0 <= stream_index < len(streams):
        raise ValueError(f"The stream index {stream_index} is not a valid stream; the file has {len(streams)}")
