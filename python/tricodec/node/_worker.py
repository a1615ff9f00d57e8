# SPDX-License-Identifier: Apache-2.0
"""A process of a node that decodes: on the CPU one request at a time, on a GPU several."""

from __future__ import annotations

import contextlib
import ctypes
import dataclasses
import json
import math
import mmap
import os
import queue
import resource
import signal
import socket
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np

from tricodec._tricodec import DeviceArray
from tricodec.arrays import Bfloat16Array
from tricodec.errors import CorruptDataError, DeviceError
from tricodec.limits import get_limits, set_limits
from tricodec.node import _channel, _device_memory
from tricodec.node._readers import Decoders, Groups, OpenVideo, Readers, transformed
from tricodec.node._source import ReceivedSource
from tricodec.node._task_run import Messages, StoppedError, TaskRun
from tricodec.node.tasks import ElsewhereError, Tools
from tricodec.options import request_of

_PR_SET_NO_NEW_PRIVS = 38
_LOST = 3
"""Exit status of a worker if its GPU can do no more work."""


class Worker:
    """Serves the node until it closes the connection."""

    def __init__(self, channel: socket.socket, config: dict[str, Any]) -> None:
        """Args: config is what `_workers.WorkerProcess` sends: device, capacity, cache_bytes, decoder_bytes."""
        self._channel = channel
        self._device = str(config["device"])
        self._gpu = None if self._device == "cpu" else int(self._device.partition(":")[2])
        # A quarter of the memory for decoders is for those that wait for the next request.
        self._decoders = Decoders(int(config["decoder_bytes"]) * 3 // 4)
        self._readers = Readers(self._device, int(config["decoder_bytes"]) // 4)
        self._groups = Groups(int(config["cache_bytes"]))
        self._tasks = ThreadPoolExecutor(int(config["capacity"]))
        self._rooms: dict[int, Messages] = {}
        self._kept: dict[str, dict[str, Any]] = {}
        self._limits = dataclasses.asdict(get_limits())
        self._streams = threading.local()
        self._blocks: dict[int, _device_memory.Block] = {}
        self._maps: dict[int, mmap.mmap] = {}
        self._events: dict[int, _device_memory.Event] = {}

    def serve(self) -> None:
        """Receives until the node is gone; then the process ends at once, whatever its threads do."""
        while True:
            try:
                message, files = _channel.receive(self._channel)
            except _channel.ClosedError:
                os._exit(0)
            if "drop" in message:
                self._maps.pop(message["drop"], None)
                if message["drop"] in self._blocks:
                    self._blocks.pop(message["drop"]).close()
            elif "forget" in message:
                self._tasks.submit(self._forget, message["forget"])
            elif "room" in message:
                room = self._rooms.get(message["room"])
                room.put((message, files)) if room is not None else _channel.close(files)
            else:
                self._rooms[message["task"]] = queue.SimpleQueue()
                self._tasks.submit(self._work, message, files)

    def _work(self, task: dict[str, Any], files: list[int]) -> None:
        source = ReceivedSource(task["source"], files[0])
        answer: dict[str, Any]
        made: list[int] = []
        try:
            if self._gpu is None:
                set_limits(**{**self._limits, **task.get("limits", {})})
            do = self._do if task["do"] == "task" else self._read
            answer = do(task, source, files, made)
        except StoppedError:
            answer = {"stopped": True}
        except ElsewhereError:
            answer = {"elsewhere": True}
        except BaseException as error:  # every failure is the request's own
            answer = {"failure": _channel.failure_of(error, source.name)}
            if self._gpu is not None and isinstance(error, DeviceError) and _device_memory.is_lost(self._gpu):
                os._exit(_LOST)
        finally:
            _channel.close(files[1:])
        del self._rooms[task["task"]]
        _channel.send(self._channel, {"task": task["task"], "cache": self._groups.num_bytes, **answer}, made)

    def _do(self, task: dict[str, Any], source: ReceivedSource, files: list[int], made: list[int]) -> dict[str, Any]:
        """Does a task that the client described."""
        if "slab" in task:
            self._mapped(task["slab"], files[1:])
        number, asked = task["task"], str(task["device"])
        device = "cpu" if self._gpu is None else f"auto:{self._gpu}" if asked.startswith("auto") else self._device
        kept = self._kept.setdefault(task["pin"], {}) if task["pin"] else {}
        tools = Tools(device, task["threads"], self._stream(kept), kept)

        def send(answer: dict[str, Any], files: list[int]) -> None:
            _channel.send(self._channel, {"task": number, **answer}, files)

        def memory(room: dict[str, Any], files: list[int], made: list[int], *, on_host: bool) -> Any:
            return self._mapped(room, files) if on_host or self._gpu is None else self._block(room, made)

        try:
            return TaskRun(task, self._rooms[number], send, memory).do(source, tools, made)
        finally:
            source.close()

    def _stream(self, kept: dict[str, Any]) -> Any:
        """The stream of a task on a GPU: that of its pin, or of this thread."""
        if self._gpu is None:
            return None
        if not hasattr(self._streams, "stream"):
            self._streams.stream = _device_memory.Stream(self._gpu)
        return kept.setdefault("stream", self._streams.stream)

    def _forget(self, pin: str) -> None:
        """Closes what tasks with a pin have left."""
        for each in self._kept.pop(pin, {}).values():
            if hasattr(each, "close"):
                each.close()

    def _read(self, task: dict[str, Any], source: ReceivedSource, files: list[int], made: list[int]) -> dict[str, Any]:
        """Decodes, or says what there is to decode."""
        with self._readers.use(source, task, task["threads"]) as video:
            if self._gpu is not None and video.reader.device == "cpu":
                return {"elsewhere": True}
            if task["do"] == "facts":
                return {"facts": facts_of(video)}
            return self._decode(task, files[1:], video, made)

    def _decode(self, task: dict[str, Any], files: list[int], video: OpenVideo, made: list[int]) -> dict[str, Any]:
        reader = video.reader
        selection, transform = request_of("decode_video", task["options"])
        numbers, asked = reader._selected(**selection)
        dtype = str(transform.options["dtype"])
        shape = (len(numbers), *reader.output_shape(transform))
        size = math.prod(shape) * (2 if dtype == "bfloat16" else np.dtype(dtype).itemsize)
        room = task.get("slab")
        if room is None:
            _channel.send(self._channel, {"task": task["task"], "need": size})
            message, files = self._rooms[task["task"]].get()
            room = message["slab"]
            if room is None:
                return {"later": True}
        try:
            if room["size"] < size:
                raise CorruptDataError(f"the video gives {size} bytes now, and gave {room['size']} before")
            out = self._memory(room, shape, dtype, files, made)
            hits = 0
            with contextlib.nullcontext() if self._gpu is None else self._decoders.room(video, numbers):
                found = self._groups.frames(video, numbers)
                reader = video.reader  # a new one if damage was met
                if found is not None:
                    transformed(found[0], transform, out, video.stream)
                    hits = found[1]
                elif len(numbers):
                    _, numbers, asked = reader._read(transform, out=out, fewer=True, **selection)
            if reader.num_damaged_packets:
                self._groups.leave_out(video.key)
            event = self._end(room, video)
            if task["on_host"] and self._gpu is not None:
                event = None
                video.stream.synchronize()
                if not self._to_host(task, self._blocks[room["number"]], size, made):
                    return {"later": True}
        finally:
            if task.get("slab") is None:
                _channel.close(files)
        return {
            "shape": [len(numbers), *shape[1:]], "dtype": dtype, "event": event, "hits": hits,
            "num_frames": len(numbers), "pts": reader.pts_seconds[numbers].tolist(), "indices": numbers.tolist(),
            "asked": asked.tolist(), "damaged": reader.num_damaged_packets,
        }  # fmt: skip

    def _to_host(self, task: dict[str, Any], block: _device_memory.Block, size: int, made: list[int]) -> bool:
        """Copies a result to memory of the host; returns False if it gets none. The file of a block goes first."""
        _channel.send(self._channel, {"task": task["task"], "need": size, "on_host": True}, made)
        made.clear()
        message, files = self._rooms[task["task"]].get()
        try:
            if message["slab"] is None:
                return False
            with _channel.map_file(files[0], message["slab"]["size"]) as memory:
                block.copy_to(memory, size)
        finally:
            _channel.close(files)
        return True

    def _memory(self, room: dict[str, Any], shape: tuple[int, ...], dtype: str, files: list[int], made: Any) -> Any:
        """The memory of the result as an array of its shape; `made` gets the file of a block that is new."""
        element = "<u2" if dtype == "bfloat16" else np.dtype(dtype).str
        if self._gpu is None:
            array: Any = np.ndarray(shape, element, self._mapped(room, files))
            return Bfloat16Array(array) if dtype == "bfloat16" else array
        block = self._block(room, made)
        view = _device_memory.View(block, block.address, shape, element, None)
        return DeviceArray.over(view, "bfloat16") if dtype == "bfloat16" else view

    def _mapped(self, room: dict[str, Any], files: list[int]) -> mmap.mmap:
        """The memory of a slab on the host, mapped once: to map it takes 0.1 ms a MiB."""
        if self._gpu is not None:  # its numbers are those of slabs on the GPU
            return _channel.map_file(files[0], room["size"])
        if room["number"] not in self._maps:
            self._maps[room["number"]] = _channel.map_file(files[0], room["size"])
        return self._maps[room["number"]]

    def _block(self, room: dict[str, Any], made: list[int]) -> _device_memory.Block:
        """The memory of a slab on the GPU; `made` gets the file of one that is new."""
        assert self._gpu is not None
        if room["new"]:
            self._blocks[room["number"]] = _device_memory.Block(self._gpu, room["size"])
            made.append(self._blocks[room["number"]].file)
        return self._blocks[room["number"]]

    def _end(self, room: dict[str, Any], video: OpenVideo) -> str | None:
        """Marks the end of the work on a GPU, for the process that reads; the host waits if it cannot be marked."""
        if self._gpu is None:
            return None
        number = room["number"]
        try:
            if number not in self._events:
                self._events[number] = _device_memory.Event(self._gpu)
            described = self._events[number].described().hex()
            self._events[number].record(video.stream)
        except DeviceError:
            video.stream.synchronize()
            return None
        return described


def facts_of(video: OpenVideo) -> dict[str, Any]:
    """What a client knows of an open video."""
    reader = video.reader
    return {
        "num_frames": len(reader), "fps": reader.fps, "duration": reader.duration, "width": reader.width,
        "height": reader.height, "shape": list(reader.shape), "pts_seconds": reader.pts_seconds.tolist(),
        "key_frames": list(reader.key_frames), "device": reader.device,
        "end_seconds": reader.time_span([len(reader) - 1])[1] if len(reader) else 0.0,
    }  # fmt: skip


def _confine(config: dict[str, Any]) -> None:
    """Takes from a process what its work does not need."""
    ctypes.CDLL(None).prctl(_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the node ends it
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    if config["worker_bytes"]:
        resource.setrlimit(resource.RLIMIT_DATA, (config["worker_bytes"], config["worker_bytes"]))
    if config["limits"]:
        set_limits(**config["limits"])


def main() -> None:
    """Runs a worker: its arguments are the number of the connection's descriptor and the configuration as JSON."""
    channel, config = socket.socket(fileno=int(sys.argv[1])), json.loads(sys.argv[2])
    _confine(config)
    worker = Worker(channel, config)
    if config["device"] != "cpu":
        with _device_memory.current(int(config["device"].partition(":")[2])):
            pass  # the context, so that a GPU which cannot be used is known now
    _channel.send(channel, {"ready": os.getpid()})
    worker.serve()
