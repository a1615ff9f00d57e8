# SPDX-License-Identifier: Apache-2.0
"""What ends or hangs takes the requests that it has with it and nothing else."""

from __future__ import annotations

import contextlib
import os
import signal
import socket
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tricodec
from media import generated
from patience import until
from programs import printed_by, run_python
from tricodec import node as nodes
from tricodec.node import _node

NAME = "h264_bframes.mp4"
CLIP = generated(NAME)


@pytest.fixture(scope="module")
def expected() -> Any:
    return tricodec.decode_video(CLIP, device="cpu", count=9).frames


def decode(node: nodes.Node) -> Any:
    return node.decode_video(CLIP, count=9).frames


def cpu(node: nodes.Node, name: str) -> Any:
    return node.status()["devices"]["cpu"][name]


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
        assert set(node.status()["clients"]) == {os.getpid(), client.pid}
        assert "/dev/shm" not in Path(f"/proc/{client.pid}/maps").read_text()
        client.kill()

    until(lambda: cpu(node, "leased_bytes") == 0, "its memory is free")
    assert node.status()["clients"] == [os.getpid()]


def test_a_client_that_is_killed_before_its_result_has_memory_leaves_the_worker_to_others(
    node: nodes.Node, expected: Any
) -> None:
    worker = node.status()["devices"]["cpu"]["processes"][0]
    os.kill(worker, signal.SIGSTOP)
    with subprocess.Popen([sys.executable, "-c", CLIENT, node.path, str(CLIP)]) as client:
        until(lambda: cpu(node, "running") == 1, "the worker has the request")
        client.kill()
    until(lambda: node.status()["clients"] == [os.getpid()], "the client is gone")
    os.kill(worker, signal.SIGCONT)

    assert np.array_equal(decode(node), expected)
    assert node.status()["why"]["timeout"] == 0


def test_an_array_stays_as_it_is_when_its_client_closes_the_connection(node: nodes.Node) -> None:
    first = node.decode_video(CLIP, count=9)
    node.close()
    until(lambda: cpu(node, "leased_bytes") == 0, "the connection has ended")
    others = [node.decode_video(CLIP, start=start, count=9) for start in (9, 18)]

    for number, video in enumerate((first, *others)):
        expected = tricodec.decode_video(CLIP, start=9 * number, count=9, device="cpu")
        assert np.array_equal(video.frames, expected.frames)


@pytest.mark.parametrize("node", [{"workers": 2}], indirect=True)
def test_a_worker_that_is_killed_loses_its_request_alone(node: nodes.Node, stop_worker: Any, expected: Any) -> None:
    worker, lost = stop_worker(NAME)
    assert np.array_equal(decode(node), expected)  # by the other worker
    os.kill(worker, signal.SIGKILL)

    with pytest.raises(
        tricodec.errors.InternalError, match="died of SIGKILL and was replaced; no other request of the node is"
    ):
        lost.result(20)
    assert np.array_equal(decode(node), expected)
    status = node.status()
    assert (status["restarts"], status["failures"], status["leases"]) == (1, 1, 0)


@pytest.mark.parametrize("node", [{"timeout_s": 0.5}], indirect=True)
def test_a_decode_that_hangs_ends_in_time(node: nodes.Node, stop_worker: Any, expected: Any) -> None:
    with pytest.raises(TimeoutError, match=r"longer than 0\.5 s \(timeout_s of the node\)"):
        stop_worker(NAME)[1].result(20)
    assert np.array_equal(decode(node), expected)


def test_a_node_that_is_killed_loses_its_requests_and_no_arrays(
    node: nodes.Node, start: Any, stop_worker: Any, expected: Any
) -> None:
    frames, reader, process = decode(node), node.open(CLIP), node.status()["process"]
    worker, lost = stop_worker(NAME)
    os.kill(process, signal.SIGKILL)
    os.kill(worker, signal.SIGCONT)

    with pytest.raises(nodes.NodeLostError, match="ended, and the requests it had are lost; ask again"):
        lost.result(20)
    until(lambda: not Path(f"/proc/{process}").exists(), "the node has ended")
    with pytest.raises(nodes.NodeLostError, match="no node answers"):
        decode(node)
    assert Path(node.path).is_socket()  # left behind, and no obstacle
    assert start().path == node.path
    with reader:
        assert np.array_equal(reader.batch(range(9)), expected)
    assert np.array_equal(frames, expected)


def test_requests_go_on_while_nodes_end_and_others_start(
    node: nodes.Node, threads: ThreadPoolExecutor, expected: Any
) -> None:
    def load() -> int:
        mine, count = nodes.connect(node.path, start=True), 0
        until_time = time.monotonic() + 1
        while time.monotonic() < until_time or not count:
            assert np.array_equal(decode(mine), expected)
            count += 1
        return count

    loads = [threads.submit(load) for _ in range(3)]
    processes = set()
    for end in (lambda: os.kill(processes.pop(), signal.SIGKILL), node.stop):
        time.sleep(0.2)
        processes.add(nodes.connect(node.path, start=True).status()["process"])
        end()
    assert min(each.result(30) for each in loads) > 0


def test_a_node_that_hangs_is_said_to(node: nodes.Node, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_node, "_ANSWER_SECONDS", 0.3)
    process = node.status()["process"]
    os.kill(process, signal.SIGSTOP)
    try:
        with pytest.raises(TimeoutError, match="does not answer; end its process"):
            node.status()
    finally:
        os.kill(process, signal.SIGCONT)


def test_a_socket_has_one_node_and_a_file_in_its_place_stays(node: nodes.Node, folder: str, expected: Any) -> None:
    with pytest.raises(RuntimeError, match=f"a node runs already at the socket '{node.path}'"):
        nodes.start(nodes.Settings(socket=node.path, gpus=()))
    assert np.array_equal(decode(node), expected)
    file = Path(folder) / "notes.log"
    file.write_text("kept")
    with pytest.raises(RuntimeError, match="is there and no socket"):
        nodes.start(nodes.Settings(socket=str(file), gpus=()))
    assert file.read_text() == "kept"


HOLDING = """
import contextlib, os, resource, sys, tricodec.node
resource.setrlimit(resource.RLIMIT_NOFILE, (60, 60))
node = tricodec.node.connect(sys.argv[1])
decode = lambda: node.decode_video(sys.argv[2], count=1, size=(16, 16)).frames
held = [decode() for _ in range(200)]
opened = []
with contextlib.suppress(OSError):
    while True:
        opened.append(os.open("/dev/null", os.O_RDONLY))
os.close(opened.pop())  # for the source
try:
    decode()
except OSError as error:
    assert "may have 60 files open" in str(error), error
list(map(os.close, opened))
assert (decode() == held[0]).all()
print(node.status()["leases"])
"""


@pytest.mark.parametrize("node", [{"memory": 64 << 20}], indirect=True)
def test_a_process_holds_more_arrays_than_it_may_have_open_files(node: nodes.Node) -> None:
    assert printed_by(HOLDING, node.path, CLIP) == "200\n"  # of 64 KiB each, in 16 MiB


def test_a_node_that_had_too_many_clients_takes_others_later(folder: str, expected: Any) -> None:
    path = f"{folder}/n"
    command = [sys.executable, "-m", "tricodec", "node", "start", "--socket", path, "--workers", "1"]
    subprocess.run(["prlimit", "--nofile=60", *command], check=True, stdout=subprocess.PIPE)
    with contextlib.ExitStack() as clients:
        for _ in range(80):
            clients.enter_context(socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)).connect(path)
        time.sleep(0.2)
    assert np.array_equal(decode(nodes.connect(path)), expected)


INTERRUPTED = """
import os, random, signal, sys, threading, time, tricodec.node
signal.signal(signal.SIGINT, signal.default_int_handler)
node, held, pauses, count = tricodec.node.connect(sys.argv[1]), [], random.Random(1), 0
node.decode_video(sys.argv[2], count=1)
def interrupt():
    for _ in range(100):
        time.sleep(pauses.uniform(0.001, 0.02))
        os.kill(os.getpid(), signal.SIGINT)
interrupting = threading.Thread(target=interrupt)
while True:
    try:
        if interrupting.ident is None:
            interrupting.start()
        while interrupting.is_alive():
            held = [*held[-3:], node.decode_video(sys.argv[2], count=3, size=(32, 48)).frames]
        time.sleep(0.1)
        break
    except KeyboardInterrupt:
        count += 1
del held
print(count > 50, node.status()["leases"])
"""


def test_ctrl_c_at_any_moment_is_not_lost_and_loses_no_memory(node: nodes.Node) -> None:
    result = run_python(INTERRUPTED, node.path, CLIP)
    assert (result.stdout, result.stderr) == ("True 0\n", "")


ASKING = """
import sys, tricodec.node
from concurrent.futures import ThreadPoolExecutor
node = tricodec.node.connect(sys.argv[1])
decode = lambda _: len(node.decode_video(sys.argv[2], indices=list(range(50)) * 4, size=(16, 16)).frames)
with ThreadPoolExecutor(70) as threads:
    print(sum(threads.map(decode, range(70))))
"""


def test_a_client_that_reads_nothing_for_a_while_gets_all_its_answers(node: nodes.Node, stop_worker: Any) -> None:
    worker, _ = stop_worker(NAME)
    command = [sys.executable, "-c", ASKING, node.path, str(CLIP)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as client:
        until(lambda: cpu(node, "waiting") == 48, "all requests that a client has at a time are there")
        os.kill(client.pid, signal.SIGSTOP)
        os.kill(worker, signal.SIGCONT)
        until(lambda: cpu(node, "waiting") + cpu(node, "running") == 0, "all are answered")
        os.kill(client.pid, signal.SIGCONT)
        assert client.communicate(timeout=20)[0] == f"{70 * 200}\n"


@pytest.mark.parametrize("message", [b"", b"noise", b"[" * 2000, b"[1]", b'{"do": "claim", "token": "x"}', b"{}"])
def test_a_client_that_sends_noise_ends_its_own_connection_at_most(shared_node: nodes.Node, message: bytes) -> None:
    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as broken:
        broken.connect(shared_node.path)
        broken.send(message)
        assert broken.recv(10000)[:30] in (b"", b'{"number": 0, "failure": {"kin')
    assert len(decode(shared_node)) == 9
