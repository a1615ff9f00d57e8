# SPDX-License-Identifier: Apache-2.0
"""One sample for a DALI pipeline: the tensors of a row go in, the pipeline's outputs come out.

The pipeline is a file beside the model, so this module knows no operator and imports DALI only where a pipeline runs.
"""

from __future__ import annotations

import contextlib
import dataclasses
import importlib.util
import threading
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, ClassVar

import numpy as np
from tricodec.node.tasks import Place, Tools
from tricodec.triton_backend.models.file_task import MadeJob
from tricodec.triton_backend.runtime.errors import PipelineError
from tricodec.triton_backend.runtime.settings import Settings

_MOST_IDLE = 4
"""Built pipelines that a process keeps; they differ in their number of threads, which follows the load."""


_idle: list[tuple[tuple[Any, ...], Any]] = []
_lock = threading.Lock()


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
    def open(self, data: Any, settings: Settings, tools: Tools) -> Iterator[list[MadeJob]]:
        """Runs the pipeline. Its outputs lie in DALI's memory until it runs again.

        Raises:
            ValueError, IndexError, TypeError: of an operator that refuses an argument.
            PipelineError: for everything else that an operator refuses.
        """
        with _lent(self.pipeline, max(1, tools.num_threads), tools.device) as pipeline:
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
            yield [MadeJob(made, {})]


@contextlib.contextmanager
def _lent(*key: Any) -> Iterator[Any]:
    """A pipeline for one run, as build() makes it. After a failure it is not used again: DALI calls it invalid then."""
    with _lock:  # the file imports DALI, and may load the operators: not in two threads at a time
        places = [place for place, (other, _) in enumerate(_idle) if other == key]
        pipeline = _idle.pop(places[0])[1] if places else build(*key)
    yield pipeline
    with _lock:
        _idle.append((key, pipeline))
        del _idle[:-_MOST_IDLE]


def build(path: str, num_threads: int, device: str) -> Any:
    """The pipeline of a Python file with a function `pipeline` by `nvidia.dali.pipeline_def`, for one sample a run."""
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
