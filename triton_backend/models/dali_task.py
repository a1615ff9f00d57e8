# SPDX-License-Identifier: Apache-2.0
"""One sample for a DALI pipeline: the tensors of a row go in, the pipeline's outputs come out.

The pipeline is a file beside the model, so this module knows no operator and imports DALI only where a pipeline runs.
"""

from __future__ import annotations

import contextlib
import dataclasses
import importlib.util
import mmap
import threading
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
from tricodec.node.tasks import Block, Place, Tools, lay_out
from tricodec.triton_backend.runtime.errors import PipelineError
from tricodec.triton_backend.runtime.settings import Settings

_MOST_IDLE = 4
"""Built pipelines that a process keeps; they differ in their number of threads, which follows the load."""


class DaliJob:
    """What a pipeline has made; it lies in DALI's memory until the pipeline runs again."""

    def __init__(self, outputs: Sequence[npt.NDArray[Any]]) -> None:
        self._outputs = outputs
        self.block = Block(lay_out((output.dtype.str, output.shape) for output in outputs))

    def write(self, memory: mmap.mmap) -> None:
        """Copies the outputs into a memory file."""
        for place, output in zip(self.block.places, self._outputs, strict=True):
            place.array(memory)[...] = output


@dataclasses.dataclass(frozen=True, slots=True)
class DaliTask:
    """The request for one sample.

    Attributes:
        pipeline: path of the Python file that defines `pipeline`.
        inputs: of each external source its name, and where in the data its array lies: a Place's values.
    """

    DOING: ClassVar[str] = "running the pipeline"
    SHORTEN: ClassVar[str] = "send less, or raise timeout_ms"

    pipeline: str
    inputs: dict[str, dict[str, Any]]

    @contextlib.contextmanager
    def open(self, data: Any, settings: Settings, tools: Tools) -> Iterator[list[DaliJob]]:
        """See `tricodec.node.tasks.Task`. The pipeline runs here: how much memory its outputs take is not known before.

        Raises:
            ValueError, IndexError, TypeError: of an operator that refuses an argument.
            PipelineError: for everything else that an operator refuses.
            tricodec.RefusedError: for more output than the model gives.
        """
        with _pipelines.lent(self.pipeline, max(1, tools.num_threads), tools.device) as pipeline:
            for name, described in self.inputs.items():
                pipeline.feed_input(name, [Place.parse(described).array(data)])
            try:
                outputs = [output.as_cpu() for output in pipeline.run()]
            except (ValueError, IndexError, TypeError) as error:
                raise type(error)(reason_of(str(error))) from error
            except RuntimeError as error:
                raise PipelineError(reason_of(str(error))) from error
            made = [np.asarray(output.at(0)) for output in outputs]
            settings.check_output(sum(output.nbytes for output in made), "the outputs take")
            yield [DaliJob(made)]


class _Pipelines:
    """The built pipelines of a process that no thread runs. Thread safety: safe."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._building = threading.Lock()
        self._idle: list[tuple[tuple[Any, ...], Any]] = []

    @contextlib.contextmanager
    def lent(self, path: str, num_threads: int, device: str) -> Iterator[Any]:
        """A pipeline for one run. After a failure it is not used again: DALI calls it invalid then."""
        key = (path, num_threads, device)
        pipeline = self._take(key)
        if pipeline is None:
            with self._building:  # the file imports DALI, and may load the operators: not in two threads at a time
                pipeline = build(path, num_threads, device)
        yield pipeline
        with self._lock:
            self._idle = [*self._idle, (key, pipeline)][-_MOST_IDLE:]

    def _take(self, key: tuple[Any, ...]) -> Any:
        with self._lock:
            places = [place for place, (other, _) in enumerate(self._idle) if other == key]
            return self._idle.pop(places[0])[1] if places else None


_pipelines = _Pipelines()


def build(path: str, num_threads: int, device: str) -> Any:
    """The pipeline of a file, for one sample a run.

    Args:
        path: of a Python file with a function `pipeline` that `nvidia.dali.pipeline_def` made.
        num_threads, device: of the pipeline.

    Raises:
        ImportError: if there is no DALI, or the file needs something else that is not there.
        AttributeError: if it defines no `pipeline`.
    """
    spec = importlib.util.spec_from_file_location("tricodec_dali_pipeline", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    device_id = None if device == "cpu" else int(device.partition(":")[2] or 0)
    # Without prefetching: a run takes what was fed for it, and gives what it made of that.
    pipeline = module.pipeline(batch_size=1, num_threads=num_threads, device_id=device_id, prefetch_queue_depth=1)
    pipeline.build()
    return pipeline


def try_pipeline(path: str, inputs: Mapping[str, Sequence[Any]], outputs: Sequence[str], device: str) -> None:
    """Builds a pipeline and compares it with a model's configuration.

    Args:
        path, device: as build() has them.
        inputs: of each input its dtype, NumPy's name, and number of dimensions.
        outputs: names of the outputs, in their order.

    Raises:
        ImportError, AttributeError: as build().
        ValueError: for an input that is no external source of the pipeline, or another number of outputs.
    """
    pipeline = build(path, 1, device)
    for name, (dtype, num_dimensions) in inputs.items():
        try:
            pipeline.feed_input(name, [np.zeros((1,) * num_dimensions, dtype)])
        except KeyError as error:
            raise ValueError(
                f"config.pbtxt has an input {name}, and the pipeline uses no external source of that name"
            ) from error
    if pipeline.num_outputs != len(outputs):
        raise ValueError(
            f"the pipeline has {pipeline.num_outputs} outputs, and config.pbtxt names {len(outputs)}: "
            f"{', '.join(outputs)}"
        )


def reason_of(text: str) -> str:
    """An operator's own text, without DALI's text around it: paths of server files are not for clients."""
    said = text.rpartition("encountered:")[2]
    lines = [line.strip() for line in said.splitlines()]
    noise = ("Critical error in pipeline", "Current pipeline object is no longer valid", "C++ context:")
    kept = " ".join(line for line in lines if line and not line.startswith(noise))
    return kept.removeprefix("Sample 0 of the batch of 1: ")
