# SPDX-License-Identifier: Apache-2.0
"""Words of `tricodec.encode_video` and `tricodec.transcode` as tensors of the models that do them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

# Word of the request: its tensor, the tensor's type, and the default, which is not sent.
_ENCODER: dict[str, tuple[str, str, Any]] = {
    "codec": ("CODEC", "BYTES", "h264"),
    "container": ("CONTAINER", "BYTES", "mp4"),
    "pixel_format": ("PIXEL_FORMAT", "BYTES", None),
    "frame_rate": ("FRAME_RATE", "FP64", None),
    "bit_rate": ("BIT_RATE", "INT64", 0),
    "crf": ("CRF", "FP32", None),
    "gop_size": ("GOP_SIZE", "INT64", -1),
    "num_b_frames": ("NUM_B_FRAMES", "INT64", -1),
    "preset": ("PRESET", "BYTES", None),
    "num_threads": ("NUM_THREADS", "INT64", 1),
    "options": ("OPTIONS", "BYTES", None),
    "fast_start": ("FAST_START", "BOOL", False),
    "fragmented": ("FRAGMENTED", "BOOL", False),
}
ENCODE_WORDS: dict[str, tuple[str, str, Any]] = {
    "color": ("COLOR", "BYTES", "rgb"),
    "layout": ("LAYOUT", "BYTES", "HWC"),
    "format": ("FORMAT", "BYTES", None),
    "matrix": ("MATRIX", "BYTES", None),
    "range": ("RANGE", "BYTES", None),
    "rotation": ("ROTATION", "INT64", 0),
    **_ENCODER,
}
TRANSCODE_WORDS: dict[str, tuple[str, str, Any]] = {
    "crop": ("CROP", "INT64", None),
    "size": ("SIZE", "INT64", None),
    "start": ("START_SECONDS", "FP64", None),
    "end": ("END_SECONDS", "FP64", None),
    "audio": ("AUDIO", "BOOL", True),
    **_ENCODER,
}


def as_words(words: Mapping[str, Any]) -> dict[str, Any]:
    """The words with values that NumPy makes tensors of: options as "name=value", a rate as a number."""
    values = dict(words)
    if values.get("options") is not None:
        values["options"] = [f"{name}={value}" for name, value in dict(values["options"]).items()] or None
    rate = values.get("frame_rate")
    if rate is not None:
        values["frame_rate"] = rate[0] / rate[1] if isinstance(rate, tuple) else float(rate)
    return values


def frames_tensor(frames: Any, format: str | None) -> tuple[str, Any, str]:
    """The input that an array of frames is: its name, the array with a batch dimension, and its type.

    Raises:
        TypeError, ValueError: for arrays that are none of the model's inputs.
    """
    array = np.ascontiguousarray(frames)
    if array.dtype not in (np.uint8, np.uint16):
        raise TypeError(
            f"frames have dtype {array.dtype}; frames to encode are uint8, 0 to 255, and raw planes of more than 8 "
            "bits uint16"
        )
    deep = array.dtype == np.uint16
    # Pictures of the names that have three axes come as [F, ...]; a single picture gets that axis.
    axes = 2 if format is not None and array.ndim < 4 else 3
    if array.ndim == axes:
        array = array[np.newaxis]
    if array.ndim != axes + 1 or (deep and array.ndim != 3):
        raise ValueError(
            f"frames have shape {array.shape}; the server takes [F, H, W, C], [F, C, H, W], or with format= raw "
            "planes, [F, H * 3 / 2, W] and the like"
        )
    name = "FRAMES" if array.ndim == 4 else "PLANES_UINT16" if deep else "PLANES"
    return name, array[np.newaxis], "UINT16" if deep else "UINT8"
