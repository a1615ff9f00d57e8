# SPDX-License-Identifier: Apache-2.0
"""What a job does to one file: the same functions on one machine and on a cluster."""

from __future__ import annotations

import dataclasses
import difflib
import json
import os
import zipfile
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.lib import format as npy_format

from tricodec._keywords import TRANSFORM_WORDS
from tricodec._output_files import OutputStream
from tricodec._tricodec import DeviceArray, FrameReader, OutputFile, Transform, check_selection, encoder_for, probe
from tricodec.compress import FILE_SUFFIX, Codec, compress_file
from tricodec.encode.transcoding import transcode
from tricodec.encode.video import encoder_keywords
from tricodec.scenes import check_threshold, scene_cuts
from tricodec.selection import SELECTION_WORDS

Report = Callable[[int], object]
"""Is called with the frames that are done so far."""

_BATCH = 16


@dataclasses.dataclass(frozen=True)
class Kind:
    """A job of one file.

    Attributes:
        suffix: of the output; "" if the option ``suffix`` names it.
        defaults: all options, with their defaults.
        run: makes the output, and returns facts for the manifest.
        check: raises for option values that are wrong whatever the file is.
        is_of_any_file: True if folders mean all files in them, and not videos only.
    """

    suffix: str
    defaults: Mapping[str, Any]
    run: Callable[[Any, Path, dict[str, Any], Report], dict[str, Any]]
    check: Callable[[dict[str, Any]], object]
    is_of_any_file: bool = False


# An encoder's result depends on its number of threads, so the machine must not choose it.
_TRANSCODE: dict[str, Any] = {
    "codec": "h264", "device": "cpu", "crop": None, "size": None, "start": None, "end": None, "audio": True,
    "audio_codec": None, "audio_rate": None, "audio_channels": None, "audio_bit_rate": 0, "pixel_format": None,
    "frame_rate": None, "bit_rate": 0, "crf": None, "gop_size": -1, "num_b_frames": -1, "preset": None,
    "num_threads": 1, "num_workers": 1, "options": None, "format": "", "fast_start": False, "fragmented": False,
    "metadata": None,
}  # fmt: skip
_ENCODER = (
    "codec", "device", "bit_rate", "gop_size", "num_b_frames", "num_threads", "pixel_format", "frame_rate", "crf",
    "preset", "options",
)  # fmt: skip
_READER: dict[str, Any] = {"device": "auto", "num_workers": 1}


def _transcode(source: Any, target: Path, options: dict[str, Any], report: Report) -> dict[str, Any]:
    done = transcode(source, target, progress=lambda frames, *_: (report(frames), True)[1], **options)
    return {
        "num_frames": done.num_frames, "num_damaged_packets": done.num_damaged_packets, "seconds": done.seconds,
        "engine": f"{done.decoder}, {done.encoder}",
    }  # fmt: skip


def _check_transcode(options: dict[str, Any]) -> None:
    if options["device"] == "auto":
        raise ValueError(
            "device is 'auto'; name 'cpu' or 'cuda': encoders of the CPU and of a GPU write different bytes, and a "
            "file that is made again must be the same"
        )
    if options["num_threads"] < 1:
        raise ValueError(f"num_threads is {options['num_threads']}; name a number: an encoder's bytes depend on it")
    if options["device"] == "cpu":  # others may be on another machine
        encoder_for(options["codec"], "cpu")
    encoder_keywords(**{name: options[name] for name in _ENCODER})


def _compress(source: Any, target: Path, options: dict[str, Any], _report: Report) -> dict[str, Any]:
    if not isinstance(source, str | os.PathLike):
        raise ValueError(f"compress reads local files alone, and {source!r} is none; copy it to one first")
    done = compress_file(source, target, **options)
    return {"bytes_read": done.bytes_read}


def _check_compress(options: dict[str, Any]) -> None:
    if options["algorithm"].lower() == "auto":
        raise ValueError("algorithm is 'auto', which measures times; name one, so that each run writes the same bytes")
    Codec(
        algorithm=options["algorithm"], uncomp_chunk_size=options["chunk_bytes"], level=options["level"],
        algorithm_type=options["strength"], device="cpu",
    )  # fmt: skip


def _frames(source: Any, target: Path, options: dict[str, Any], report: Report) -> dict[str, Any]:
    words = {name: options[name] for name in SELECTION_WORDS if options[name] is not None}
    transform = _transform(options)
    with FrameReader(source, **{name: options[name] for name in _READER}) as reader:
        numbers, _ = reader._selected(**words)
        shape = (len(numbers), *reader.output_shape(transform))
        with OutputFile(target) as file, zipfile.ZipFile(OutputStream(file), "w", zipfile.ZIP_STORED) as archive:
            done = 0
            with archive.open("frames.npy", "w", force_zip64=True) as member:
                if len(numbers) == 0:
                    _write_header(member, shape, np.dtype(transform.options["dtype"]))
                for batch in reader.batches(_BATCH, transform, **words):
                    frames = batch.numpy() if isinstance(batch, DeviceArray) else np.asarray(batch)
                    if done == 0:
                        _write_header(member, shape, frames.dtype)
                    member.write(np.ascontiguousarray(frames).data)
                    done += len(frames)
                    report(done)
            if done != len(numbers):
                raise ValueError(f"the video has {done} of {len(numbers)} frames, as was found while it was read")
            for name, values in (("index", numbers), ("seconds", reader.pts_seconds[numbers])):
                with archive.open(f"{name}.npy", "w") as member:
                    _write_header(member, values.shape, values.dtype)
                    member.write(np.ascontiguousarray(values).data)
        return {
            "num_frames": done, "num_damaged_packets": reader.num_damaged_packets, "engine": reader.engine,
        }  # fmt: skip


def _transform(options: Mapping[str, Any]) -> Transform:
    return Transform(**{name: options[name] for name in TRANSFORM_WORDS if options[name] is not None})


def _check_frames(options: dict[str, Any]) -> None:
    _transform(options)
    check_selection(**{name: options[name] for name in SELECTION_WORDS})


def _write_header(file: Any, shape: tuple[int, ...], dtype: np.dtype[Any]) -> None:
    facts = {"descr": npy_format.dtype_to_descr(dtype), "fortran_order": False, "shape": shape}
    npy_format.write_array_header_1_0(file, facts)


def _scene_cuts(source: Any, target: Path, options: dict[str, Any], report: Report) -> dict[str, Any]:
    cuts = scene_cuts(source, on_progress=lambda done, _: report(done), **options)
    rows = [
        {"frame": int(frame), "seconds": float(seconds), "score": float(score)}
        for frame, seconds, score in zip(cuts.frames, cuts.seconds, cuts.scores, strict=True)
    ]
    _write_json(target, {"num_frames": cuts.num_frames, "cuts": rows})
    return {"num_frames": cuts.num_frames, "num_damaged_packets": cuts.num_damaged_packets, "num_cuts": len(rows)}


def _probe(source: Any, target: Path, _options: dict[str, Any], _report: Report) -> dict[str, Any]:
    facts = probe(source).to_dict()
    _write_json(target, facts)
    return {"num_streams": len(facts["streams"])}


def _write_json(target: Path, facts: Any) -> None:
    with OutputFile(target) as file:
        file.write((json.dumps(facts, indent=2, ensure_ascii=False) + "\n").encode())


KINDS: dict[str, Kind] = {
    "transcode": Kind("", _TRANSCODE, _transcode, _check_transcode),
    "compress": Kind(
        FILE_SUFFIX, {"algorithm": "zstd", "level": None, "strength": None, "chunk_bytes": 65536},
        _compress, _check_compress, is_of_any_file=True,
    ),
    "frames": Kind(
        ".npz", {**_READER, **dict.fromkeys((*SELECTION_WORDS, *TRANSFORM_WORDS))}, _frames, _check_frames
    ),
    "scene_cuts": Kind(
        ".json", {**_READER, "threshold": 0.25, "size": (72, 128)}, _scene_cuts,
        lambda options: check_threshold(options["threshold"]),
    ),
    "probe": Kind(".json", {}, _probe, lambda _options: None),
}  # fmt: skip
"""By the name of the job."""


def refuse_other(what: str, value: Any, accepted: Iterable[str]) -> None:
    """Raises ValueError for a value that is not one of `accepted`, and names the nearest one."""
    words = list(accepted)
    if value in words:
        return
    near = difflib.get_close_matches(str(value), words, 1, 0.5)
    remedy = f"did you mean {near[0]!r}?" if near else f"accepted are {', '.join(map(repr, words))}"
    raise ValueError(f"{what} is {value!r}; {remedy}")


def checked_options(kind: str, options: Mapping[str, Any]) -> dict[str, Any]:
    """All options of a job, with defaults for those that are not given.

    Raises:
        ValueError: the job has no such option, or a value is not accepted.
        TypeError: a value cannot be written as JSON.
    """
    accepted = KINDS[kind].defaults
    for name in options:
        refuse_other(f"an option of {kind}", name, accepted)
    try:
        given: dict[str, Any] = json.loads(json.dumps({**accepted, **options}))
    except (TypeError, ValueError) as error:
        raise TypeError(f"options of a job are plain numbers, texts and lists ({error})") from None
    KINDS[kind].check(given)
    return given
