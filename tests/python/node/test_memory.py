# SPDX-License-Identifier: Apache-2.0
"""One number of bytes bounds all results: what never fits is refused, what does not fit now waits its turn."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

import pytest
import tricodec
from media import generated
from patience import until
from tricodec import node as nodes

CLIP = generated("h264_bframes.mp4")
MIB = 1 << 20
MEMORY = 64 * MIB
TOTAL = MEMORY * 3 // 4
"""What results may have of it; kept frames have the rest."""
ONE = 9 * MIB
"""What all frames of the clip take."""

Start = Callable[..., nodes.Node]


@pytest.fixture
def threads() -> Iterator[ThreadPoolExecutor]:
    with ThreadPoolExecutor(16) as pool:
        yield pool


def cpu(node: nodes.Node, name: str) -> Any:
    return node.status()["devices"]["cpu"][name]


def another_client(node: nodes.Node) -> nodes.Node:
    """A node has a client for each connection, and a process one connection for each name of a socket."""
    return nodes.Node(node.path.replace("/tmp/", "//tmp/"))


def decode(node: nodes.Node, **options: Any) -> Any:
    return node.decode_video(CLIP, **options).frames


def waits(node: nodes.Node, count: int) -> None:
    until(lambda: cpu(node, "waiting") == count and cpu(node, "running") == 0, f"{count} requests wait for memory")


def test_what_can_never_fit_is_refused_with_the_numbers(start: Start) -> None:
    node = start(memory=MEMORY)
    numbers = f"the frames take {50 * 180 * 320 * 3 * 4} bytes, and this node gives a client at most {TOTAL // 2} bytes"

    with pytest.raises(tricodec.RefusedError, match=numbers):
        decode(node, dtype="float32")
    assert cpu(node, "leased_bytes") == 0
    assert decode(node, count=3).shape[0] == 3


def test_what_does_not_fit_now_comes_in_order_when_an_array_is_dropped(
    start: Start, threads: ThreadPoolExecutor
) -> None:
    node = start(memory=MEMORY, client_share=1.0)
    held = [decode(node) for _ in range(5)]
    assert cpu(node, "leased_bytes") == 5 * ONE
    first = threads.submit(decode, node)
    waits(node, 1)
    second = threads.submit(decode, another_client(node), count=20)  # 4 MiB, of which 3 are free
    waits(node, 2)
    small = threads.submit(decode, another_client(node), count=3)  # would fit
    waits(node, 3)

    held.pop()
    got = first.result(20)
    waits(node, 2)
    held.pop()
    assert second.result(20).shape[0] == 20
    assert small.result(20).shape[0] == 3
    assert (got == held[0]).all()
    assert cpu(node, "peak_bytes") <= TOTAL


def test_a_client_over_its_share_does_not_hold_up_another_one(start: Start, threads: ThreadPoolExecutor) -> None:
    node = start(memory=MEMORY)
    other = another_client(node)
    held = [decode(node), decode(node)]
    late = threads.submit(decode, node)
    waits(node, 1)

    assert decode(other).shape == held[0].shape
    assert not late.done()
    held.pop()
    assert late.result(20).shape == held[0].shape


def test_a_client_that_releases_nothing_gets_an_error_with_the_numbers(start: Start) -> None:
    node = start(memory=MEMORY, wait_s=0.5)
    held = [decode(node), decode(node)]
    numbers = rf"for 0\.5 s there was no room on cpu: arrays hold {2 * ONE} of {TOTAL} bytes, those of this client "

    with pytest.raises(TimeoutError, match=rf"{numbers}{2 * ONE} of {TOTAL // 2}; drop arrays"):
        decode(node)
    del held
    assert len(decode(node)) == 50


def test_memory_counts_to_the_process_that_still_has_it(start: Start) -> None:
    node = start(memory=MEMORY, wait_s=0.5)
    other = another_client(node)
    held = [decode(node), decode(node)]
    for frames in held:
        token = frames._lease.share()[1][1]
        reply, files = other._connection().ask({"do": "claim", "token": token})
        os.close(files[0])
        other._connection().tell({"do": "release", "lease": reply["lease"]})

    assert len(decode(other)) == 50
    with pytest.raises(TimeoutError):
        decode(node)


class Stopped:
    """The worker of a node, which does one request and gets no further before it is told to."""

    def __init__(self, node: nodes.Node, threads: ThreadPoolExecutor) -> None:
        self.node, self.threads = node, threads
        self.done: list[str] = []
        self.worker = cpu(node, "processes")[0]
        os.kill(self.worker, signal.SIGSTOP)
        self.requests = [self.threads.submit(decode, node)]
        until(lambda: cpu(node, "running") == 1, "the worker has a request")

    def ask(self, name: str, node: nodes.Node, **options: Any) -> Future[Any]:
        """Puts a request into the queue."""
        future = self.threads.submit(decode, node, **options)
        future.add_done_callback(lambda _: self.done.append(name))
        self.requests.append(future)
        until(lambda: cpu(self.node, "waiting") == len(self.requests) - 1, f"{name} waits")
        return future

    def go_on(self) -> list[str]:
        """The names of the requests as they were done."""
        os.kill(self.worker, signal.SIGCONT)
        for request in self.requests:
            request.result(20)
        return self.done


def test_requests_of_a_smaller_number_come_first(node: nodes.Node, threads: ThreadPoolExecutor) -> None:
    stopped = Stopped(node, threads)
    for priority in (3, 0, 5, -1, 0):
        stopped.ask(str(priority), node, priority=priority)

    assert stopped.go_on() == ["-1", "0", "0", "3", "5"]


def test_clients_come_by_turns(node: nodes.Node, threads: ThreadPoolExecutor) -> None:
    stopped = Stopped(node, threads)
    for number in range(3):
        stopped.ask(f"first's {number}", node)
    for number in range(2):
        stopped.ask(f"second's {number}", another_client(node))

    assert stopped.go_on() == ["second's 0", "first's 0", "second's 1", "first's 1", "first's 2"]
