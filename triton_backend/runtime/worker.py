# SPDX-License-Identifier: Apache-2.0
"""The worker process: receives a task and its bytes, does it, passes the outcome back, and again."""

from __future__ import annotations

import contextlib
import ctypes
import dataclasses
import mmap
import os
import resource
import signal
import socket
import sys
from collections.abc import Generator
from typing import Any

import tricodec
from tricodec.triton_backend.runtime import channel
from tricodec.triton_backend.runtime.errors import failure_of
from tricodec.triton_backend.runtime.frame_files import FrameFile, FrameFiles
from tricodec.triton_backend.runtime.settings import Settings
from tricodec.triton_backend.runtime.sources import Url, source_of
from tricodec.triton_backend.runtime.task import described_task, marked

_PR_SET_PDEATHSIG = 1
_PR_SET_NO_NEW_PRIVS = 38
_MOST_UNREAD = 2
"""Parts of an outcome that wait for the stub: one is made while it reads the one before."""


def run_worker(connection: socket.socket, parent: int, settings: Settings) -> None:
    """Serves one stub until it closes the connection or dies.

    Args:
        connection: to the stub.
        parent: the stub's process id.
        settings: of the model.
    """
    _confine(parent, settings)
    tricodec.set_limits(**settings.limits)
    with contextlib.suppress(channel.ChannelClosedError):
        channel.send(connection, {"ready": tricodec.__version__})
        files = FrameFiles()
        while True:
            _serve_one(connection, settings, files)


def _serve_one(connection: socket.socket, settings: Settings, files: FrameFiles) -> None:
    request, data_file = channel.receive(connection)
    files.accept(request["released"])
    parts = _work(request, _data_of(request, data_file), settings, files)
    num_unread, is_last = 0, False
    while not is_last:
        try:
            file, block, is_last = next(parts)
        except Exception as error:  # every failure is the request's own
            channel.send(connection, {"failure": dataclasses.asdict(failure_of(error))})
            break
        announced, descriptor = files.announce(file)
        try:
            answer = {"block": dataclasses.asdict(block), "file": announced, "last": is_last}
            channel.send(connection, answer, descriptor)
        finally:
            files.sent(file)
        num_unread += not is_last
        if num_unread == _MOST_UNREAD:
            if _is_stopped(connection, files):
                parts.close()
                return
            num_unread -= 1
    for _ in range(num_unread):  # the stub reports each part that it has read, except the last
        if _is_stopped(connection, files):
            return


def _is_stopped(connection: socket.socket, files: FrameFiles) -> bool:
    """Receives the stub's report that it has read a part, and whether it wants no more of them."""
    report = channel.receive(connection)[0]
    files.accept(report["released"])
    if report.get("stop"):
        channel.send(connection, {"stopped": True})
    return bool(report.get("stop"))


def _data_of(request: dict[str, Any], data_file: int | None) -> Any:
    """What `source_of` takes: a Url, or the bytes that came with a task."""
    assert data_file is not None
    try:
        # An empty file cannot be mapped.
        data = mmap.mmap(data_file, 0, prot=mmap.PROT_READ) if os.fstat(data_file).st_size else b""
    finally:
        os.close(data_file)
    return Url(data) if request["is_url"] else data


def _work(
    request: dict[str, Any], data: Any, settings: Settings, files: FrameFiles
) -> Generator[tuple[FrameFile, Any, bool], None, None]:
    """Does a task: the file of each part of its outcome, where in it that lies, and whether it is the last one."""
    task = described_task(request["task"])
    with source_of(data, settings) as source, task.open(source, settings, request["num_threads"]) as jobs:
        for job, is_last in marked(jobs):
            file = files.take(job.block.total_bytes)
            try:
                job.write(file.memory)
            except BaseException:
                files.give_back(file)
                raise
            yield file, job.block, is_last


def _confine(parent: int, settings: Settings) -> None:
    """Ties the worker to the stub's life and takes from it what its work does not need."""
    libc = ctypes.CDLL(None, use_errno=True)
    libc.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    if os.getppid() != parent:
        sys.exit("the stub is gone")
    libc.prctl(_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
    # The stub ends the worker; a signal to the whole group must not cut a request short that the stub still answers.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    # Of private memory: max_input_bytes and max_output_bytes bound what is shared with the stub.
    if settings.worker_bytes is not None:
        resource.setrlimit(resource.RLIMIT_DATA, (settings.worker_bytes, settings.worker_bytes))
