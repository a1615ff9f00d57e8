# SPDX-License-Identifier: Apache-2.0
"""A node that decodes on a GPU, beside decoding in the process."""

from __future__ import annotations

import multiprocessing
import os
import pickle
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tricodec
from media import generated
from tricodec import node as nodes

pytestmark = [pytest.mark.needs_gpu, pytest.mark.needs_kernels]
CLIP = "h264_bframes.mp4"


@pytest.fixture
def node() -> Iterator[nodes.Node]:
    with tempfile.TemporaryDirectory(prefix="tn") as folder:
        path = nodes.start(nodes.Settings(socket=f"{folder}/n", workers=2, memory=1 << 30, gpu_memory=3 << 30))
        connected = nodes.connect(path)
        yield connected
        connected.stop()


@pytest.mark.parametrize(
    "options",
    [
        {"start": 3, "count": 20}, {"indices": [40, 2, 2], "size": (64, 96)}, {"fps": 5, "dtype": "float16"},
        {"times": [0.1, 1.2], "dtype": "bfloat16", "layout": "CHW"}, {"count": 0},
    ],
    ids=str,
)  # fmt: skip
def test_a_node_gives_the_bytes_of_this_process(node: nodes.Node, options: dict[str, Any]) -> None:
    expected = tricodec.decode_video(generated(CLIP), device="cuda", **options)

    for _ in range(3):  # the second request keeps frames, the third one uses them
        got = node.decode_video(generated(CLIP), device="cuda", **options)
        assert got.frames.device == "cuda:0"
        assert got.frames.shape == expected.frames.shape
        if "bfloat16" not in options.values():
            assert np.array_equal(got.frames.numpy(), expected.frames.numpy())
        assert np.array_equal(got.pts_seconds, expected.pts_seconds)


def test_frames_for_the_host_come_without_a_context_of_the_client(node: nodes.Node) -> None:
    program = """
import ctypes, sys, tricodec
node = tricodec.node.connect(sys.argv[1])
with node.open(sys.argv[2], device="cuda", output_device="cpu") as reader:
    for frames in (reader.batch(range(9)), reader.batch([2, 40], size=(64, 96)), reader.batch([])):
        print(type(frames).__name__, frames.shape, frames.tobytes().hex())
active, flags, driver = ctypes.c_int(), ctypes.c_uint(), ctypes.CDLL("libcuda.so.1")
print(driver.cuInit(0), driver.cuDevicePrimaryCtxGetState(0, ctypes.byref(flags), ctypes.byref(active)), active.value)
"""
    command = [sys.executable, "-c", program, node.path, str(generated(CLIP))]
    printed = subprocess.run(command, check=True, capture_output=True, text=True).stdout.splitlines()

    for line, options in zip(
        printed, ({"count": 9}, {"indices": [2, 40], "size": (64, 96)}, {"indices": []}), strict=False
    ):
        expected = tricodec.decode_video(generated(CLIP), device="cpu", **options).frames
        assert line == f"NodeArray {expected.shape} {expected.tobytes().hex()}"
    assert printed[3:] == ["0 0 0"]
    assert node.status()["devices"]["cuda:0"]["leased_bytes"] == 0


@pytest.mark.needs_torch
def test_torch_reads_a_result_on_its_stream(node: nodes.Node) -> None:
    import torch

    expected = torch.from_numpy(tricodec.decode_video(generated(CLIP), device="cpu", layout="CHW").frames)
    for _ in range(4):
        got = torch.from_dlpack(node.decode_video(generated(CLIP), device="cuda", layout="CHW").frames)
        assert got.is_cuda
        assert torch.equal(got.cpu(), expected)


@pytest.mark.needs_torch
def test_an_array_that_is_dropped_stays_as_it_is_until_the_work_on_it_has_ended(node: nodes.Node) -> None:
    import torch

    expected = tricodec.decode_video(generated(CLIP), device="cpu", count=8).frames
    node.decode_video(generated(CLIP), device="cuda")  # the context of this process, and readers of the node
    with torch.cuda.stream(torch.cuda.Stream()):
        array = torch.from_dlpack(node.decode_video(generated(CLIP), device="cuda", count=8).frames)
        torch.cuda._sleep(2_000_000_000)  # about a second
        copy = array.clone()
        queued = torch.cuda.Event()
        queued.record()
    del array
    held = [node.decode_video(generated(CLIP), device="cuda", start=8 * each, count=8).frames for each in range(1, 4)]

    assert not queued.query()  # neither the drop nor the requests have waited for the GPU
    torch.cuda.synchronize()
    assert np.array_equal(copy.cpu().numpy(), expected)
    assert len(held) == 3


def test_a_video_that_the_gpu_does_not_decode_comes_from_the_cpu(node: nodes.Node) -> None:
    video = node.decode_video(generated("mpeg4.avi"), count=4)

    assert np.array_equal(video.frames, tricodec.decode_video(generated("mpeg4.avi"), count=4, device="cpu").frames)


def _decode(path: str, source: str, pipe: Any) -> None:
    video = nodes.connect(path).decode_video(source, count=8, device="cuda")
    pipe.send_bytes(pickle.dumps(video.frames))
    pipe.recv()


@pytest.mark.parametrize("method", ["fork", "spawn"])
def test_a_worker_passes_a_result_on_without_a_context(node: nodes.Node, method: str) -> None:
    context = multiprocessing.get_context(method)
    ours, theirs = context.Pipe()
    worker = context.Process(target=_decode, args=(node.path, str(generated(CLIP)), theirs))
    worker.start()
    frames = pickle.loads(ours.recv_bytes())
    used = subprocess.run(
        ["nvidia-smi", "--query-compute-apps=pid", "--format=csv,noheader"], capture_output=True, text=True
    )
    ours.send(None)
    worker.join()

    assert str(worker.pid) not in used.stdout.split()
    expected = tricodec.decode_video(generated(CLIP), count=8, device="cpu").frames
    assert np.array_equal(frames.numpy(), expected)


def test_decode_video_of_a_forked_child_uses_the_gpu_by_a_node(tmp_path: Path) -> None:
    program = """
import os, tricodec
tricodec.decode_video(tricodec.sample_video(), count=1, device="cuda")
child = os.fork()
if child == 0:
    video = tricodec.decode_video(tricodec.sample_video(), count=4, device="cuda", size=(90, 160))
    print(type(video.frames).__name__, video.frames.shape, video.frames.device, flush=True)
    os._exit(0)
assert os.waitpid(child, 0)[1] == 0
tricodec.node.connect().stop()
"""
    with tempfile.TemporaryDirectory(prefix="tn") as folder:
        environment = {**os.environ, "TRICODEC_NODE": "auto", "XDG_RUNTIME_DIR": folder}
        result = subprocess.run([sys.executable, "-c", program], env=environment, capture_output=True, text=True)

    assert result.stdout == "NodeDeviceArray (4, 90, 160, 3) cuda:0\n", result.stderr


def test_a_gpu_process_that_dies_is_started_again_and_auto_goes_to_the_cpu_meanwhile(node: nodes.Node) -> None:
    expected = tricodec.decode_video(generated(CLIP), device="cpu", count=4).frames
    before = node.decode_video(generated(CLIP), device="cuda", count=4)
    os.kill(node.status()["devices"]["cuda:0"]["processes"][0], signal.SIGKILL)

    meanwhile = node.decode_video(generated(CLIP), count=4)
    again = node.decode_video(generated(CLIP), device="cuda", count=4)

    for video in (before, meanwhile, again):
        assert np.array_equal(tricodec.asnumpy(video.frames), expected)


@pytest.mark.alone
def test_the_memory_of_the_gpu_has_a_bound_with_large_pictures_and_many_requests(
    node: nodes.Node, tmp_path: Path
) -> None:
    made = ["ffmpeg", "-v", "error", "-f", "lavfi", "-i", "testsrc2=s=3840x2160:d=2:r=30", "-g", "15"]
    made += ["-c:v", "libx264", "-preset", "ultrafast", "-x264-params", "ref=4:bframes=2", "-pix_fmt", "yuv420p"]
    subprocess.run([*made, tmp_path / "0.mp4"], check=True)
    clips = [tmp_path / "0.mp4", *(shutil.copy(tmp_path / "0.mp4", tmp_path / f"{each}.mp4") for each in range(1, 12))]
    expected = tricodec.decode_video(clips[0], device="cpu", size=(90, 160)).frames
    node.decode_video(clips[0], device="cuda", count=1).frames.numpy()  # the context of this process
    before, peak = _used_mib(), [0]

    def decode(clip: Path) -> Any:
        frames = node.decode_video(clip, device="cuda", size=(90, 160)).frames
        peak.append(_used_mib())
        return frames.numpy()

    with ThreadPoolExecutor(12) as pool:
        assert all(np.array_equal(each, expected) for each in pool.map(decode, clips * 3))
    assert max(peak) - before < (3 << 10) - 512  # the node's context was there before


def _used_mib() -> int:
    command = ["nvidia-smi", "--query-gpu=memory.used", "--format=csv,noheader,nounits", "-i", "0"]
    return int(subprocess.run(command, check=True, capture_output=True, text=True).stdout)


def test_memory_that_clients_hold_makes_others_wait_and_comes_back(node: nodes.Node) -> None:
    most = node.status()["devices"]["cuda:0"]["memory_bytes"]
    held = []
    with pytest.raises(tricodec.RefusedError, match="gives a client at most"):
        node.decode_video(generated(CLIP), device="cuda", size=(2160, 3840), dtype="float32")
    one: dict[str, Any] = {"device": "cuda", "count": 8, "size": (1080, 1920)}
    while sum(array.size for array in held) < most // 4:
        held.append(node.decode_video(generated(CLIP), **one).frames)

    assert node.status()["devices"]["cuda:0"]["leased_bytes"] >= most // 4
    del held
    deadline = time.monotonic() + 5
    while node.status()["devices"]["cuda:0"]["leased_bytes"] and time.monotonic() < deadline:
        time.sleep(0.05)
    assert node.status()["devices"]["cuda:0"]["leased_bytes"] == 0
