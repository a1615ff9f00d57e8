# SPDX-License-Identifier: Apache-2.0
"""What the tests of Triton share: plain requests, variants of the model, and the processes of a server."""

from __future__ import annotations

import importlib.util
import os
import shutil
import signal
import subprocess
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tricodec
from media import generated
from patience import slowdown, until

WAIT_SECONDS = 60.0

LONG_REQUEST: dict[str, Any] = {"size": (224, 224), "stride": 16}
"""Options with which long_video() takes seconds of decoding and gives a small answer."""


def joined(chunks: list[tricodec.DecodedVideo]) -> tricodec.DecodedVideo:
    """The answers of one video, one after the other."""
    frames = np.concatenate([chunk.frames for chunk in chunks])
    pts = np.concatenate([chunk.pts_seconds for chunk in chunks])
    return tricodec.DecodedVideo(frames, pts, chunks[-1].num_damaged_packets)


def assert_same(actual: tricodec.DecodedVideo, expected: tricodec.DecodedVideo) -> None:
    """Fails unless the frames, their times and the number of damaged packets are equal."""
    assert actual.frames.dtype == expected.frames.dtype
    assert actual.frames.shape == expected.frames.shape
    assert actual.frames.tobytes() == expected.frames.tobytes()
    np.testing.assert_array_equal(actual.pts_seconds, expected.pts_seconds)
    assert actual.num_damaged_packets == expected.num_damaged_packets


def inputs_of(tensors: dict[str, Any]) -> list[Any]:
    """Arrays by name as tritonclient's gRPC requests have them, object arrays as BYTES."""
    import tritonclient.grpc as triton_grpc

    types = {"O": "BYTES", "l": "INT64", "f": "FP32", "d": "FP64", "?": "BOOL", "B": "UINT8", "H": "UINT16"}
    return [
        triton_grpc.InferInput(name, list(array.shape), types[array.dtype.char]).set_data_from_numpy(array)
        for name, array in tensors.items()
    ]


def infer(
    url: str, tensors: dict[str, Any], outputs: list[str] | None = None, *, model: str = "video_decode"
) -> dict[str, Any]:
    """One plain gRPC request without tricodec.triton.client: arrays by name."""
    import tritonclient.grpc as triton_grpc

    requested = [triton_grpc.InferRequestedOutput(name) for name in outputs] if outputs is not None else None
    with triton_grpc.InferenceServerClient(url) as client:
        result = client.infer(model, inputs_of(tensors), outputs=requested, client_timeout=2 * WAIT_SECONDS)
    return {output.name: result.as_numpy(output.name) for output in result.get_response().outputs}


def videos(*files: bytes) -> Any:
    """The tensor VIDEO for a batch of files."""
    return np.array([[file] for file in files], dtype=np.object_)


def variants(folder: Path, model: str = "video_decode", /, **parameters: dict[str, str]) -> Path:
    """A model repository with a copy of one of ours by each name, its parameters changed."""
    source = Path(tricodec.__file__).parent / "model_repository" / model
    for name, values in parameters.items():
        shutil.copytree(source, folder / name)
        config = (folder / name / "config.pbtxt").read_text().replace(f'"{model}"', f'"{name}"')
        for key, value in values.items():
            config += f'parameters {{ key: "{key}" value {{ string_value: "{value}" }} }}\n'
        (folder / name / "config.pbtxt").write_text(config)
    return folder


_WHERE_MODEL = """
import numpy as np
import triton_python_backend_utils as pb_utils

class TritonPythonModel:
    def execute(self, requests):
        answers = []
        for request in requests:
            frames = pb_utils.get_input_tensor_by_name(request, "FRAMES")
            on_cpu = np.full((frames.shape()[0], 1), frames.is_cpu(), np.int32)
            answers.append(pb_utils.InferenceResponse([pb_utils.Tensor("ON_CPU", on_cpu)]))
        return answers
"""

_WHERE_CONFIG = """
name: "where"
backend: "python"
max_batch_size: 16
input [ { name: "FRAMES" data_type: TYPE_UINT8 dims: [ -1, -1, -1, -1 ] } ]
output [ { name: "ON_CPU" data_type: TYPE_INT32 dims: [ 1 ] } ]
instance_group [ { INSTANCES } ]
parameters { key: "FORCE_CPU_ONLY_INPUT_TENSORS" value { string_value: "no" } }
"""

_ENSEMBLE_CONFIG = """
name: "decode_where"
platform: "ensemble"
max_batch_size: 16
input [ { name: "VIDEO" data_type: TYPE_STRING dims: [ 1 ] }, { name: "SIZE" data_type: TYPE_INT64 dims: [ 2 ] } ]
output [ { name: "FRAMES" data_type: TYPE_UINT8 dims: [ -1, -1, -1, -1 ] },
         { name: "ON_CPU" data_type: TYPE_INT32 dims: [ 1 ] } ]
ensemble_scheduling { step [
  { model_name: "MODEL" model_version: -1
    input_map { key: "VIDEO" value: "VIDEO" } input_map { key: "SIZE" value: "SIZE" }
    output_map { key: "FRAMES" value: "FRAMES" } },
  { model_name: "where" model_version: -1
    input_map { key: "FRAMES" value: "FRAMES" } output_map { key: "ON_CPU" value: "ON_CPU" } }
] }
"""


def ensemble_that_says_where(folder: Path, model: str, instances: str) -> None:
    """Adds the ensemble `decode_where`: `model` decodes, and a model behind it says whether the frames are on the host.

    `instances` is the second one's instance group, "kind: KIND_GPU count: 1 gpus: [ 0 ]".
    """
    for name in ("where", "decode_where"):
        (folder / name / "1").mkdir(parents=True)
    (folder / "where" / "1" / "model.py").write_text(_WHERE_MODEL)
    (folder / "where" / "config.pbtxt").write_text(_WHERE_CONFIG.replace("INSTANCES", instances))
    (folder / "decode_where" / "config.pbtxt").write_text(_ENSEMBLE_CONFIG.replace("MODEL", model))


def descendants(pid: int) -> list[int]:
    """All processes below one, itself not included."""
    children: dict[int, list[int]] = {}
    for folder in Path("/proc").iterdir():
        if folder.name.isdigit():
            try:
                fields = (folder / "stat").read_text().rpartition(")")[2].split()
            except (FileNotFoundError, ProcessLookupError):
                continue
            children.setdefault(int(fields[1]), []).append(int(folder.name))
    found: list[int] = []
    waiting = [pid]
    while waiting:
        below = children.get(waiting.pop(), [])
        found += below
        waiting += below
    return found


def workers(server_pid: int, *, keep: bool = False) -> list[int]:
    """The processes that decode for the models of a server: those that keep sessions, or the others."""
    device = node_of(server_pid).status()["devices"]["cpu"]
    return [pid for pid in device["processes"] if (pid in device["keepers"]) == keep]


def node_of(server_pid: int) -> Any:
    """The node of a server's models."""
    variables = Path(f"/proc/{server_pid}/environ").read_text().split("\0")
    (path,) = [text.partition("=")[2] for text in variables if text.startswith("TRICODEC_NODE=")]
    return tricodec.node.connect(path)


def stubs(server_pid: int, model: str = "video_decode") -> list[int]:
    """The processes that run a model's Python."""
    below = descendants(server_pid)
    return [pid for pid in below if "triton_python_backend_stub" in command(pid) and f"/{model}/" in command(pid)]


def command(pid: int) -> str:
    """The command line of a process, empty if it is gone or a zombie."""
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode()
    except (FileNotFoundError, ProcessLookupError):
        return ""


def long_video(num_frames: int = 40_000) -> bytes:
    """A multiple of 50 frames. No machine decodes 40,000 within a second."""
    return generated("h264_raw.h264").read_bytes() * (num_frames // 50)


def stop_worker(server_pid: int) -> int:
    """Halts the only worker, so that its task takes too long on a machine of any speed. Returns its pid."""
    (worker,) = workers(server_pid)
    os.kill(worker, signal.SIGSTOP)
    return worker


def running(pid: int) -> bool:
    """Whether a process exists and is no zombie."""
    try:  # the command line is gone before the parent can know that the process ended: the states of its threads tell
        stats = [path.read_text() for path in Path(f"/proc/{pid}/task").glob("*/stat")]
    except (FileNotFoundError, ProcessLookupError):
        return Path(f"/proc/{pid}").exists()  # a thread ended meanwhile
    return any(stat.rpartition(")")[2].split()[0] not in "ZX" for stat in stats)


def cpu_seconds(pid: int) -> float:
    """Processor time that a process has used."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def connect(url: str, **options: Any) -> Any:
    """A `tricodec.triton.client.Client`. Its module needs tritonclient, so it is imported here."""
    from tricodec.triton.client import Client

    return Client(url, **options)


def wait_until(condition: Callable[[], bool], what: str) -> None:
    """Waits for a condition; fails if it does not come true."""
    until(condition, what, WAIT_SECONDS)


def metric(metrics_url: str, name: str, **labels: str) -> float:
    """The value of one metric."""
    import urllib.request

    wanted = [f'{key}="{value}"' for key, value in labels.items()]
    deadline = time.monotonic() + WAIT_SECONDS
    while True:  # a metric appears with the first request that it counts, which may have its answer before
        with urllib.request.urlopen(f"http://{metrics_url}/metrics") as response:
            lines = response.read().decode().splitlines()
        matching = [line for line in lines if line.startswith(name + "{") and all(part in line for part in wanted)]
        if matching or time.monotonic() > deadline:
            break
        time.sleep(0.1)
    assert len(matching) == 1, f"{len(matching)} metrics match {name} {labels}"
    return float(matching[0].split()[-1])


def settled(read: Callable[[], list[float]], than: list[float] | None = None) -> list[float]:
    """What `read` gives once it gives the same twice, 0.6 s apart, and all of it is other `than` an earlier reading.

    A request is counted after its answer was sent, and Triton has the counts 0.2 s later; a busy machine takes longer.
    """
    deadline = time.monotonic() + WAIT_SECONDS
    last = read()
    while True:
        time.sleep(0.6 * max(1.0, slowdown()))
        now = read()
        moved = than is None or all(new != old for new, old in zip(now, than, strict=True))
        if (moved and now == last) or time.monotonic() > deadline:
            return now
        last = now


TEXT_CLIP = 30, 8, 19
"""Frames of text_clip(), and of them the first and the last one with text."""


def _picture(number: int) -> Any:
    """A moving gradient, for a while with four lines of text."""
    from PIL import Image, ImageDraw, ImageFont

    rows, columns = np.mgrid[0:180, 0:320]
    gradient = np.stack([columns // 2 + 2 * number, rows + number, (rows + columns) // 3], axis=-1)
    image = Image.fromarray(gradient.astype(np.uint8))
    if TEXT_CLIP[1] <= number <= TEXT_CLIP[2]:
        for line in range(4):
            text = f"Line {line} of frame {number}"
            ImageDraw.Draw(image).text((12, 14 + 38 * line), text, "white", ImageFont.load_default(24))
    return np.asarray(image)


def text_clip() -> bytes:
    """A video that shows text for a part of its time."""
    frames = np.stack([_picture(number) for number in range(TEXT_CLIP[0])])
    return tricodec.encode_video(frames, codec="h264", frame_rate=10, crf=18, preset="veryfast")


def shares_in_python(frames: Any) -> Any:
    """The part of each frame's pixels that the network calls text, by onnxruntime and numpy in float64."""
    import onnxruntime

    (package,) = importlib.util.find_spec("rapidocr_onnxruntime").submodule_search_locations  # type: ignore[union-attr,misc]
    network = f"{package}/models/ch_PP-OCRv4_det_infer.onnx"
    session = onnxruntime.InferenceSession(network, providers=["CPUExecutionProvider"])
    height, width = frames.shape[1:3]
    shares = []
    for frame in frames:
        normalized = (frame / 255.0 - [0.485, 0.456, 0.406]) / [0.229, 0.224, 0.225]
        padded = np.pad(normalized, ((0, -height % 32), (0, -width % 32), (0, 0)))
        tensor = padded.transpose(2, 0, 1)[np.newaxis].astype(np.float32)
        (probabilities,) = session.run(None, {session.get_inputs()[0].name: tensor})
        shares.append((probabilities[0, 0, :height, :width] >= 0.3).mean())
    return np.array(shares)


UNSHARE = ["unshare", "--map-root-user", "--mount"]
"""Put before a command, it gives the command a private namespace of mounts, for a /dev/shm of a test's own."""


def need_namespaces() -> None:
    """Skips the test where the system gives none, as many containers do."""
    if shutil.which("unshare") is None or subprocess.run([*UNSHARE, "true"], check=False).returncode != 0:
        pytest.skip("this system gives no namespaces")
