# SPDX-License-Identifier: Apache-2.0
"""The model `video_session`: a video or a live stream that stays open over many requests with one correlation id."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Callable, Collection
from typing import Any

import numpy as np
import triton_python_backend_utils as pb_utils
from tricodec.node.tasks import Outcome
from tricodec.remote import RemoteSource
from tricodec.triton_backend.models.session_task import NO_PTS, PullTask, pack
from tricodec.triton_backend.models.video_request import (
    CACHE_BYTES,
    SELECTION,
    STREAM,
    TRANSFORM,
    VIDEO_INPUTS,
    PlannedModel,
    chunk_answer,
    without_batch,
)
from tricodec.triton_backend.runtime.model import Answer
from tricodec.triton_backend.runtime.rows import Table, Tensors, inputs, number, numbers, options, word
from tricodec.triton_backend.runtime.sessions import COUNTERS, Sessions
from tricodec.triton_backend.runtime.settings import Settings
from tricodec.triton_backend.runtime.workers import Work

_CODEC = inputs(word, "codec")
_CHOICE: Table = {**SELECTION, **inputs(number, "skip")}
"""Which frames to continue with."""
_PULL: Table = {
    **inputs(number, "chunk", "room", "flush"),
    **inputs(numbers(2, "numerator, denominator"), "time_base"),
}
_OPENING = (*VIDEO_INPUTS, *_CODEC, *STREAM, *TRANSFORM)
"""What only the request that opens a session may have."""


class SessionModel(PlannedModel):
    """What Triton calls."""

    INPUTS = (*_OPENING, *_CHOICE, *_PULL, "PACKETS", "PACKET_PTS")
    PARAMETERS = (*PlannedModel.PARAMETERS, "max_sessions", "max_sessions_bytes", "max_idle_ms")
    ITEM = "session"
    COUNTERS = COUNTERS

    def initialize(self, args: dict[str, str]) -> None:
        """See Model."""
        batching = json.loads(args["model_config"]).get("sequence_batching", {})
        self._triton_ms = int(batching.get("max_sequence_idle_microseconds", 0)) // 1000
        super().initialize(args)
        self.sessions = Sessions(self.settings, self.workers, self.metrics)

    def prepare(self, folder: str, settings: Settings) -> Settings:
        """See Model. Triton may not forget sequences before the model does."""
        if self._triton_ms < settings.max_idle_ms:
            raise ValueError(
                f"parameter max_idle_ms is {settings.max_idle_ms}, and Triton forgets a sequence after "
                f"{self._triton_ms} ms; raise max_sequence_idle_microseconds of sequence_batching in config.pbtxt"
            )
        return super().prepare(folder, settings)

    def finalize(self) -> None:
        """See Model."""
        self.sessions.close()
        super().finalize()

    def submit(self, work: Work, finish: Callable[[Any], None]) -> None:
        """See Model."""
        self.sessions.submit(dataclasses.replace(work, pin=work.task.pin), finish)

    def read(self, tensors: Tensors, requested: Collection[str], request: Any) -> list[tuple[Any, PullTask]]:
        """See Model. The correlation id and the flags of the request say which session it is for."""
        key, flags = request.correlation_id(), request.flags()
        ends = bool(flags & pb_utils.TRITONSERVER_REQUEST_FLAG_SEQUENCE_END)
        try:
            data, task = self._pull(tensors, requested)
            if flags & pb_utils.TRITONSERVER_REQUEST_FLAG_SEQUENCE_START:
                has_video = any(name in tensors for name in VIDEO_INPUTS)
                if has_video == ("CODEC" in tensors):
                    raise ValueError(
                        "the request that opens a session has VIDEO, a media file, or URL, or CODEC, for a live stream "
                        "of packets, and not both"
                    )
                held = CACHE_BYTES if isinstance(data, RemoteSource) else len(data) if has_video else 0
                session = self.sessions.open(key, held, task.transform)
                task = dataclasses.replace(task, opens=True, num_threads=session.num_threads)
            else:
                session = self.sessions.find(key)
                for name in _OPENING:
                    if name in tensors:
                        raise ValueError(f"{name} is for the request that opens a session, which has the START flag")
                transform = {**task.transform, **session.options, "dtype": task.transform["dtype"]}
                task = dataclasses.replace(task, transform=transform)
        except Exception:
            if ends:
                self.sessions.end(key)
            raise
        return [(data, dataclasses.replace(task, pin=session.pin, ends=ends))]

    def _pull(self, tensors: Tensors, requested: Collection[str]) -> tuple[Any, PullTask]:
        """The bytes of a request and its task. The tensors have no batch dimension: a request is for one session."""
        rows = without_batch(tensors)
        transform = self.transform_of(rows, requested)
        selection, pull = options(_CHOICE, rows), options(_PULL, rows)
        opening = options({**STREAM, **_CODEC}, rows)
        data, num_packets = b"", 0
        if any(name in tensors for name in VIDEO_INPUTS):
            [(data, video)] = self.tasks(rows, requested)
            opening = {"stream_index": video.stream_index, "ignore_edit_list": video.ignore_edit_list}
            selection |= video.selection
        if "PACKETS" in tensors:
            data, num_packets = _packets(tensors)
            self.settings.check_input(len(data), "PACKETS")
        most = self.settings.max_frames
        if not 0 <= pull.get("chunk", 1) <= most:
            raise ValueError(f"CHUNK is {pull['chunk']}; accepted are 0 to {most} (the model's parameter max_frames)")
        return data, PullTask(transform=transform, selection=selection, num_packets=num_packets, **opening, **pull)

    def answer(self, outcomes: list[Outcome]) -> Answer:
        """The next frames of a session, their times and numbers, and what is known of the whole."""
        [chunk] = outcomes
        num_frames, is_last = np.array([chunk.facts["num_frames"]], np.int64), np.array([chunk.facts["last"]], np.bool_)
        return chunk_answer(chunk, FRAME_NUMBERS=chunk.arrays[2], NUM_FRAMES=num_frames, LAST=is_last)


def _packets(tensors: Tensors) -> tuple[bytes, int]:
    """The packets of a request in one piece, and their number."""
    if any(name in tensors for name in VIDEO_INPUTS):
        raise ValueError("a session with a video takes no PACKETS; open one with CODEC for a live stream")
    packets = [bytes(packet) for packet in tensors["PACKETS"].reshape(-1)]
    if not all(packets):
        raise ValueError(f"packet {packets.index(b'')} of PACKETS is empty; leave it out")
    pts = tensors.get("PACKET_PTS", np.full(len(packets), NO_PTS)).reshape(-1)
    if len(pts) != len(packets):
        raise ValueError(f"PACKET_PTS has {len(pts)} times, and PACKETS {len(packets)} packets; give a time for each")
    return pack(packets, pts.astype(np.int64)), len(packets)
