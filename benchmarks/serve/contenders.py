# SPDX-License-Identifier: Apache-2.0
"""Ways to get the frames of a video: with a server, and without one."""

from __future__ import annotations

import contextlib
import csv
import dataclasses
import functools
import os
import re
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

from benchmarks.serve.names import EMPTY, GRPC, IN_PROCESS, SHARED_MEMORY

CORES = len(os.sched_getaffinity(0))


@dataclasses.dataclass(frozen=True)
class Request:
    """What is asked for.

    Attributes:
        name: of the cells.
        options: of `tricodec.decode_video`.
        in_memory: the caller has the bytes of the video, else its path.
        others: what is compared with decoding in the process of the caller.
        device: where they are decoded; they end in host memory.
    """

    name: str
    options: dict[str, Any]
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


_OPENED: dict[str, Callable[..., contextlib.AbstractContextManager[Count]]] = {
    IN_PROCESS: _in_process,
    EMPTY: _and_an_empty_model,
    SHARED_MEMORY: functools.partial(_in_server, shared_memory=True),
    GRPC: functools.partial(_in_server, shared_memory=False),
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
