# SPDX-License-Identifier: Apache-2.0
"""The engine of a data pipeline: from a file to a batch of tensors, through Python or DALI."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import tricodec
from tricodec.measure.bench._engines import VideoEngine
from tricodec.measure.bench._load import Work
from tricodec.measure.bench._windows import Done
from tricodec.measure.bench.front_ends import open_dali

PIPELINES = ("python", "dali")


class PipelineEngine(VideoEngine):
    """Decodes and transforms frames of a file to one tensor.

    Args:
        path: the video.
        device: as in `tricodec.decode_video`.
        options: those of `tricodec.Transform`.
        front_end: "python" for `tricodec.decode_video`, "dali" for a pipeline with `fn.tricodec.decode_video`.
        transfers: as in `VideoEngine`; a DALI pipeline always copies its result to the host.
    """

    name = "pipeline"
    default_batch = 32

    def __init__(
        self,
        path: Path,
        device: str = "auto",
        options: Mapping[str, Any] | None = None,
        front_end: str = "python",
        *,
        transfers: bool = True,
    ) -> None:
        super().__init__(path, device, transfers=transfers or front_end == "dali")
        self.options = dict(options or {})
        self.front_end = front_end
        tricodec.Transform(**self.options)  # finds wrong options before the first case
        self.scope = {
            "python": "from the path to one tensor of the batch: open, read, decode, transform",
            "dali": "one run of a DALI pipeline, from reading the file to one array of the batch in host memory",
        }[front_end]
        self.settings |= {"front end": front_end, "transform": str(self.options)}

    @contextlib.contextmanager
    def open(self, batch: int, threads: int) -> Iterator[Work]:
        """A query makes a tensor of `batch` frames; `threads` is `num_workers`, or the threads of DALI's pipeline."""
        request = {"count": self.count(batch), **self.options}
        if self.front_end == "dali":
            with open_dali(self.path, request, device=self.settings["device"], num_threads=threads) as decode:
                yield lambda: self._done(len(decode()))
            return

        def work() -> Done:
            start = time.perf_counter()
            video = tricodec.decode_video(self.path, device=self.device, num_workers=threads, **request)
            return self._done(len(video), parts=self._finish(video.frames, start, "decode and transform"))

        yield work
