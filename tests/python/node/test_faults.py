# SPDX-License-Identifier: Apache-2.0
"""What ends or hangs takes the requests that it has with it and nothing else."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tricodec
from media import generated
from patience import until
from tricodec import node as nodes

CLIP = generated("h264_bframes.mp4")
Start = Callable[..., nodes.Node]


@pytest.fixture
def threads() -> Iterator[ThreadPoolExecutor]:
    with ThreadPoolExecutor(4) as pool:
        yield pool


@pytest.fixture(scope="module")
def expected() -> Any:
    return tricodec.decode_video(CLIP, device="cpu", count=9).frames


def decode(node: nodes.Node) -> Any:
    return node.decode_video(CLIP, count=9).frames


def cpu(node: nodes.Node, name: str) -> Any:
    return node.status()["devices"]["cpu"][name]


def hung(node: nodes.Node, threads: ThreadPoolExecutor) -> tuple[int, Future[Any]]:
    """A worker that does nothing, and a request that it has."""
    worker = cpu(node, "processes")[0]
    os.kill(worker, signal.SIGSTOP)
    request = threads.submit(decode, node)
    until(lambda: cpu(node, "running") == 1, "the worker has a request")
    return worker, request


CLIENT = """
import sys, time, tricodec.node
frames = tricodec.node.connect(sys.argv[1]).decode_video(sys.argv[2]).frames
print("held", flush=True)
time.sleep(60)
"""


def test_a_client_that_is_killed_leaves_its_memory_to_others(node: nodes.Node) -> None:
    command = [sys.executable, "-c", CLIENT, node.path, str(CLIP)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as client:
        assert client.stdout is not None
        assert client.stdout.readline() == "held\n"
        assert cpu(node, "leased_bytes") > 0
        assert sorted(node.status()["clients"]) == sorted([os.getpid(), client.pid])
        client.kill()

    until(lambda: cpu(node, "leased_bytes") == 0, "its memory is free")
    assert node.status()["clients"] == [os.getpid()]


def test_a_worker_that_is_killed_loses_its_request_alone(
    start: Start, threads: ThreadPoolExecutor, expected: Any
) -> None:
    node = start(workers=2)
    worker, lost = hung(node, threads)
    assert np.array_equal(decode(node), expected)  # by the other worker
    os.kill(worker, signal.SIGKILL)

    with pytest.raises(tricodec.errors.InternalError, match="died of SIGKILL; no other request of the node is"):
        lost.result(20)
    assert np.array_equal(decode(node), expected)
    status = node.status()
    assert (status["restarts"], status["failures"], status["leases"]) == (1, 1, 0)


def test_a_decode_that_hangs_ends_in_time(start: Start, threads: ThreadPoolExecutor, expected: Any) -> None:
    node = start(timeout_s=0.5)
    _, late = hung(node, threads)

    with pytest.raises(TimeoutError, match=r"longer than 0\.5 s \(timeout_s of the node\)"):
        late.result(20)
    assert np.array_equal(decode(node), expected)


def test_a_node_that_is_killed_loses_its_requests_and_no_arrays(
    start: Start, folder: str, threads: ThreadPoolExecutor, expected: Any
) -> None:
    node = start()
    frames, reader = decode(node), node.open(CLIP)
    process = node.status()["process"]
    worker, lost = hung(node, threads)
    os.kill(process, signal.SIGKILL)
    os.kill(worker, signal.SIGCONT)

    with pytest.raises(nodes.NodeLostError, match="ended, and the requests it had are lost; ask again"):
        lost.result(20)
    assert np.array_equal(frames, expected)
    until(lambda: not Path(f"/proc/{process}").exists(), "the node has ended")
    with pytest.raises(nodes.NodeLostError, match="no node answers"):
        decode(node)
    assert Path(node.path).is_socket()  # it had no time to take the socket away
    assert start().path == node.path
    assert np.array_equal(reader.batch(range(9)), expected)
    reader.close()


def test_a_node_that_is_gone_is_started_again_by_who_asked_for_that(folder: str, expected: Any) -> None:
    node = nodes.connect(f"{folder}/n", start=True)
    first = node.status()["process"]
    os.kill(first, signal.SIGKILL)
    until(lambda: not Path(f"/proc/{first}").exists(), "the node has ended")

    assert np.array_equal(decode(node), expected)
    assert node.status()["process"] != first


def test_requests_go_on_while_nodes_end_and_start(folder: str, start: Start, expected: Any) -> None:
    start()
    ended = threading.Event()
    counts = []

    def load() -> None:
        node, count = nodes.connect(f"{folder}/n", start=True), 0
        while not ended.is_set() or not count:
            with contextlib.suppress(nodes.NodeLostError):
                assert np.array_equal(decode(node), expected)
                count += 1
        counts.append(count)

    loads = [threading.Thread(target=load) for _ in range(4)]
    for each in loads:
        each.start()
    for kill in (False, True, False):
        time.sleep(0.3)
        node = nodes.connect(f"{folder}/n", start=True)
        os.kill(node.status()["process"], signal.SIGKILL) if kill else node.stop()
    ended.set()
    for each in loads:
        each.join(30)
    assert len(counts) == 4
    assert min(counts) > 0


def test_a_socket_has_one_node_and_a_file_in_its_place_stays(node: nodes.Node, folder: str, expected: Any) -> None:
    with pytest.raises(RuntimeError, match=f"the node did not start: a node runs already at the socket '{node.path}'"):
        nodes.start(nodes.Settings(socket=node.path, gpus=()))
    assert np.array_equal(decode(node), expected)

    file = Path(folder) / "notes.log"
    file.write_text("kept")
    with pytest.raises(RuntimeError, match="is there and no socket"):
        nodes.start(nodes.Settings(socket=str(file), gpus=()))
    assert file.read_text() == "kept"


def test_a_node_starts_at_a_socket_and_a_lock_that_another_one_left(start: Start, folder: str, expected: Any) -> None:
    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as left:
        left.bind(f"{folder}/n")
    Path(f"{folder}/n.lock").write_text("4")

    node = start()
    assert np.array_equal(decode(node), expected)
    assert Path(node.path).stat().st_mode & 0o777 == 0o600


ASKING = """
import sys, tricodec.node
from concurrent.futures import ThreadPoolExecutor
node = tricodec.node.connect(sys.argv[1])
decode = lambda _: len(node.decode_video(sys.argv[2], indices=list(range(50)) * 4, size=(16, 16)).frames)
with ThreadPoolExecutor(64) as threads:
    print(sum(threads.map(decode, range(64))))
"""


def test_a_client_that_reads_nothing_for_a_while_gets_all_its_answers(node: nodes.Node) -> None:
    worker = cpu(node, "processes")[0]
    os.kill(worker, signal.SIGSTOP)
    command = [sys.executable, "-c", ASKING, node.path, str(CLIP)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as client:
        until(lambda: cpu(node, "waiting") == 63, "all requests are there")
        os.kill(client.pid, signal.SIGSTOP)
        os.kill(worker, signal.SIGCONT)
        until(lambda: cpu(node, "waiting") + cpu(node, "running") == 0, "all are answered")
        os.kill(client.pid, signal.SIGCONT)
        assert client.communicate(timeout=20)[0] == f"{64 * 200}\n"


@pytest.mark.parametrize("message", [b"", b"noise", b"[" * 2000, b"[1]", b'{"do": "claim", "token": "x"}', b"{}"])
def test_a_client_that_sends_noise_ends_its_own_connection_at_most(
    shared_node: nodes.Node, message: bytes, expected: Any
) -> None:
    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as broken:
        broken.settimeout(20)
        broken.connect(shared_node.path)
        broken.send(message)
        answer = broken.recv(10000)
    assert not answer or "failure" in json.loads(answer)
    assert np.array_equal(decode(shared_node), expected)


def test_a_node_has_no_file_in_a_folder(node: nodes.Node, folder: str) -> None:
    frames = decode(node)
    for process in (node.status()["process"], *cpu(node, "processes")):
        opened = [str(file.readlink()) for file in Path(f"/proc/{process}/fd").iterdir() if file.exists()]
        mapped = Path(f"/proc/{process}/maps").read_text()
        assert not [path for path in opened if path.startswith(("/dev/shm", "/tmp/")) and folder not in path]
        assert "/dev/shm" not in mapped
    assert len(frames) == 9
    assert {path.name for path in Path(folder).iterdir()} == {"n", "n.lock", "n.log"}
