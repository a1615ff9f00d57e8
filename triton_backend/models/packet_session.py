# SPDX-License-Identifier: Apache-2.0
"""A live stream: packets come with requests, and frames are decoded when they are asked for."""

from __future__ import annotations

import collections
import dataclasses
import itertools
import operator
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import tricodec
from tricodec.node.tasks import Block, Tools
from tricodec.triton_backend.models.decode_task import FramesJob
from tricodec.triton_backend.runtime.settings import Settings

if TYPE_CHECKING:
    from tricodec.triton_backend.models.session_task import PullTask

NO_PTS = np.iinfo(np.int64).min
"""In the place of a time of a packet without one."""

_form = operator.attrgetter("width", "height", "format")


def pack(packets: Sequence[bytes], pts: npt.NDArray[np.int64]) -> bytes:
    """Packets and their times as one piece, which unpack() takes apart."""
    sizes = np.array([len(packet) for packet in packets], np.int64)
    return b"".join([sizes.tobytes(), pts.tobytes(), *packets])


def unpack(data: Any, num_packets: int, time_base: Sequence[int]) -> list[tricodec.Packet]:
    """The packets that pack() put together, with the time base of their times; their bytes are copied."""
    view = memoryview(data)
    facts = np.frombuffer(view[: 16 * num_packets], np.int64).reshape(2, num_packets)
    packets = []
    start = 16 * num_packets
    for size, pts in facts.T.tolist():
        when = None if pts == NO_PTS else pts
        packets.append(tricodec.Packet(view[start : start + size], pts=when, time_base=tuple(time_base)))
        start += size
    return packets


@dataclasses.dataclass(slots=True)
class PacketJob(FramesJob):
    """Frames of a live stream that are decoded.

    Attributes:
        session: gives them.
        frames: of one size.
        facts: of the outcome.
        tools: of the process that does it.
        begin: number of the first frame.
    """

    session: PacketSession
    frames: list[tricodec.Frame]
    facts: dict[str, Any]
    tools: Tools
    begin: int

    @property
    def block(self) -> Block:
        """Frames; beside them their times as float64 seconds, NaN for None, and their numbers."""
        times = np.array([frame.pts_seconds for frame in self.frames], np.float64)
        numbers = self.begin + np.arange(len(self.frames))
        return Block([self.place], [times, numbers], self.facts, self.dtype)

    def write(self, memory: Any) -> None:
        """See Job."""
        if self.frames:
            out = self.place.writable(memory, self.dtype)
            self.transform(self.frames, out=out, **self.tools.on_stream)
        self.session.take(len(self.frames))


class PacketSession:
    """A decoder with the packets that wait for it, and the frames that wait for the client.

    Packets wait undecoded: so a client that pushes faster than it pulls costs the memory of packets, not of frames.
    """

    def __init__(self, decoder: tricodec.Decoder) -> None:
        """Args: decoder has decoded nothing."""
        self._decoder = decoder
        self._num_given = 0
        self._packets: collections.deque[tricodec.Packet] = collections.deque()
        self._frames: list[tricodec.Frame] = []
        self._ends = False
        self._flushed = False

    def pull(self, task: PullTask, data: Any, settings: Settings, tools: Tools) -> PacketJob:
        """The job that gives the next frames; when it is done they are taken."""
        if task.selection:
            raise ValueError("this session is a live stream, in which no frames can be chosen; open a VIDEO to seek")
        if task.num_packets:
            self._push(unpack(data, task.num_packets, task.time_base), settings)
        self._ends = self._ends or task.flush
        self._decode(max(1, task.chunk))
        transform = tricodec.Transform(**task.transform)
        shapes = [transform.output_shape(frame.width, frame.height, frame.rotation) for frame in self._frames[:1]]
        shape = shapes[0] if shapes else (0, 0, 0)
        frames = self._alike(task.most_frames(FramesJob(transform, (0, *shape)).frame_bytes))
        facts = {
            "num_damaged_packets": self._decoder.num_issues,
            "num_frames": -1,
            "last": self._flushed and not self._packets and len(frames) == len(self._frames),
            "held_bytes": self._held_bytes,
        }
        job = PacketJob(transform, (len(frames), *shape), self, frames, facts, tools, self._num_given)
        job.check_room(settings, "an answer with CHUNK")
        return job

    def take(self, num_frames: int) -> None:
        """Drops frames that were given."""
        del self._frames[:num_frames]
        self._num_given += num_frames

    def close(self) -> None:
        """Frees what waits; the decoder ends with the session."""
        self._packets.clear()
        self._frames.clear()

    @property
    def _held_bytes(self) -> int:
        return sum(len(packet) for packet in self._packets)

    def _push(self, packets: list[tricodec.Packet], settings: Settings) -> None:
        if self._ends:
            raise ValueError("FLUSH has ended this live stream; open another session for more packets")
        held, added = self._held_bytes, sum(len(packet) for packet in packets)
        if held + added > settings.max_input_bytes:
            raise tricodec.RefusedError(
                f"packets of {held} bytes wait in this session, the request adds {added}, and this model lets "
                f"{settings.max_input_bytes} wait (its parameter max_input_bytes); pull frames before you push more"
            )
        self._packets.extend(packets)

    def _decode(self, num_frames: int) -> None:
        """Decodes until so many frames wait, or no packet does."""
        while len(self._frames) < num_frames and self._packets:
            self._frames += self._decoder.decode(self._packets.popleft())
        if len(self._frames) < num_frames and self._ends and not self._flushed:
            self._flushed = True
            self._frames += self._decoder.flush()

    def _alike(self, most: int) -> list[tricodec.Frame]:
        """The frames up to one of another size."""
        return list(itertools.takewhile(lambda frame: _form(frame) == _form(self._frames[0]), self._frames[:most]))
