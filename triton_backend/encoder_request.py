# SPDX-License-Identifier: Apache-2.0
"""The inputs that requests to encode have in common, and the encoder options that a client may set.

libavcodec's encoders have options that name files to read and write ("stats", "x264-params", "passlogfile"), and
others of unbounded cost. Clients may set those that are known to do neither.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
import tricodec
from tricodec.triton_backend.rows import Table, number, word
from tricodec.triton_backend.settings import Settings, num_cores

CODECS = ("h264", "hevc", "av1", "vp8", "vp9")
CONTAINERS = ("mp4", "mov", "mkv", "matroska", "webm", "ts", "mpegts", "ivf", "raw")
OPTIONS = frozenset(
    (
        "preset tune profile level tier crf qp cq rc maxrate minrate bufsize qmin qmax qcomp refs keyint_min "
        "sc_threshold aq-mode aq-strength b-pyramid b_strategy b_ref_mode weightp weightb coder mbtree rc-lookahead "
        "la_depth subq trellis psy psy-rd deblock nal-hrd intra-refresh slices tile_rows tile_columns spatial-aq "
        "temporal-aq multipass zerolatency deadline cpu-used row-mt lag-in-frames"
    ).split()
)
_MOST_OPTIONS = 32


def _one_of(*accepted: str) -> Callable[[npt.NDArray[Any]], str]:
    def convert(row: npt.NDArray[Any]) -> str:
        value = word(row)
        if value not in accepted:
            raise ValueError(f"{value!r} is not accepted here; accepted: {', '.join(accepted)}")
        return value

    return convert


def _options(row: npt.NDArray[Any]) -> dict[str, str]:
    """Entries "name=value" by name."""
    entries = row.reshape(-1).tolist()
    if len(entries) > _MOST_OPTIONS:
        raise ValueError(f"expected at most {_MOST_OPTIONS} entries, got {len(entries)}")
    found: dict[str, str] = {}
    for entry in entries:
        name, equals, value = word(np.array([entry], np.object_)).partition("=")
        if not (name and equals):
            raise ValueError(f'{name!r} is not an entry; entries are "name=value", such as "tune=film"')
        if name not in OPTIONS:
            raise ValueError(f"this server does not let clients set {name!r}; accepted: {', '.join(sorted(OPTIONS))}")
        found[name] = value
    return found


#: Inputs of both models, in the words of tricodec.encode_video and tricodec.transcode.
ENCODER: Table = {
    "CODEC": ("codec", _one_of(*CODECS)),
    "CONTAINER": ("container", _one_of(*CONTAINERS)),
    "PIXEL_FORMAT": ("pixel_format", word),
    "FRAME_RATE": ("frame_rate", number),
    "BIT_RATE": ("bit_rate", number),
    "CRF": ("crf", number),
    "GOP_SIZE": ("gop_size", number),
    "NUM_B_FRAMES": ("num_b_frames", number),
    "PRESET": ("preset", word),
    "NUM_THREADS": ("num_threads", number),
    "OPTIONS": ("options", _options),
    "FAST_START": ("fast_start", number),
    "FRAGMENTED": ("fragmented", number),
}


def check_threads(options: dict[str, Any], settings: Settings) -> None:
    """Raises ValueError for more threads than the model's parameter `threads` allows; 0 is one a core."""
    most = settings.threads or num_cores()
    asked = options.get("num_threads", 1)
    if not 1 <= asked <= most:
        raise ValueError(f"NUM_THREADS is {asked}; this model accepts 1 to {most} (its parameter threads)")


def check_frames(num_frames: int, settings: Settings) -> None:
    """Raises RefusedError for more frames than the model's parameter max_frames allows."""
    if num_frames > settings.max_frames:
        raise tricodec.RefusedError(
            f"there are {num_frames} frames, and this model encodes at most {settings.max_frames} a request (its "
            "parameter max_frames); send them in parts"
        )


def check_file(size: int, settings: Settings) -> None:
    """Raises RefusedError for a file of more bytes than the model's parameter max_output_bytes allows."""
    if size > settings.max_output_bytes:
        raise tricodec.RefusedError(
            f"the file takes {size} bytes, and this model gives at most {settings.max_output_bytes} (its parameter "
            "max_output_bytes); encode fewer frames, or with a lower BIT_RATE or a higher CRF"
        )
