# SPDX-License-Identifier: Apache-2.0
"""A task in the process that does it: it asks for memory, gives its parts, and waits for a client that is slower."""

from __future__ import annotations

import mmap
import os
import queue
from collections.abc import Callable
from typing import Any

from tricodec.node import _channel
from tricodec.node._source import ReceivedSource
from tricodec.node.tasks import Job, Tools, made_of, marked

MOST_UNREAD = 2
"""Parts of an outcome that the client has not read: one is made while it reads the one before."""

Messages = queue.SimpleQueue[tuple[dict[str, Any], list[int]]]
"""What the node sends for one request, with the files."""


class StoppedError(Exception):
    """The client wants no more of the task."""


class TaskRun:
    """One task, from its arrival to its last part."""

    def __init__(
        self, message: dict[str, Any], messages: Messages, send: Callable[..., None], memory: Callable[..., Any]
    ) -> None:
        """Does nothing yet. Args: messages are what the node says about the request; send sends an answer of it, with
        files; memory gives what a slab describes, from its files, and lists the file of a new one."""
        self._message, self._messages, self._send, self._memory = message, messages, send, memory
        self._num_unread = 0

    def do(self, source: ReceivedSource, tools: Tools, made: list[int]) -> dict[str, Any]:
        """Does the task and sends its parts; returns the last one, of which the new file goes to `made`.

        Raises:
            StoppedError: the client wants no more.
            Exception: the errors of the task.
        """
        task, settings = made_of(self._message["what"]), made_of(self._message["settings"])
        with task.open(_data_of(source), settings, tools) as jobs:
            for job, is_last in marked(jobs):
                answer = self._done(job, tools, made)
                if is_last:
                    break
                self._send({"part": answer}, made)
                made.clear()
                self._num_unread += 1
                while self._num_unread >= MOST_UNREAD or not self._messages.empty():
                    self._take(self._messages.get()[0])
        return answer

    def _done(self, job: Job, tools: Tools, made: list[int]) -> dict[str, Any]:
        before = job.block
        room, files = self._room(max(1, before.total_bytes), on_host=not before.dtype)
        try:
            job.write(self._memory(room, files, made, on_host=not before.dtype))
        finally:
            _channel.close(files)
        if tools.stream is not None:
            tools.stream.synchronize()
        block = job.block
        shape, dtype = [block.total_bytes], "uint8"
        if tools.stream is not None and block.dtype:
            shape, dtype = list(block.places[0].shape), block.dtype
        return {"block": block.described(), "shape": shape, "dtype": dtype, "event": None}

    def _room(self, size: int, *, on_host: bool) -> tuple[dict[str, Any], list[int]]:
        """Memory for a part: what came with the request, if that is enough; else it asks, and waits."""
        given = self._message.pop("slab", None)
        if given is not None and size <= given["size"]:
            return given, []
        self._send({"need": size, "on_host": on_host}, [])
        while True:
            message, files = self._messages.get()
            if "slab" in message:
                if message["slab"] is None:
                    raise StoppedError
                return message["slab"], files
            self._take(message)

    def _take(self, message: dict[str, Any]) -> None:
        if message.get("stop"):
            raise StoppedError
        self._num_unread -= 1


def _data_of(source: ReceivedSource) -> Any:
    """The bytes of a source; or what reads them, if they are elsewhere."""
    if source.is_remote:
        return source.open()
    size = os.fstat(source.file).st_size
    return mmap.mmap(source.file, size, prot=mmap.PROT_READ) if size else b""  # an empty file cannot be mapped
