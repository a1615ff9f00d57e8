# SPDX-License-Identifier: Apache-2.0
"""What is measured if no file is named: test pictures, and a video of them."""

from __future__ import annotations

import contextlib
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import tricodec
from tricodec.io import StreamReader

FRAME_RATE = 30000 / 1001
TEST_PICTURES = "1280x720, 2 s of FFmpeg's testsrc2"
"""What describes the test pictures."""


def make_pictures() -> Any:
    """The test pictures, uint8 RGB [frames, 3, height, width]."""
    source = f"testsrc2=rate={FRAME_RATE}:size=1280x720:duration=2"
    reader = StreamReader(src=source, format="lavfi", arrays="numpy")
    reader.add_basic_video_stream(-1, format="rgb24")
    reader.process_all_packets()
    (pictures,) = reader.pop_chunks()
    return pictures


@contextlib.contextmanager
def clip_or(file: str | Path | None) -> Iterator[Path]:
    """The path of a video, for a ``with`` block.

    None is a video of the test pictures, H.264 with a key frame every 30 frames. The end of the block deletes it.
    """
    if file is not None:
        yield Path(file)
        return
    with tempfile.TemporaryDirectory(prefix="tricodec-bench-") as folder:
        path = Path(folder) / "test_pictures.mp4"
        data = tricodec.encode_video(make_pictures(), layout="CHW", frame_rate=FRAME_RATE, gop_size=30)
        path.write_bytes(data)
        yield path
