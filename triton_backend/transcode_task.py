# SPDX-License-Identifier: Apache-2.0
"""One file to transcode: what `tricodec.transcode` does, in a worker."""

from __future__ import annotations

import contextlib
import dataclasses
from collections.abc import Iterator
from typing import Any, ClassVar

import tricodec
from tricodec.triton_backend.encoder_request import check_file, check_frames
from tricodec.triton_backend.made_file import FileBlock, FileJob, read_file_block
from tricodec.triton_backend.settings import Settings


@dataclasses.dataclass(frozen=True, slots=True)
class TranscodeTask:
    """The request for one file.

    Attributes:
        options: arguments of tricodec.transcode, JSON values only.
    """

    KIND: ClassVar[str] = "transcode"
    DOING: ClassVar[str] = "transcoding"
    SHORTEN: ClassVar[str] = "ask for a part with START_SECONDS and END_SECONDS, or choose a faster PRESET"

    options: dict[str, Any] = dataclasses.field(default_factory=dict)

    @staticmethod
    def read_block(described: dict[str, Any]) -> FileBlock:
        """See task.Task."""
        return read_file_block(described)

    @contextlib.contextmanager
    def open(self, data: Any, settings: Settings, num_threads: int) -> Iterator[list[FileJob]]:
        """Transcodes.

        Args:
            data: the file, bytes-like.
            settings: max_frames, max_output_bytes and device are read; the other limits are the process's.
            num_threads: not looked at: what is encoded depends on the number of threads, so the request says it.

        Raises:
            ValueError, tricodec.Error: as tricodec.transcode.
        """
        result = tricodec.transcode(
            data,
            None,
            device=settings.device,
            progress=lambda num_frames, _seconds, _total: check_frames(num_frames, settings),
            **self.options,
        )
        assert result.data is not None
        check_file(len(result.data), settings)
        facts = dataclasses.asdict(dataclasses.replace(result, data=None))
        yield [FileJob(result.data, facts)]
