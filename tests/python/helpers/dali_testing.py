# SPDX-License-Identifier: Apache-2.0
"""What the tests of DALI share: one run of a pipeline around fn.tricodec.decode_video."""

from __future__ import annotations

import contextlib
import io
import tarfile
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np


def for_dali(request: dict[str, Any]) -> dict[str, Any]:
    """The arguments with DALI's data type."""
    from nvidia.dali import types

    names = {"uint8": types.UINT8, "float16": types.FLOAT16, "float32": types.FLOAT}
    return {**request, "dtype": names[request["dtype"]]} if "dtype" in request else dict(request)


class PerSample(list[Any]):
    """An argument that differs by sample: one value for each, given to the operator as a tensor."""


class Decoded(NamedTuple):
    """One sample of the operator's outputs."""

    frames: np.ndarray
    pts: np.ndarray
    layout: str
    num_damaged_packets: np.ndarray | None = None


def read(clip: Path | bytes) -> np.ndarray:
    """A clip's bytes as DALI expects them: an array of its own, for dynamic mode of old DALI refuses read-only ones."""
    return np.frombuffer(clip if isinstance(clip, bytes) else clip.read_bytes(), np.uint8).copy()


def operator_pipeline(
    operator: str, *inputs: list[np.ndarray], pipeline_options: dict[str, Any] | None = None, **arguments: Any
) -> Any:
    """A built pipeline around an operator; every run is of these batches. `pipeline_options` are the Pipeline's."""
    import tricodec.dali  # noqa: F401  (registers the operators)
    from nvidia.dali import Pipeline, fn

    def source(batch: list[Any], name: str | None = None) -> Any:
        return fn.external_source(source=constant_source(list(map(np.asarray, batch))), batch=True, name=name)

    pipe = Pipeline(batch_size=len(inputs[0]), **({"num_threads": 2, "device_id": None} | (pipeline_options or {})))
    with pipe:
        for name, value in arguments.items():
            if isinstance(value, PerSample):
                arguments[name] = source(value)
        tensors = [source(batch, f"input_{number}") for number, batch in enumerate(inputs)]
        outputs = getattr(fn.tricodec, operator)(*tensors, **arguments)
        pipe.set_outputs(*(outputs if isinstance(outputs, (list, tuple)) else [outputs]))
    pipe.build()
    return pipe


def pipeline(
    clips: list[Path | bytes], *, num_threads: int = 2, options: dict[str, Any] | None = None, **arguments: Any
) -> Any:
    """A built pipeline; every run of it decodes `clips` as one batch."""
    options = {"num_threads": num_threads} | (options or {})
    return operator_pipeline("decode_video", [read(clip) for clip in clips], pipeline_options=options, **arguments)


def constant_source(batch: list[np.ndarray]) -> Callable[[], list[np.ndarray]]:
    """A source that gives the same batch every time."""
    return lambda: batch


def on_host(output: Any) -> Any:
    """An output of the CPU or of a GPU."""
    from nvidia.dali.backend import TensorListGPU

    return output.as_cpu() if isinstance(output, TensorListGPU) else output


def collect(outputs: Any) -> list[Decoded]:
    """Copies of what a run returned, sample by sample."""
    layout = outputs[0].layout()
    frames, pts, *damage = map(on_host, outputs)
    return [
        Decoded(np.array(frames.at(i)), np.array(pts.at(i)), layout, *(np.array(each.at(i)) for each in damage))
        for i in range(len(frames))
    ]  # copies: DALI reuses its memory


def decode(clips: list[Path | bytes], **arguments: Any) -> list[Decoded]:
    """One batch through a pipeline of its own."""
    return collect(pipeline(clips, **arguments).run())


class Sequence(NamedTuple):
    """One sample of what fn.tricodec.read_video gives."""

    frames: np.ndarray
    pts: np.ndarray
    more: tuple[np.ndarray, ...]
    source: str
    layout: str


def reading_pipeline(
    *, batch_size: int, device: str = "cpu", operator: str = "read_video", options: dict[str, Any] | None = None,
    **arguments: Any,
):  # fmt: skip
    """A built pipeline around fn.tricodec.read_video, with a reader named "reader". `options` are the Pipeline's."""
    import tricodec.dali  # noqa: F401  (registers the operators)
    from nvidia.dali import Pipeline, fn

    options = {"num_threads": 2, "device_id": None if device == "cpu" else 0} | (options or {})
    pipe = Pipeline(batch_size=batch_size, **options)
    with pipe:
        pipe.set_outputs(*getattr(fn.tricodec, operator)(device=device, name="reader", **arguments))
    pipe.build()
    return pipe


def sequences_of(outputs: Any) -> list[Sequence]:
    """Copies of what a run of such a pipeline returned, sample by sample."""
    layout = outputs[0].layout()
    sources = [outputs[0][i].source_info() for i in range(len(outputs[0]))]
    frames, pts, *more = map(on_host, outputs)
    return [
        Sequence(
            np.array(frames.at(i)),
            np.array(pts.at(i)),
            tuple(np.array(each.at(i)) for each in more),
            sources[i],
            layout,
        )
        for i in range(len(frames))
    ]


def read_batches(num_batches: int, **arguments: Any) -> list[list[Sequence]]:
    """So many batches of a pipeline of its own."""
    pipe = reading_pipeline(**arguments)
    return [sequences_of(pipe.run()) for _ in range(num_batches)]


def write_archive(folder: Path, name: str, members: list[tuple[str, bytes]]) -> tuple[str, str]:
    """A webdataset archive of named files and its index, which DALI's own tool makes: the paths of both."""
    from wds2idx import IndexCreator

    archive, index = folder / f"{name}.tar", folder / f"{name}.idx"
    with tarfile.open(archive, "w") as tar:
        for member, data in members:
            info = tarfile.TarInfo(member)
            info.size = len(data)
            tar.addfile(info, io.BytesIO(data))
    with contextlib.redirect_stdout(io.StringIO()), IndexCreator(str(archive), str(index), verbose=False) as creator:
        creator.create_index()
    return str(archive), str(index)
