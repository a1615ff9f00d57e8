# SPDX-License-Identifier: Apache-2.0
"""One video to decode in answers of a few frames each: what `FrameReader.batches` gives, one batch an answer."""

from __future__ import annotations

import contextlib
import dataclasses
import functools
from collections.abc import Callable, Iterator
from typing import Any, ClassVar

import tricodec
from tricodec.triton_backend.decode_task import Decoded, DecodeJob, DecodeTask
from tricodec.triton_backend.settings import Settings


@dataclasses.dataclass(slots=True)
class ChunkJob(DecodeJob):
    """Some frames of an opened video, in its turn.

    Attributes:
        batches: the batches of all jobs of the video, decoded ahead, from which one takes its own.
    """

    batches: Callable[[], Iterator[Any]]

    def outcome(self) -> Decoded:
        """See DecodeJob. On a GPU the next chunks are decoded meanwhile, by all of its engines."""
        if self.reader.device == "cpu" or not self.indices:
            return DecodeJob.outcome(self)
        frames = next(self.batches(), None)
        if frames is None:
            return DecodeJob.outcome(self)  # a damaged video ended before
        self.indices = self.indices[: frames.shape[0]]
        return Decoded(frames, self.reader.pts_seconds[self.indices], self.reader.num_damaged_packets)


@dataclasses.dataclass(frozen=True, slots=True)
class StreamTask(DecodeTask):
    """The request for one video.

    Attributes:
        chunk: frames of an answer; the last one may have fewer.
    """

    KIND: ClassVar[str] = "stream"
    DOING: ClassVar[str] = "decoding a chunk"
    SHORTEN: ClassVar[str] = "ask for fewer frames an answer with CHUNK, or for a nearer START"

    chunk: int = 16

    @contextlib.contextmanager
    def open(self, data: Any, settings: Settings, num_threads: int) -> Iterator[Iterator[DecodeJob]]:
        """See DecodeTask.open; max_output_bytes is that of an answer."""
        with self.reader(data, settings, num_threads) as reader:
            yield self._jobs(reader, self.indices(reader, settings), settings)

    def _jobs(self, reader: tricodec.FrameReader, indices: list[int], settings: Settings) -> Iterator[DecodeJob]:
        """A job for each chunk. A request for no frames has one empty job: its shape and dtype are an answer too."""

        @functools.cache
        def batches() -> Iterator[Any]:
            transform = tricodec.Transform(**self.transform)
            return reader.batches(self.chunk, transform, start=indices[0], stride=self.stride, count=len(indices))

        for first in range(0, max(1, len(indices)), self.chunk):
            if first > 0 and first >= len(self.indices(reader, settings)):
                return  # a damaged video has fewer frames than its packets promise

            def select(first: int = first) -> list[int]:
                return self.indices(reader, settings)[first : first + self.chunk]

            job = self.job(reader, select, settings, "an answer with CHUNK")
            yield ChunkJob(job.reader, job.select, job.indices, job.transform, job.place, batches)
