# SPDX-License-Identifier: Apache-2.0
"""The models `video_encode`, `video_transcode` and `probe`: what they answer is a file, with facts about it.

libavcodec's encoders have options that name files to read and write ("stats", "x264-params", "passlogfile"), and
others of unbounded cost. Clients may set those that are known to do neither.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Collection
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
from tricodec.node.tasks import Outcome
from tricodec.triton_backend.models.file_task import EncodeTask, ProbeTask, TranscodeTask
from tricodec.triton_backend.models.video_request import STREAM, VIDEO_INPUTS, read_videos
from tricodec.triton_backend.runtime.model import Answer, Model
from tricodec.triton_backend.runtime.rows import Table, Tensors, inputs, number, numbers, options, word
from tricodec.triton_backend.runtime.settings import SOURCE_PARAMETERS, VIDEO_PARAMETERS
from tricodec.video.cores import num_cores

_FRAMES = ("FRAMES", "PLANES", "PLANES_UINT16")
_PICTURES: Table = {**inputs(word, "color", "layout", "format", "matrix", "range"), **inputs(number, "rotation")}

_CODECS = ("h264", "hevc", "av1", "vp8", "vp9")
_CONTAINERS = ("mp4", "mov", "mkv", "matroska", "webm", "ts", "mpegts", "ivf", "raw")
_OPTIONS = frozenset(
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
        if name not in _OPTIONS:
            raise ValueError(f"this server does not let clients set {name!r}; accepted: {', '.join(sorted(_OPTIONS))}")
        found[name] = value
    return found


_ENCODER: Table = {
    **inputs(_one_of(*_CODECS), "codec"),
    **inputs(_one_of(*_CONTAINERS), "container"),
    **inputs(word, "pixel_format", "preset"),
    **inputs(number, "frame_rate", "bit_rate", "crf", "gop_size", "num_b_frames", "num_threads"),
    **inputs(number, "fast_start", "fragmented"),
    **inputs(_options, "options"),
}
"""Of both models that encode, with the options of tricodec.encode_video and tricodec.transcode."""

_WHAT: Table = {
    **inputs(numbers(4, "top, left, height, width"), "crop"),
    **inputs(numbers(2, "height, width"), "size"),
    "START_SECONDS": ("start", number),
    "END_SECONDS": ("end", number),
    **inputs(number, "audio"),
}
_BARE = {"h264": "h264", "hevc": "hevc", "av1": "obu"}
"""libavformat's names of bare streams; VP8 and VP9 have none but IVF."""


class _FileModel(Model):
    """A model that answers with files, as its output FILE, and with the facts that have outputs of their names."""

    PARAMETERS = SOURCE_PARAMETERS
    FILE: ClassVar[str] = "VIDEO"

    def answer(self, outcomes: list[Outcome]) -> Answer:
        """The files and what is known of them, each [B, 1]."""
        outputs = {self.FILE: _column([file.arrays[0].tobytes() for file in outcomes])}
        for fact in outcomes[0].facts:
            outputs[fact.upper()] = _column([file.facts[fact] for file in outcomes])
        num_frames = sum(file.facts["num_frames"] for file in outcomes)
        return Answer(outputs, sum(file.arrays[0].size for file in outcomes), num_frames)

    def encoder_options(self, tensors: Tensors, index: int) -> dict[str, Any]:
        """The options of the encoder."""
        chosen = options(_ENCODER, tensors, index)
        most = self.settings.threads or num_cores()
        asked = chosen.get("num_threads", 1)
        if not 1 <= asked <= most:
            raise ValueError(f"NUM_THREADS is {asked}; this model accepts 1 to {most} (its parameter threads)")
        return chosen


class EncodeModel(_FileModel):
    """The model `video_encode`: arrays of frames in, encoded videos out."""

    INPUTS = (*_FRAMES, "PTS", *_PICTURES, *_ENCODER)
    PARAMETERS = VIDEO_PARAMETERS

    def read(self, tensors: Tensors, requested: Collection[str], request: Any) -> list[tuple[Any, EncodeTask]]:
        """See Model."""
        given = [name for name in _FRAMES if name in tensors]
        if len(given) != 1:
            raise ValueError(f"a request has one of {', '.join(_FRAMES)}, not {' and '.join(given) or 'none of them'}")
        (name,) = given
        if name != "FRAMES" and "FORMAT" not in tensors:
            raise ValueError(f'{name} needs FORMAT, the layout of the planes: "nv12", "yuv420p", "p010le", ...')
        items = []
        for index, frames in enumerate(tensors[name]):
            self.settings.check_input(frames.nbytes, name)
            chosen = options(_PICTURES, tensors, index) | self.encoder_options(tensors, index)
            data: Any = np.ascontiguousarray(frames)
            if "PTS" in tensors:
                pts = np.asarray(tensors["PTS"][index], np.float64)
                if len(pts) != len(frames):
                    raise ValueError(f"PTS has {len(pts)} times for {len(frames)} frames; send one for each frame")
                data = frames.tobytes() + pts.tobytes()
            items.append((data, EncodeTask(frames.shape, frames.dtype.name, "PTS" in tensors, chosen)))
        return items


class TranscodeModel(_FileModel):
    """The model `video_transcode`: encoded videos in, videos of another codec, size, range or container out."""

    INPUTS = (*VIDEO_INPUTS, *_WHAT, *_ENCODER)

    def read(self, tensors: Tensors, requested: Collection[str], request: Any) -> list[tuple[Any, TranscodeTask]]:
        """See Model."""
        items = []
        for index, data in enumerate(read_videos(tensors, self.settings)):
            chosen = self.encoder_options(tensors, index)
            container = chosen.pop("container", "mp4")
            chosen["format"] = _BARE.get(chosen.get("codec", "h264"), "ivf") if container == "raw" else container
            items.append((data, TranscodeTask({"num_threads": 1, **options(_WHAT, tensors, index), **chosen})))
        return items


class ProbeModel(_FileModel):
    """The model `probe`: media files in, what they contain out, as JSON."""

    INPUTS = (*VIDEO_INPUTS, *STREAM)
    ITEM = "file"
    FILE = "JSON"

    def read(self, tensors: Tensors, requested: Collection[str], request: Any) -> list[tuple[Any, ProbeTask]]:
        """See Model."""
        files = read_videos(tensors, self.settings)
        return [(data, ProbeTask(**options(STREAM, tensors, index))) for index, data in enumerate(files)]

    def answer(self, outcomes: list[Outcome]) -> Answer:
        """See Model. No frame is encoded or given out."""
        return dataclasses.replace(super().answer(outcomes), num_frames=0)


def _column(values: list[Any]) -> npt.NDArray[Any]:
    """An output with one value a row: numbers as they are, texts as bytes."""
    values = [value.encode() if isinstance(value, str) else value for value in values]
    dtype = np.object_ if isinstance(values[0], bytes) else None
    return np.array(values, dtype).reshape(-1, 1)
