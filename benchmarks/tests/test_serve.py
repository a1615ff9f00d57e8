# SPDX-License-Identifier: Apache-2.0
"""The arithmetic of benchmarks/serve: what is compared with what, bytes on the wire, tables."""

from __future__ import annotations

import contextlib
import socket
import threading

import pytest

from benchmarks.serve import contenders as ways
from benchmarks.serve import names, run
from benchmarks.serve.goals import goals_of
from benchmarks.serve.relay import Relay
from benchmarks.serve.table import speeds

FACTS = {
    "cores": "2",
    "cpu": "processor",
    "date": "2026-11-25T00:00:00",
    "requests_at_a_time": "2",
    "load_average": "2.1",
}
DECODED = ways.Request("frames", {"count": 4, "size": (32, 32)}, others=(names.SHARED_MEMORY, names.GRPC))


class Steady(run.Bench):
    """Runs of known speeds."""

    def __init__(self, speeds: dict[str, float]) -> None:
        self._perf_analyzer = None
        self._speeds = speeds
        self.order: list[str] = []

    def run(self, cell: run.Cell, request: ways.Request, cells: run.Cells) -> float:
        self.order.append(cell[0])
        cells.speeds[cell].append(self._speeds[cell[0]])
        return self._speeds[cell[0]]


def ratios(cells: run.Cells) -> dict[tuple[str, str], float]:
    return {(row.contender, row.against): row.value or 0 for row in cells.rows() if row.against}


def test_a_server_is_compared_with_decoding_in_the_process_beside_it() -> None:
    cells = run.Cells(DECODED)
    bench = Steady({names.IN_PROCESS: 100, names.SHARED_MEMORY: 98, names.GRPC: 50})
    for number in range(2):
        bench.round(DECODED, cells, number)

    assert bench.order == [
        names.SHARED_MEMORY,
        names.IN_PROCESS,
        names.GRPC,
        names.GRPC,
        names.IN_PROCESS,
        names.SHARED_MEMORY,
    ]
    assert ratios(cells) == {
        (names.SHARED_MEMORY, names.IN_PROCESS): pytest.approx(0.98),
        (names.GRPC, names.IN_PROCESS): pytest.approx(0.5),
    }
    goals = {goal.name: goal for goal in goals_of(cells.rows())}
    assert goals[f"frames, {names.SHARED_MEMORY} ({names.BENCH})"].target == 0.95
    assert goals[f"frames, {names.GRPC} ({names.BENCH})"].target is None


def test_a_table_has_a_line_for_each_way_and_its_bytes() -> None:
    cells = run.Cells(DECODED)
    Steady({names.IN_PROCESS: 100, names.SHARED_MEMORY: 98, names.GRPC: 50}).round(DECODED, cells, 0)
    cells.latencies[names.GRPC, names.BENCH] = [float(value) for value in range(1, 201)]
    cells.wire = {names.IN_PROCESS: 0, names.GRPC: 2_500_000}

    text = speeds(FACTS, cells.rows())

    assert f"| frames | {names.GRPC} | {names.BENCH} | 50 | 100, 198 | 2.50 | 0.50 of in process" in text
    assert f"| frames | {names.IN_PROCESS} | {names.BENCH} | 100 | -, - | - | - |" in text
    assert "1 of 1 goals reached" in text
    assert "The load average was 2.1. On a machine" in text


def test_a_table_says_what_a_request_without_work_leaves_of_the_speed() -> None:
    request = ways.Request("frames", {"count": 4, "size": (32, 32)})
    cells = run.Cells(request)
    Steady({names.IN_PROCESS: 100, names.SHARED_MEMORY: 72, names.GRPC: 50, names.EMPTY: 80}).round(request, cells, 0)

    text = speeds(FACTS, cells.rows())

    assert "leaves of the speed: frames 0.80, of which the server through shared memory has 0.90." in text


def test_a_relay_passes_bytes_on_and_counts_both_directions() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def answer() -> None:
            connection, _ = listener.accept()
            with connection:
                connection.sendall(connection.recv(100) * 3)

        thread = threading.Thread(target=answer)
        thread.start()
        with Relay(f"127.0.0.1:{listener.getsockname()[1]}") as relay:
            host, _, port = relay.url.rpartition(":")
            with contextlib.closing(socket.create_connection((host, int(port)))) as client:
                client.sendall(b"12345")
                client.shutdown(socket.SHUT_WR)
                received = b"".join(iter(lambda: client.recv(100), b""))
            assert received == b"12345" * 3
            assert relay.num_bytes == 20
        thread.join()
