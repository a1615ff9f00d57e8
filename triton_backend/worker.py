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
from typing import Any

import tricodec
from tricodec.triton_backend import channel
from tricodec.triton_backend.errors import failure_of
from tricodec.triton_backend.frame_files import FrameFile, FrameFiles
from tricodec.triton_backend.settings import Settings
from tricodec.triton_backend.tasks import TASKS

_PR_SET_PDEATHSIG = 1
_PR_SET_NO_NEW_PRIVS = 38


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
        files = FrameFiles(keep=settings.max_worker_bytes == 0)  # mappings count towards that limit
        while True:
            _serve_one(connection, settings, files)


def _serve_one(connection: socket.socket, settings: Settings, files: FrameFiles) -> None:
    request, data_file = channel.receive(connection)
    if data_file is None:
        raise ValueError("a task came without its bytes")
    files.accept(request["released"])
    try:
        file, block = _work(request, data_file, settings, files)
    except Exception as error:  # every failure is the request's own
        channel.send(connection, {"failure": dataclasses.asdict(failure_of(error))})
        return
    announced, descriptor = files.announce(file)
    try:
        channel.send(connection, {"block": dataclasses.asdict(block), "file": announced}, descriptor)
    finally:
        files.sent(file)


def _work(request: dict[str, Any], data_file: int, settings: Settings, files: FrameFiles) -> tuple[FrameFile, Any]:
    try:
        # An empty file cannot be mapped.
        data = mmap.mmap(data_file, 0, prot=mmap.PROT_READ) if os.fstat(data_file).st_size else b""
    finally:
        os.close(data_file)
    task = TASKS[request["kind"]](**request["task"])
    with task.open(data, settings, request["num_threads"]) as job:
        file = files.take(job.block.total_bytes)
        try:
            job.write(file.memory)
        except BaseException:
            files.give_back(file)
            raise
        return file, job.block


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
    if settings.max_worker_bytes:
        resource.setrlimit(resource.RLIMIT_AS, (settings.max_worker_bytes, settings.max_worker_bytes))
