# SPDX-License-Identifier: Apache-2.0
"""The model `video_encode`: arrays of frames in, encoded videos out; and the encoder options that a client may set.

libavcodec's encoders have options that name files to read and write ("stats", "x264-params", "passlogfile"), and
others of unbounded cost. Clients may set those that are known to do neither.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt
import triton_python_backend_utils as pb_utils
from tricodec.node.tasks import Outcome
from tricodec.triton_backend.models.encode_task import EncodeTask
from tricodec.triton_backend.runtime.model import Answer, Model
from tricodec.triton_backend.runtime.rows import Table, check_size, number, options, word
from tricodec.triton_backend.runtime.settings import Settings, num_cores

_FRAMES = ("FRAMES", "PLANES", "PLANES_UINT16")
_PICTURES: Table = {
    "COLOR": ("color", word),
    "LAYOUT": ("layout", word),
    "FORMAT": ("format", word),
    "MATRIX": ("matrix", word),
    "RANGE": ("range", word),
    "ROTATION": ("rotation", number),
}

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


#: Inputs of both models, with the options of tricodec.encode_video and tricodec.transcode.
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


class TritonPythonModel(Model):
    """What Triton calls."""

    INPUTS = (*_FRAMES, "PTS", *_PICTURES, *ENCODER)
    ITEM = "video"

    def read(
        self, tensors: Mapping[str, npt.NDArray[Any]], requested: Collection[str], settings: Settings
    ) -> list[tuple[Any, EncodeTask]]:
        """See Model."""
        given = [name for name in _FRAMES if name in tensors]
        if len(given) != 1:
            raise ValueError(f"a request has one of {', '.join(_FRAMES)}, not {' and '.join(given) or 'none of them'}")
        (name,) = given
        if name != "FRAMES" and "FORMAT" not in tensors:
            raise ValueError(f'{name} needs FORMAT, the layout of the planes: "nv12", "yuv420p", "p010le", ...')
        items = []
        for index, frames in enumerate(tensors[name]):
            check_size(frames.nbytes, name, settings)
            words = options(_PICTURES, tensors, index) | options(ENCODER, tensors, index)
            check_threads(words, settings)
            data: Any = np.ascontiguousarray(frames)
            if "PTS" in tensors:
                pts = np.asarray(tensors["PTS"][index], np.float64)
                if len(pts) != len(frames):
                    raise ValueError(f"PTS has {len(pts)} times for {len(frames)} frames; send one for each frame")
                data = frames.tobytes() + pts.tobytes()
            items.append((data, EncodeTask(frames.shape, frames.dtype.name, "PTS" in tensors, words)))
        return items

    def answer(self, requested: Collection[str], outcomes: list[Outcome]) -> Answer:
        """The files, one a row."""
        del requested
        num_frames = sum(file.facts["num_frames"] for file in outcomes)
        return Answer([file_tensor(outcomes)], num_frames, sum(file.arrays[0].size for file in outcomes))


def file_tensor(files: list[Outcome], name: str = "VIDEO") -> Any:
    """The output with the files, [B, 1]."""
    elements = np.empty((len(files), 1), np.object_)
    for index, file in enumerate(files):
        elements[index, 0] = file.arrays[0].tobytes()
    return pb_utils.Tensor(name, elements)


def fact_tensors(table: Mapping[str, tuple[str, Any]], requested: Collection[str], files: list[Outcome]) -> list[Any]:
    """The outputs with facts about the files, each [B, 1].

    Args:
        table: by output the fact, and its dtype in NumPy.
        requested: names of the outputs that the client asks for.
        files: with the facts.
    """
    tensors = []
    for name, (fact, dtype) in table.items():
        if name in requested:
            values = [file.facts[fact] for file in files]
            if dtype is np.object_:
                values = [value.encode() for value in values]
            tensors.append(pb_utils.Tensor(name, np.array(values, dtype).reshape(-1, 1)))
    return tensors
