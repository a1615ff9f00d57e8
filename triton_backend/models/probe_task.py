# SPDX-License-Identifier: Apache-2.0
"""One file to describe: what `tricodec.probe` says, and the frames that `tricodec.FrameReader` numbers."""

from __future__ import annotations

import contextlib
import dataclasses
import json
from collections.abc import Iterator
from typing import Any, ClassVar

import tricodec
from tricodec.node.tasks import Tools
from tricodec.triton_backend.models.encode_task import FileJob
from tricodec.triton_backend.runtime.settings import Settings

_NO_VIDEO = {"num_frames": 0, "width": 0, "height": 0, "frame_rate": 0.0, "seconds": 0.0, "codec": ""}


@dataclasses.dataclass(frozen=True, slots=True)
class ProbeTask:
    """The request for one file.

    Attributes:
        stream_index: of the video stream; -1 is the best one.
    """

    DOING: ClassVar[str] = "describing"
    SHORTEN: ClassVar[str] = "send a smaller file"

    stream_index: int = -1

    @contextlib.contextmanager
    def open(self, data: Any, settings: Settings, tools: Tools) -> Iterator[list[FileJob]]:
        """Describes the file.

        Raises:
            ValueError, tricodec.Error: as tricodec.probe, and tricodec.FrameReader for a file with video.
        """
        info = tricodec.probe(data)
        video = self._video(data, info, tools.num_threads) if info.video is not None or self.stream_index >= 0 else None
        facts = info.to_dict() | {"name": "", "video": video}
        yield [FileJob(json.dumps(facts).encode(), video or _NO_VIDEO)]

    def _video(self, data: Any, info: tricodec.video.MediaInfo, num_threads: int) -> dict[str, Any]:
        with tricodec.FrameReader(
            data, device="cpu", stream_index=self.stream_index, num_workers=num_threads
        ) as reader:
            stream = reader.stream
            height, width, _ = reader.output_shape(tricodec.Transform())
            rate = stream.average_frame_rate or stream.real_frame_rate
            return {
                "stream_index": stream.index,
                "num_frames": len(reader),
                "width": width,
                "height": height,
                "frame_rate": float(rate) if rate else 0.0,
                "seconds": float(stream.duration_seconds or info.duration_seconds or 0),
                "codec": stream.codec_name,
            }
