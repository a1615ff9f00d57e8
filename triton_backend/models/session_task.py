# SPDX-License-Identifier: Apache-2.0
"""What the node does for a session: it opens a video or a live stream, and gives the next frames.

Packets of a live stream come with requests, and frames are decoded when they are asked for.
"""

from __future__ import annotations

import collections
import contextlib
import dataclasses
import itertools
import operator
from collections.abc import Iterator, Sequence
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
import tricodec
from tricodec.node.tasks import Block, ElsewhereError, Job, Tools
from tricodec.triton_backend.models.decode_task import DecodeJob, DecodeTask, FramesJob
from tricodec.triton_backend.runtime.errors import UnavailableError
from tricodec.triton_backend.runtime.settings import Settings

_OTHER_PLACE = {"start", "start_s", "end_s", "count"}
"""The options that leave the stride of a session as it was."""

_SESSION = "session"
"""The name of the session in what a process keeps for a pin."""

NO_PTS = np.iinfo(np.int64).min
"""In the place of a time of a packet without one."""

_form = operator.attrgetter("width", "height", "format")


@dataclasses.dataclass(slots=True)
class SessionJob(DecodeJob):
    """The next frames of a session with a video, from `first_place` on."""

    session: VideoSession

    def _facts(self) -> dict[str, Any]:
        return {
            "num_damaged_packets": self.reader.num_damaged_packets,
            "num_frames": len(self.reader),
            "last": self.first_place + len(self.indices) >= len(self.session.select()),
        }

    def write(self, memory: Any) -> None:
        """See Job."""
        DecodeJob.write(self, memory)
        self.session.position = self.first_place + len(self.indices)

    def _beside(self) -> list[npt.NDArray[Any]]:
        return [*DecodeJob._beside(self), np.array(self.indices, np.int64)]


class VideoSession:
    """An open video, a selection of its frames, and a place in it.

    Attributes:
        position: how many frames of the selection were given.
    """

    def __init__(self, reader: tricodec.FrameReader) -> None:
        """Args: reader is closed with the session."""
        self.position = 0
        self._reader = reader
        self._selection: dict[str, Any] = {}
        self._selected: tuple[int, list[int]] | None = None

    def select(self) -> list[int]:
        """Numbers of the frames that are selected, as the reader numbers frames now."""
        num_frames = len(self._reader)
        if self._selected is None or self._selected[0] != num_frames:
            self._selected = num_frames, self._reader.select(**self._selection)
        return self._selected[1]

    def choose(self, selection: dict[str, Any]) -> None:
        """Begins a new selection of frames, if it is one of this video. What is left out is all frames; a stride stays.

        Args:
            selection: the options of tricodec.decode_video that select frames, and skip: how many of these frames were
                given already. With skip alone the selection stays.
        """
        chosen = dict(selection)
        skip = chosen.pop("skip", 0)
        if self._selected is not None and not chosen:
            chosen = self._selection
        elif "stride" in self._selection and chosen.keys() <= _OTHER_PLACE:
            chosen["stride"] = self._selection["stride"]
        selected = len(self._reader), self._reader.select(**chosen)
        if not 0 <= skip <= len(selected[1]):
            raise ValueError(f"SKIP is {skip}; accepted are 0 to {len(selected[1])}, the number of the frames chosen")
        self.position, self._selection, self._selected = skip, chosen, selected

    def pull(self, task: PullTask, data: Any, settings: Settings, tools: Tools) -> DecodeJob:
        """The job that gives the next frames; when it is done they are taken."""
        if task.num_packets or task.flush:
            raise ValueError("this session has a video, and takes no packets; open one with CODEC for a live stream")
        if task.selection or self._selected is None:
            self.choose(task.selection)
        begin = self.position
        video = DecodeTask(selection=self._selection, transform=task.transform)
        chunk = task.most_frames(video.job(self._reader, [], settings, "").frame_bytes)
        return video.job(
            self._reader, self.select()[begin : begin + chunk], settings, "an answer with CHUNK",
            SessionJob, session=self, first_place=begin, num_places=chunk,
        )  # fmt: skip

    def close(self) -> None:
        """Frees all."""
        self._reader.close()


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
        most = task.most_frames(FramesJob(transform, (0, *shape)).frame_bytes)
        alike = itertools.takewhile(lambda frame: _form(frame) == _form(self._frames[0]), self._frames[:most])
        frames = list(alike)  # of one size
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


@dataclasses.dataclass(frozen=True, slots=True)
class PullTask:
    """A request for the next frames of a session.

    Attributes:
        pin: names the session.
        opens, ends: whether the session begins and ends with this task.
        transform: arguments of tricodec.Transform.
        selection: which frames to continue with, the keywords of VideoSession.choose(); empty continues where it was.
        chunk: the most frames of the answer.
        room: the most bytes of its frames; -1 is as many as the model gives.
        num_threads: of a session that begins: threads of its decoder.
        stream_index, ignore_edit_list: of a session with a video that begins.
        codec: of a session with packets that begins; empty for a video.
        num_packets: packets that come with the task.
        time_base: of their times, a fraction.
        flush: no more packets come.
    """

    DOING: ClassVar[str] = "decoding a chunk of a session"
    SHORTEN: ClassVar[str] = "ask for fewer frames an answer with CHUNK"

    pin: str = ""
    opens: bool = False
    ends: bool = False
    transform: dict[str, Any] = dataclasses.field(default_factory=dict)
    selection: dict[str, Any] = dataclasses.field(default_factory=dict)
    chunk: int = 16
    room: int = -1
    num_threads: int = 0
    stream_index: int = -1
    ignore_edit_list: bool = False
    codec: str = ""
    num_packets: int = 0
    time_base: tuple[int, int] = (1, 1_000_000)
    flush: bool = False

    def most_frames(self, frame_bytes: int) -> int:
        """The most frames of the answer, each of so many bytes."""
        return self.chunk if self.room < 0 else min(self.chunk, self.room // max(1, frame_bytes))

    @contextlib.contextmanager
    def open(self, data: Any, settings: Settings, tools: Tools) -> Iterator[list[Job]]:
        """Finds or opens the session. It is closed with the context if it ends, or does not begin well.

        Args:
            data: the media file of a session with a video that begins, packets of one with packets, else nothing.
            settings, tools: see `tricodec.node.tasks.Task`; a session has the number of threads that it began with.

        Raises:
            UnavailableError: the session is not there, because it has ended or its process died.
        """
        done = False
        try:
            if self.opens:
                tools.kept[_SESSION] = self._begin(data, settings, tools)
            if _SESSION not in tools.kept:
                raise UnavailableError("the process that had this session is gone; open the session again")
            yield [tools.kept[_SESSION].pull(self, data, settings, tools)]
            done = True
        finally:
            if (self.ends or (self.opens and not done)) and _SESSION in tools.kept:
                tools.kept.pop(_SESSION).close()

    def _begin(self, data: Any, settings: Settings, tools: Tools) -> VideoSession | PacketSession:
        tools = dataclasses.replace(tools, num_threads=self.num_threads)
        if self.codec:
            options = {"device": tools.device, "num_threads": tools.num_threads, **tools.on_stream}
            decoder = tricodec.Decoder(self.codec, **options)
            if tools.stream is not None and decoder.device == "cpu":
                raise ElsewhereError
            return PacketSession(decoder)
        video = DecodeTask(stream_index=self.stream_index, ignore_edit_list=self.ignore_edit_list)
        return VideoSession(video.reader(data, settings, tools))


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
