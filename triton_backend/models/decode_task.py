# SPDX-License-Identifier: Apache-2.0
"""One video to decode: what `tricodec.decode_video` does, into memory that is given, in one answer or in several."""

from __future__ import annotations

import contextlib
import dataclasses
from collections.abc import Iterator
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
import tricodec
from tricodec.node.tasks import Block, ElsewhereError, Job, Place, Tools
from tricodec.triton_backend.runtime.settings import Settings

OUTPUT_DTYPES = {
    "FRAMES": "uint8",
    "FRAMES_FP16": "float16",
    "FRAMES_BF16": "bfloat16",
    "FRAMES_FP32": "float32",
}
"""The frame outputs: which one a client requests decides the dtype."""

_MOST_DAMAGED = 1000
"""Numbers of damaged packets that pass between the processes; a suspended stream may count others twice."""


@dataclasses.dataclass(slots=True)
class FramesJob:
    """Frames that are transformed to where their client finds them: [F, H, W, C], or what the layout says."""

    transform: tricodec.Transform
    shape: tuple[int, ...]

    @property
    def dtype(self) -> str:
        """Of the frames, NumPy's name or "bfloat16"."""
        return str(self.transform.options["dtype"])

    @property
    def place(self) -> Place:
        """Where they lie. NumPy sees uint16, the bits, in place of bfloat16, which it lacks."""
        return Place(np.dtype("uint16" if self.dtype == "bfloat16" else self.dtype).str, self.shape)

    @property
    def frame_bytes(self) -> int:
        """Bytes of one frame."""
        return dataclasses.replace(self.place, shape=self.shape[1:]).end

    def check_room(self, settings: Settings, remedy: str, sound_bytes: int = 0) -> None:
        """Raises tricodec.RefusedError for more bytes than the model gives; `remedy` is a way to fewer frames."""
        what = "the frames and their sound take" if sound_bytes else "the frames take"
        remedy = f"ask for fewer frames {remedy}, or for a smaller SIZE"
        settings.check_output(self.place.end + sound_bytes, what, remedy)


@dataclasses.dataclass(slots=True)
class DecodeJob(FramesJob):
    """An opened video and the request for it: the memory for the frames is known before they are decoded.

    Attributes:
        reader: of the video.
        selection: the options that select the frames.
        indices: the numbers of its frames: as they are planned, and then those that were read.
        first_place, num_places: which frames of the selection; -1 is to its end.
        audio: has the sound, if it is asked for.
        sound: of the frames, float32 [channels, samples].
    """

    reader: tricodec.FrameReader
    selection: dict[str, Any]
    indices: list[int]
    _: dataclasses.KW_ONLY
    first_place: int = 0
    num_places: int = -1
    audio: tricodec.AudioReader | None = None
    sound: npt.NDArray[Any] | None = None

    @property
    def block(self) -> Block:
        """The frames; beside them their times as float64 seconds, the sound if any, and facts."""
        return Block([self.place], self._beside(), self._facts(), self.dtype)

    def _facts(self) -> dict[str, Any]:
        """How much damage was met so far."""
        return {"num_damaged_packets": self.reader.num_damaged_packets}

    def _beside(self) -> list[npt.NDArray[Any]]:
        """The arrays of an answer after the frames."""
        return [self.reader.pts_seconds[self.indices], *([] if self.sound is None else [self.sound])]

    def write(self, memory: Any) -> None:
        """Decodes the frames, and takes over which they are. For more than were planned there is no room."""
        if not self.indices:  # a GPU has nothing to do for no frames
            return
        out = self.place.writable(memory, self.dtype)
        request: dict[str, Any] = {"first_place": self.first_place, "num_places": self.num_places, **self.selection}
        _, numbers, _ = self.reader._read(self.transform, out=out, fewer=True, **request)
        if len(numbers) > len(self.indices):
            raise tricodec.CorruptDataError(
                f"the video is damaged: decoding gives {len(numbers)} of the frames asked for, and its packets promise "
                f"{len(self.indices)}; ask for them with COUNT"
            )
        if numbers.tolist() != self.indices:
            self.indices = numbers.tolist()
            self.shape = (len(numbers), *self.shape[1:])
            self.read_sound()

    def read_sound(self) -> None:
        """Reads the sound of the time of the frames, if it is asked for."""
        if self.audio is not None:
            begin, end = self.reader.time_span(self.indices)
            self.sound = self.audio.read(start_s=begin, end_s=end, pad=True).data


@dataclasses.dataclass(frozen=True, slots=True)
class DecodeTask:
    """The request for one video, with the keywords of `tricodec.decode_video`.

    Attributes:
        selection: the options of tricodec.decode_video that select frames, JSON values only.
        stream_index, ignore_edit_list: of which frames.
        transform: arguments of tricodec.Transform, JSON values only.
        audio_rate, audio_channels: the sound of the time of the frames, as `tricodec.read_av` gives it. A rate of 0 is
            none, 0 channels are those of the stream.
    """

    DOING: ClassVar[str] = "decoding"
    SHORTEN: ClassVar[str] = "ask for fewer frames with COUNT, or for a nearer START"

    selection: dict[str, Any] = dataclasses.field(default_factory=dict)
    stream_index: int = -1
    ignore_edit_list: bool = False
    transform: dict[str, Any] = dataclasses.field(default_factory=dict)
    audio_rate: int = 0
    audio_channels: int = 0

    @contextlib.contextmanager
    def open(self, data: Any, settings: Settings, tools: Tools) -> Iterator[list[Job]]:
        """Opens a video for as long as the context lasts. See `tricodec.node.tasks.Task`."""
        with self.reader(data, settings, tools) as reader, contextlib.ExitStack() as stack:
            job = self.job(reader, self.indices(reader, settings), settings, "with COUNT")
            if self.audio_rate > 0:
                options: dict[str, Any] = {"sample_rate": self.audio_rate, "ignore_edit_list": self.ignore_edit_list}
                audio = tricodec.AudioReader(data, num_channels=self.audio_channels or None, **options)
                job.audio = stack.enter_context(audio)
                job.read_sound()
                job.check_room(settings, "with COUNT", job.sound.nbytes)
            yield [job]

    def reader(self, data: Any, settings: Settings, tools: Tools) -> tricodec.FrameReader:
        """Opens the video. The limits are checked here, because the process of a GPU works for other models too."""
        options = {"stream_index": self.stream_index, "ignore_edit_list": self.ignore_edit_list, **tools.on_stream}
        reader = tricodec.FrameReader(data, device=tools.device, num_workers=tools.num_threads, **options)
        if tools.stream is not None and reader.device == "cpu":
            reader.close()
            raise ElsewhereError
        if reader.width > settings.max_width or reader.height > settings.max_height:
            reader.close()
            raise tricodec.RefusedError(
                f"the video has {reader.width}x{reader.height} pixels, and this model decodes at most "
                f"{settings.max_width}x{settings.max_height} (its parameters max_width and max_height)"
            )
        return reader

    def indices(self, reader: tricodec.FrameReader, settings: Settings) -> list[int]:
        """The frames asked for. RefusedError for more of them than the model gives."""
        indices = reader.select(**self.selection)
        if len(indices) > settings.max_frames:
            raise tricodec.RefusedError(
                f"the request asks for {len(indices)} frames, and this model gives at most {settings.max_frames} a "
                "request (its parameter max_frames); ask for fewer with COUNT, or for a larger STRIDE"
            )
        return indices

    def job(
        self, reader: tricodec.FrameReader, indices: list[int], settings: Settings, remedy: str,
        kind: type[DecodeJob] = DecodeJob, **more: Any,
    ) -> DecodeJob:  # fmt: skip
        """The decoding of some frames, as the reader numbers them now. RefusedError for too many bytes."""
        transform = tricodec.Transform(**self.transform)
        shape = (len(indices), *reader.output_shape(transform))
        job = kind(transform, shape, reader, self.selection, indices, **more)
        job.check_room(settings, remedy)
        return job


@dataclasses.dataclass(slots=True)
class ChunkJob(DecodeJob):
    """Some frames of an opened video, in its turn.

    Attributes:
        damaged_before: numbers of the packets found damaged by the task that this one continues.
        num_given: frames given after this job, if a further request is to give more; else 0.
    """

    damaged_before: list[int]
    num_given: int

    def _facts(self) -> dict[str, Any]:
        issues = self.reader.issues
        damaged = {issue.packet_number for issue in issues}.union(self.damaged_before)
        unlisted = self.reader.num_damaged_packets - len(issues)
        return {
            "num_damaged_packets": len(damaged) + unlisted,
            "damaged": sorted(damaged)[:_MOST_DAMAGED],
            "num_given": self.num_given,
        }


@dataclasses.dataclass(frozen=True, slots=True)
class StreamTask(DecodeTask):
    """The request for one video in answers of a few frames each: what `FrameReader.batches` gives.

    Attributes:
        chunk: frames of an answer; the last one may have fewer.
        num_given: frames that the task gave that this one continues.
        damaged_before: see ChunkJob.
        begin: frames that the requests before this one gave.
        part_bytes: of frames, after which a further request gives the rest; 0 gives all.
    """

    DOING: ClassVar[str] = "decoding a chunk"
    SHORTEN: ClassVar[str] = "ask for fewer frames an answer with CHUNK, or for a nearer START"

    chunk: int = 16
    num_given: int = 0
    damaged_before: list[int] = dataclasses.field(default_factory=list)
    begin: int = 0
    part_bytes: int = 0

    def rest(self, num_frames: int, given: dict[str, Any]) -> StreamTask:
        """What is left of the task after `num_frames` frames; `given` are the facts of the last part, or empty."""
        damaged = given.get("damaged", self.damaged_before)
        return dataclasses.replace(self, num_given=self.num_given + num_frames, damaged_before=damaged)

    def indices(self, reader: tricodec.FrameReader, settings: Settings) -> list[int]:
        """See DecodeTask.indices: those that are left to give."""
        # Explicit: super() does not work in a dataclass with slots.
        return DecodeTask.indices(self, reader, settings)[self.num_given :]

    @contextlib.contextmanager
    def open(self, data: Any, settings: Settings, tools: Tools) -> Iterator[Iterator[DecodeJob]]:
        """See DecodeTask.open; max_output_bytes is that of an answer."""
        with self.reader(data, settings, tools) as reader:
            yield self._jobs(reader, self.indices(reader, settings), settings)

    def _num_frames(self, reader: tricodec.FrameReader, num_left: int, settings: Settings) -> int:
        """How many of the frames that are left this request gives: Triton keeps all of them until it ends."""
        frame_bytes = self.job(reader, [], settings, "").frame_bytes
        if self.part_bytes:
            most = max(1, self.part_bytes // frame_bytes // self.chunk) * self.chunk
            return min(num_left, self.begin + most - self.num_given)
        num_bytes = (self.num_given + num_left) * frame_bytes
        if num_bytes > settings.max_output_bytes and num_left > self.chunk:
            raise tricodec.RefusedError(
                f"the frames take {num_bytes} bytes, and Triton keeps all of them until the request ends: this model "
                f"gives at most {settings.max_output_bytes} a request (its parameter max_output_bytes); ask for fewer "
                "with COUNT and for the others with START, or send the input CONTINUE, as tricodec.triton.client does"
            )
        return num_left

    def _jobs(self, reader: tricodec.FrameReader, left: list[int], settings: Settings) -> Iterator[DecodeJob]:
        """A job for each chunk. A request for no frames has one empty job: its shape and dtype are an answer too."""
        indices = left[: self._num_frames(reader, len(left), settings)] if left else left

        for first in range(0, max(1, len(indices)), self.chunk):
            if first > 0 and first >= len(self.indices(reader, settings)):
                return  # a damaged video has fewer frames than its packets promise

            end = min(first + self.chunk, len(indices))
            now = self.indices(reader, settings)[first:end]
            yield self.job(
                reader, now, settings, "an answer with CHUNK", ChunkJob, damaged_before=self.damaged_before,
                num_given=self.num_given + end if end == len(indices) < len(left) else 0,
                first_place=self.num_given + first, num_places=end - first,
            )  # fmt: skip
