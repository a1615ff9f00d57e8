# SPDX-License-Identifier: Apache-2.0
"""Ways to get the frames of a video, or what a model says of them: with a server, and without one."""

from __future__ import annotations

import contextlib
import csv
import dataclasses
import functools
import os
import re
import secrets
import shlex
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import tricodec
from tricodec import bench

from benchmarks.serve.names import (
    CLIENT_GRPC,
    CLIENT_SHARED_MEMORY,
    EMPTY,
    ENSEMBLE,
    GRPC,
    IN_PROCESS,
    SHARED_MEMORY,
)

CORES = len(os.sched_getaffinity(0))


@dataclasses.dataclass(frozen=True)
class Request:
    """What is asked for.

    Attributes:
        name: of the cells.
        options: of `tricodec.decode_video`.
        analyzed: a model looks at the frames, and the answer is small.
        in_memory: the caller has the bytes of the video, else its path.
        others: what is compared with decoding in the process of the caller.
        device: where they are decoded; they end in host memory.
    """

    name: str
    options: dict[str, Any]
    analyzed: bool = False
    in_memory: bool = False
    others: tuple[str, ...] = (SHARED_MEMORY, GRPC, EMPTY)
    device: str = "cpu"

    @property
    def num_frames(self) -> int:
        """Frames of an answer."""
        return int(self.options["count"])


REQUESTS = (
    Request("64 tensors of 224x224", {"count": 64, "size": (224, 224)}),
    Request("16 pictures of 1280x720", {"count": 16, "size": (720, 1280)}),
    Request(
        "16 pictures of 1280x720, video in memory",
        {"count": 16, "size": (720, 1280)},
        in_memory=True,
        others=(SHARED_MEMORY,),
    ),
    Request("240 tensors of 224x224", {"count": 240, "size": (224, 224)}, others=(SHARED_MEMORY,)),
    Request("a model over 64 frames of 224x224", {"count": 64, "size": (224, 224)}, analyzed=True),
)


@dataclasses.dataclass(frozen=True)
class Run:
    """One run of a contender: its speed, and the latency of each request in milliseconds."""

    frames_per_second: float
    latencies: list[float]


Work = Callable[[], None]
Count = Callable[[], int]
"""Does a request, and says how many frames came."""


@contextlib.contextmanager
def open_work(name: str, request: Request, clip: Path, url: str) -> Iterator[Work]:
    """Yields a function that does one request in the calling thread."""
    with _OPENED[name](request, clip.read_bytes() if request.in_memory else clip, url) as count:

        def work() -> None:
            found = count()
            if found != request.num_frames:
                raise ValueError(f"{found} frames came of {request.num_frames} that were asked for")

        yield work


def _decode(request: Request, source: Path | bytes) -> Any:
    wanted = {key: value for key, value in request.options.items() if key != "count"}
    workers = {"num_workers": 1} if request.device == "cpu" else {}
    with tricodec.FrameReader(source, device=request.device, **workers) as reader:
        frames = reader.batch(range(request.num_frames), **wanted)
        return frames.numpy() if isinstance(frames, tricodec.DeviceArray) else frames


@contextlib.contextmanager
def _in_process(request: Request, source: Path | bytes, _: str) -> Iterator[Count]:
    yield lambda: len(_decode(request, source))


@contextlib.contextmanager
def _and_an_empty_model(request: Request, source: Path | bytes, url: str) -> Iterator[Count]:
    """What Triton's way costs beside decoding, with the tensors that memory files need, and no work of ours."""
    import tritonclient.grpc as triton

    tensor = triton.InferInput("WORDS", [1, 1], "BYTES").set_data_from_numpy(np.array([[b" " * 100]], np.object_))
    with triton.InferenceServerClient(url) as client:

        def count() -> int:
            frames = _decode(request, source)
            assert client.infer(EMPTY_MODEL, [tensor]).as_numpy("PTS").size
            return len(frames)

        yield count


@contextlib.contextmanager
def _in_server(request: Request, source: Path | bytes, url: str, *, shared_memory: bool) -> Iterator[Count]:
    from tricodec.client import Client

    with Client(url, shared_memory=shared_memory) as client:
        yield lambda: len(client.decode_video(source, **request.options).frames)


@contextlib.contextmanager
def _ensemble(request: Request, source: Path | bytes, url: str) -> Iterator[Count]:
    """The server decodes, and its ensemble ends in a model."""
    import tritonclient.grpc as triton

    data = source if isinstance(source, bytes) else source.read_bytes()
    arrays = {
        "VIDEO": (np.array([[data]], np.object_), "BYTES"),
        "COUNT": (np.array([[request.num_frames]]), "INT64"),
        "SIZE": (np.array([request.options["size"]]), "INT64"),
    }
    inputs = [
        triton.InferInput(name, list(array.shape), kind).set_data_from_numpy(array)
        for name, (array, kind) in arrays.items()
    ]
    with triton.InferenceServerClient(url) as client:
        yield lambda: _scores(client, "video_scenes", inputs)


@contextlib.contextmanager
def _in_client(request: Request, source: Path | bytes, url: str, *, shared_memory: bool) -> Iterator[Count]:
    """The client decodes, and sends the frames to the same model."""
    import tritonclient.grpc as triton
    import tritonclient.utils.shared_memory as memory

    shape = [1, request.num_frames, *request.options["size"], 3]
    size = int(np.prod(shape))
    with triton.InferenceServerClient(url) as client, contextlib.ExitStack() as stack:
        tensor = triton.InferInput("FRAMES", shape, "UINT8")
        region = None
        if shared_memory:
            name = f"tricodec_benchmark_{secrets.token_hex(8)}"
            region = memory.create_shared_memory_region(name, f"/{name}", size)
            stack.callback(memory.destroy_shared_memory_region, region)
            client.register_system_shared_memory(name, f"/{name}", size)
            stack.callback(_unregister, client, name)
            tensor.set_shared_memory(name, size)

        def count() -> int:
            frames = np.asarray(_decode(request, source)).reshape(shape)
            if region is None:
                tensor.set_data_from_numpy(frames)
            else:
                memory.set_shared_memory_region(region, [frames])
            return _scores(client, "frame_histograms", [tensor])

        yield count


def _unregister(client: Any, name: str) -> None:
    """Unregisters a region, unless Triton still holds it for a moment after its last answer."""
    from tritonclient.utils import InferenceServerException

    with contextlib.suppress(InferenceServerException):
        client.unregister_system_shared_memory(name)


def _scores(client: Any, model: str, inputs: list[Any]) -> int:
    import tritonclient.grpc as triton

    result = client.infer(model, inputs, outputs=[triton.InferRequestedOutput("CUT_SCORES")])
    return int(result.as_numpy("CUT_SCORES").shape[1])


_OPENED: dict[str, Callable[..., contextlib.AbstractContextManager[Count]]] = {
    IN_PROCESS: _in_process,
    EMPTY: _and_an_empty_model,
    SHARED_MEMORY: functools.partial(_in_server, shared_memory=True),
    GRPC: functools.partial(_in_server, shared_memory=False),
    ENSEMBLE: _ensemble,
    CLIENT_SHARED_MEMORY: functools.partial(_in_client, shared_memory=True),
    CLIENT_GRPC: functools.partial(_in_client, shared_memory=False),
}


def measure(name: str, request: Request, clip: Path, url: str, seconds: float) -> Run:
    """One run: as many requests in flight as there are cores, for so long."""

    @contextlib.contextmanager
    def opened() -> Iterator[bench.Work]:
        with open_work(name, request, clip, url) as work:

            def done() -> bench.Done:
                work()
                return bench.Done(request.num_frames)

            yield done

    rules = bench.Rules(warm_up=0.3, duration=seconds, iterations=3, stability=10, max_trials=3)
    windows = bench.run(opened, bench.Load(CORES), rules)
    latencies = [1000 * query.latency for window in windows.latest for query in window.queries]
    return Run(bench.Figures.of(windows).frames_per_second, latencies)


REQUIRED = "decode_required"
"""A copy of `video_decode` without optional inputs, which perf_analyzer does not send through shared memory."""


def add_required_model(repository: Path) -> None:
    """Adds the model `REQUIRED` to a repository that has `video_decode`."""
    shutil.copytree(repository / "video_decode", repository / REQUIRED)
    path = repository / REQUIRED / "config.pbtxt"
    inputs = ", ".join(
        f'{{ name: "{name}" data_type: TYPE_{kind} dims: [ {length} ] }}'
        for name, kind, length in (("VIDEO", "STRING", 1), ("COUNT", "INT64", 1), ("SIZE", "INT64", 2))
    )
    config = path.read_text().replace('"video_decode"', f'"{REQUIRED}"')
    path.write_text(re.sub(r"^input \[.*?^\]", f"input [ {inputs} ]", config, flags=re.MULTILINE | re.DOTALL))


EMPTY_MODEL = "empty"
_EMPTY_CONFIG = f"""
name: "{EMPTY_MODEL}"
backend: "python"
max_batch_size: 16
input [ {{ name: "WORDS" data_type: TYPE_STRING dims: [ 1 ] }} ]
output [ {{ name: "PTS" data_type: TYPE_FP64 dims: [ -1 ] }} ]
"""
_EMPTY_CODE = """
import numpy as np
import triton_python_backend_utils as pb_utils

class TritonPythonModel:
    def execute(self, requests):
        return [pb_utils.InferenceResponse([pb_utils.Tensor("PTS", np.zeros((1, 16)))]) for _ in requests]
"""


def add_empty_model(repository: Path) -> None:
    """Adds the model `EMPTY_MODEL`, which answers without work."""
    folder = repository / EMPTY_MODEL
    (folder / "1").mkdir(parents=True)
    (folder / "config.pbtxt").write_text(_EMPTY_CONFIG)
    (folder / "1" / "model.py").write_text(_EMPTY_CODE)


def perf_command(name: str, request: Request, video: Path, url: str, folder: Path) -> list[str]:
    """The command that `tricodec serve --perf-data` prints for a request, for one load and one way of transport."""
    from tricodec.serve import perf_data

    height, width = request.options["size"]
    inputs = {"COUNT": str(request.num_frames), "SIZE": f"{height},{width}"}
    file = folder / f"{request.name.replace(' ', '_')}.json"
    command = shlex.split(perf_data.write(file, "video_decode", [str(video)], inputs, url))
    command[command.index("--concurrency-range") + 1] = str(CORES)
    command[command.index("-m") + 1] = REQUIRED
    if name == SHARED_MEMORY:
        size = request.num_frames * height * width * 3
        command += ["--shared-memory", "system", "--output-shared-memory-size", str(size)]
    return command


def measure_perf(executable: str, command: list[str], request: Request, seconds: float) -> tuple[Run, dict[str, float]]:
    """One run of perf_analyzer: its speed, and its percentiles in milliseconds by name.

    Raises:
        RuntimeError: it fails.
    """
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder) / "report.csv"
        window = ["-p", str(int(1000 * seconds / 3)), "-s", "999", "-r", "3", "-f", str(report)]
        result = subprocess.run([executable, *command[1:], *window], capture_output=True, text=True, check=False)
        if not report.is_file():
            raise RuntimeError(f"perf_analyzer failed: {(result.stdout + result.stderr)[-1000:]}")
        (row,) = csv.DictReader(report.read_text().splitlines())
    percentiles = {name: float(row[f"{name} latency"]) / 1000 for name in ("p50", "p99")}
    return Run(float(row["Inferences/Second"]) * request.num_frames, []), percentiles
