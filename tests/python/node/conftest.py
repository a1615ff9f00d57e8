# SPDX-License-Identifier: Apache-2.0
"""Nodes without a GPU and with little memory, of which nothing may be left after a test."""

from __future__ import annotations

import contextlib
import os
import signal
import tempfile
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from media import generated
from patience import until
from tricodec import node as nodes

_MARK = "TRICODEC_TEST_NODE"


def _processes_of(folder: str) -> list[int]:
    """Processes that inherited the mark of a folder: its nodes, their workers, and programs of the test."""
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            if f"{_MARK}={folder}\0".encode() in (process / "environ").read_bytes():
                found.append(int(process.name))
    return found


@contextlib.contextmanager
def _folder_of_nodes() -> Iterator[str]:
    """A folder with a path that leaves room for a socket's; stops what runs there, and looks for what is left."""
    with tempfile.TemporaryDirectory(prefix="tn", dir="/tmp") as folder, pytest.MonkeyPatch.context() as patch:
        patch.setenv(_MARK, folder)
        yield folder
        for socket in filter(Path.is_socket, Path(folder).iterdir()):
            with contextlib.suppress(nodes.NodeLostError):
                nodes.connect(str(socket)).stop()
        until(lambda: not _processes_of(folder), "all processes of the test have ended")
        assert {path.suffix for path in Path(folder).iterdir()} <= {".lock", ".log"}


def _start_in(folder: str, **settings: Any) -> nodes.Node:
    small = {"socket": f"{folder}/n", "gpus": (), "memory": 512 << 20, "workers": 1, "timeout_s": 20.0, "wait_s": 20.0}
    return nodes.connect(nodes.start(nodes.Settings(**{**small, **settings})))


@pytest.fixture
def folder() -> Iterator[str]:
    """Where nodes of a test have their sockets."""
    with _folder_of_nodes() as made:
        yield made


@pytest.fixture
def start(folder: str) -> Callable[..., nodes.Node]:
    """Starts a node, by default at folder/n with one process that decodes; takes fields of Settings."""
    return lambda **settings: _start_in(folder, **settings)


@pytest.fixture
def node(start: Callable[..., nodes.Node], request: pytest.FixtureRequest) -> nodes.Node:
    """A node for one test. The parameter of the fixture may give fields of its Settings."""
    return start(**getattr(request, "param", {}))


@pytest.fixture
def threads() -> Iterator[ThreadPoolExecutor]:
    """For requests that wait."""
    with ThreadPoolExecutor(16) as pool:
        yield pool


@pytest.fixture
def stop_worker(node: nodes.Node, threads: ThreadPoolExecutor) -> Callable[[str], tuple[int, Future[Any]]]:
    """Stops the worker of the node and gives it a request for 9 frames; returns its number and the future result."""

    def stop(clip: str) -> tuple[int, Future[Any]]:
        worker = node.status()["devices"]["cpu"]["processes"][0]
        os.kill(worker, signal.SIGSTOP)
        request = threads.submit(lambda: node.decode_video(generated(clip), count=9).frames)
        until(lambda: node.status()["devices"]["cpu"]["running"] == 1, "the worker has a request")
        return worker, request

    return stop


@pytest.fixture(scope="module")
def shared_node() -> Iterator[nodes.Node]:
    """A node for the tests of a module."""
    with _folder_of_nodes() as made:
        yield _start_in(made)
