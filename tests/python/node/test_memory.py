# SPDX-License-Identifier: Apache-2.0
"""One number of bytes bounds all results: what never fits is refused, what does not fit now waits its turn."""

from __future__ import annotations

import os
import pickle
import queue
import signal
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
import tricodec
from media import generated
from patience import until
from programs import printed_by
from tricodec import node as nodes
from tricodec.node._schedule import Scheduler

CLIP = generated("h264_bframes.mp4")
MIB = 1 << 20
TOTAL = 48 * MIB
"""What results may have of 96 MiB; kept frames have the rest."""
ONE = 9 * MIB
"""What all frames of the clip take."""
REQUESTS = int(os.environ.get("TRICODEC_NODE_REQUESTS", "100000"))


def with_48_mib(**settings: Any) -> pytest.MarkDecorator:
    return pytest.mark.parametrize("node", [{"memory": 96 * MIB, **settings}], indirect=True)


def cpu(node: nodes.Node, name: str) -> Any:
    return node.status()["devices"]["cpu"][name]


def another_client(node: nodes.Node) -> nodes.Node:
    """A node has a client for each connection, and a process one connection for each name of a socket."""
    return nodes.Node(node.path.replace("/tmp/", "//tmp/"))


def decode(node: nodes.Node, clip: Path = CLIP, **options: Any) -> Any:
    return node.decode_video(clip, **options).frames


def waits(node: nodes.Node, count: int) -> None:
    until(lambda: cpu(node, "waiting") == count and cpu(node, "running") == 0, f"{count} requests wait for memory")


@with_48_mib(wait_s=0.5)
def test_what_can_never_fit_or_does_not_fit_in_time_fails_with_the_numbers(node: nodes.Node) -> None:
    refused = f"the frames take {50 * 180 * 320 * 3 * 4} bytes, and this node gives a client at most {TOTAL // 2} bytes"
    with pytest.raises(tricodec.RefusedError, match=refused):
        decode(node, dtype="float32")
    held = [decode(node), decode(node)]
    late = rf"for 0\.5 s there was no room on cpu: arrays hold {2 * ONE} of {TOTAL} bytes, those of this client "
    with pytest.raises(TimeoutError, match=rf"{late}{2 * ONE} of {TOTAL // 2}; drop arrays"):
        decode(node)
    del held
    assert len(decode(node)) == 50


@with_48_mib(client_share=1.0)
def test_what_does_not_fit_now_comes_in_order_when_an_array_is_dropped(
    node: nodes.Node, threads: ThreadPoolExecutor
) -> None:
    held = [decode(node) for _ in range(5)]
    assert cpu(node, "leased_bytes") == 5 * ONE
    first = threads.submit(decode, node)
    waits(node, 1)
    second = threads.submit(decode, another_client(node), count=20)  # takes 4 MiB, of which 3 are free
    waits(node, 2)
    small = threads.submit(decode, another_client(node), count=3)  # would fit
    waits(node, 3)

    held.pop()
    assert (first.result(20) == held[0]).all()
    waits(node, 2)
    held.pop()
    assert (len(second.result(20)), len(small.result(20))) == (20, 3)
    assert cpu(node, "peak_bytes") <= TOTAL


@with_48_mib()
def test_a_client_over_its_share_does_not_hold_up_another_one(node: nodes.Node, threads: ThreadPoolExecutor) -> None:
    held = [decode(node), decode(node)]
    late = threads.submit(decode, node)
    waits(node, 1)

    assert len(decode(another_client(node))) == 50
    assert not late.done()
    held.pop()
    assert (late.result(20) == held[0]).all()


@with_48_mib(client_share=1.0)
def test_clients_that_pass_results_on_leave_room_for_one_that_has_none(
    node: nodes.Node, threads: ThreadPoolExecutor
) -> None:
    ahead = another_client(node)
    passed = [pickle.dumps(decode(client)) for client in (node, node, ahead, ahead)]  # 36 of 48 MiB
    late = [threads.submit(decode, client) for client in (node, ahead)]
    waits(node, 2)

    behind = nodes.Node(node.path.replace("/tmp/", "///tmp/"))
    assert len(decode(behind)) == 50  # the one that their consumer waits for
    assert not any(request.done() for request in late)
    for data in passed[:2]:
        assert len(pickle.loads(data)) == 50
    assert all(len(request.result(20)) == 50 for request in late)


PASSING = """
import pickle, sys, tricodec.node
node = tricodec.node.connect(sys.argv[1])
[pickle.dumps(node.decode_video(sys.argv[2]).frames) for _ in range(2)]
"""


@with_48_mib(client_share=1.0)
def test_results_that_a_process_passed_on_before_it_ended_go_when_others_need_their_memory(node: nodes.Node) -> None:
    printed_by(PASSING, node.path, CLIP)  # this process, to which they may be on the way, lives
    held = [decode(node) for _ in range(3)]
    assert node.status()["leases"] == 5
    held.append(decode(node))
    assert node.status()["leases"] == 4


@pytest.mark.parametrize(
    ("asked", "done"),
    [
        ([("a", 3), ("a", 0), ("a", 5), ("a", -1), ("a", 0)], [3, 1, 4, 0, 2]),  # the smallest priority first
        ([("a", 0), ("a", 0), ("a", 0), ("b", 0), ("b", 0)], [3, 0, 4, 1, 2]),  # the clients alternately
    ],
)
def test_requests_come_by_priority_and_then_by_turns_of_the_clients(
    node: nodes.Node, threads: ThreadPoolExecutor, stop_worker: Any, asked: list[tuple[str, int]], done: list[int]
) -> None:
    clients = {"a": node, "b": another_client(node)}
    clips = [generated(f"h264_{name}") for name in ("nob.mp4", "one_gop.mp4", "vfr.mkv", "rot90.mp4", "open_gop.mkv")]
    requests = []
    worker, first = stop_worker("h264_bframes.mp4")
    for number, (client, priority) in enumerate(asked):
        requests.append(threads.submit(decode, clients[client], clips[number], size=(16, 16), priority=priority))
        until(lambda: cpu(node, "waiting") > number, "it waits")  # noqa: B023
    os.kill(worker, signal.SIGCONT)

    assert len(first.result(20)) == 9
    leases = [request.result(20)._lease.number for request in requests]  # the node numbers them as they are done
    assert sorted(range(len(asked)), key=leases.__getitem__) == done


class Client:
    """What the scheduler knows of a connection."""

    def __init__(self) -> None:
        self.answers: queue.SimpleQueue[dict[str, Any]] = queue.SimpleQueue()

    def answer(self, _: int, answer: dict[str, Any], __: list[int]) -> None:
        self.answers.put(answer)


def test_what_a_gpu_never_has_memory_for_goes_to_the_cpu_where_the_client_left_the_choice() -> None:
    scheduler, client = Scheduler(nodes.Settings(workers=1, memory=64 * MIB), []), Client()
    worker = scheduler._staff.cpu_worker(0)  # in the place of the process of a GPU: it asks for memory as that does
    worker.device = "cuda:0"
    worker.start()
    scheduler._add("cuda:0", ONE, [worker])
    video = {"do": "decode", "source": {"kind": "file", "name": ""}, "stream_index": -1, "ignore_edit_list": False}

    def asked(device: str) -> dict[str, Any]:
        file = os.open(CLIP, os.O_RDONLY)
        scheduler.submit(client, 1, {**video, "device": device, "on_host": False, "options": {}}, [file])
        return client.answers.get(timeout=30)

    try:
        assert "gives a client at most" in asked("cuda:0")["failure"]["text"]
        answer = asked("auto")
    finally:
        scheduler.close()
    assert (answer["device"], answer["shape"][0], worker.running) == ("cpu", 50, {})


@pytest.mark.slow
@with_48_mib()
def test_memory_is_flat_over_100000_requests(node: nodes.Node, threads: ThreadPoolExecutor) -> None:
    processes = [node.status()["process"], *cpu(node, "processes")]
    sources: list[Callable[[], Any]] = [
        lambda: generated("h264_16x16.mp4").read_bytes(), lambda: CLIP, lambda: generated("h264_open_gop.mkv"),
    ]  # fmt: skip

    def ask(number: int) -> int:
        return len(decode(node, sources[number % 3](), indices=[number % 25], size=(16, 16)))

    pages = []
    for first in range(0, REQUESTS, REQUESTS // 20):
        assert set(threads.map(ask, range(first, first + REQUESTS // 20))) == {1}
        pages.append([int(Path(f"/proc/{each}/statm").read_text().split()[1]) for each in processes])

    for late in zip(*pages[len(pages) // 5 :], strict=True):
        assert max(late) <= 1.1 * min(late), pages
    assert node.status()["leases"] == 0
