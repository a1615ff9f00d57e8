# SPDX-License-Identifier: Apache-2.0
"""What a worker does for a session: it opens a video or a live stream, gives the next frames, and frees it."""

from __future__ import annotations

import contextlib
import dataclasses
import math
import mmap
from collections.abc import Iterator
from typing import Any, ClassVar, Protocol

import numpy as np
import numpy.typing as npt
import tricodec
from tricodec.triton_backend.models.decode_task import DecodeJob, DecodeTask
from tricodec.triton_backend.models.packet_session import PacketSession
from tricodec.triton_backend.runtime.block import Block, Outcome, lay_out
from tricodec.triton_backend.runtime.errors import UnavailableError
from tricodec.triton_backend.runtime.settings import Settings
from tricodec.triton_backend.runtime.task import Job


class OpenSession(Protocol):
    """What a worker keeps for a session."""

    def pull(self, task: PullTask, data: Any, settings: Settings) -> Job:
        """The job that gives the next frames; when it is done they are taken."""

    def close(self) -> None:
        """Frees all."""


_OTHER_PLACE = {"start", "start_s", "end_s", "count"}
"""The options that leave the stride of a session as it was."""

_OPEN: dict[int, OpenSession] = {}
"""The sessions of this process by their tokens. Without isolation, threads use different ones."""


@dataclasses.dataclass(slots=True)
class SessionJob(DecodeJob):
    """The next frames of a session with a video.

    Attributes:
        session: gives them.
        begin: position of the first one among the frames that are selected.
    """

    session: VideoSession
    begin: int

    @property
    def block(self) -> Block:
        """See DecodeJob; the third array has the numbers of the frames."""
        places = lay_out([(self.element.str, self.shape), ("<f8", self.shape[:1]), ("<i8", self.shape[:1])])
        return Block(places, self._facts())

    def _facts(self) -> dict[str, Any]:
        return {
            "num_damaged_packets": self.reader.num_damaged_packets,
            "num_frames": len(self.reader),
            "last": self.begin + len(self.indices) >= len(self.session.select()),
        }

    def write(self, memory: mmap.mmap) -> None:
        """See Job."""
        DecodeJob.write(self, memory)
        self._go_on()

    def outcome(self) -> Outcome:
        """See Job."""
        outcome = DecodeJob.outcome(self)
        self._go_on()
        return Outcome(outcome.arrays, self._facts())

    def _beside(self) -> list[npt.NDArray[Any]]:
        return [*DecodeJob._beside(self), np.array(self.indices, np.int64)]

    def _go_on(self) -> None:
        self.session.position = self.begin + len(self.indices)


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
        """Numbers of the frames that are selected, as the reader numbers frames now.

        Raises:
            IndexError: if the video has fewer.
        """
        num_frames = len(self._reader)
        if self._selected is None or self._selected[0] != num_frames:
            self._selected = num_frames, self._reader.select(**self._selection)
        return self._selected[1]

    def choose(self, selection: dict[str, Any]) -> None:
        """Begins a new selection of frames. What is left out of it is all frames; a stride stays.

        Args:
            selection: the options of tricodec.decode_video that select frames, and skip: how many of these frames were
                given already. With skip alone the selection stays.

        Raises:
            ValueError, IndexError: the selection is not one of this video; the one before stays then.
        """
        before = self.position, self._selection, self._selected
        try:
            chosen = dict(selection)
            skip = chosen.pop("skip", 0)
            if self._selected is not None and not chosen:
                chosen = self._selection
            elif "stride" in self._selection and chosen.keys() <= _OTHER_PLACE:
                chosen["stride"] = self._selection["stride"]
            self.position, self._selection, self._selected = skip, chosen, None
            num_selected = len(self.select())
            if not 0 <= skip <= num_selected:
                raise ValueError(f"SKIP is {skip}; accepted are 0 to {num_selected}, the number of the frames chosen")
        except BaseException:
            self.position, self._selection, self._selected = before
            raise

    def pull(self, task: PullTask, data: Any, settings: Settings) -> SessionJob:
        """See OpenSession."""
        del data
        if task.num_packets or task.flush:
            raise ValueError("this session has a video, and takes no packets; open one with CODEC for a live stream")
        if task.selection or self._selected is None:
            self.choose(task.selection)
        begin = self.position
        video = DecodeTask(transform=task.transform)
        nothing = video.job(self._reader, [], settings, "")
        chunk = task.most_frames(math.prod(nothing.shape[1:]) * nothing.element.itemsize)
        job = video.job(self._reader, self.select()[begin : begin + chunk], settings, "an answer with CHUNK")
        return SessionJob(
            self._reader, self._selection, job.indices, job.transform, job.shape, self, begin,
            first_place=begin, num_places=chunk,
        )  # fmt: skip

    def close(self) -> None:
        """See OpenSession."""
        self._reader.close()


@dataclasses.dataclass(frozen=True, slots=True)
class PullTask:
    """A request for the next frames of a session.

    Attributes:
        token, opens, ends: see SessionTask.
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

    token: int = 0
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
    def open(self, data: Any, settings: Settings, num_threads: int) -> Iterator[list[Job]]:
        """Finds or opens the session. It is closed with the context if it ends, or does not begin well.

        Args:
            data: the media file of a session with a video that begins, packets of one with packets, else nothing.
            settings: device, max_input_bytes and max_output_bytes are read.
            num_threads: not used; the thread that a session began with is the one it has.

        Raises:
            UnavailableError: the session is not there, because it has ended or its process died.
            ValueError, IndexError, tricodec.Error: as tricodec.FrameReader, tricodec.Decoder and their methods.
        """
        del num_threads
        done = False
        try:
            if self.opens:
                _OPEN[self.token] = self._begin(data, settings)
            if self.token not in _OPEN:
                raise UnavailableError("the process that had this session is gone; open the session again")
            job = _OPEN[self.token].pull(self, data, settings)
            yield [job]
            done = True
        except GeneratorExit:  # the worker leaves the context so after the last job
            done = True
            raise
        finally:
            if self.ends or (self.opens and not done):
                close_session(self.token)

    def _begin(self, data: Any, settings: Settings) -> OpenSession:
        if self.codec:
            return PacketSession(tricodec.Decoder(self.codec, device=settings.device, num_threads=self.num_threads))
        video = DecodeTask(stream_index=self.stream_index, ignore_edit_list=self.ignore_edit_list)
        return VideoSession(video.reader(data, settings, self.num_threads))


def close_session(token: int) -> None:
    """Frees a session of this process, if it is there."""
    session = _OPEN.pop(token, None)
    if session is not None:
        session.close()


@dataclasses.dataclass(frozen=True, slots=True)
class CloseTask:
    """Frees a session that its client did not end.

    Attributes:
        token, opens, ends: see SessionTask.
    """

    DOING: ClassVar[str] = "closing a session"
    SHORTEN: ClassVar[str] = "end sessions sooner"

    token: int
    opens: bool = False
    ends: bool = True

    @contextlib.contextmanager
    def open(self, data: Any, settings: Settings, num_threads: int) -> Iterator[list[Job]]:
        """See Task."""
        del data, settings, num_threads
        close_session(self.token)
        yield [_Nothing()]


class _Nothing:
    """A job without a result."""

    block = Block(lay_out([("|u1", (0,))]))

    def write(self, memory: mmap.mmap) -> None:
        """See Job."""

    def outcome(self) -> Outcome:
        """See Job."""
        return Outcome([])
