# SPDX-License-Identifier: Apache-2.0
"""Frames of the streams of docs/explanation/exactness.md have their MD5s on a GPU, or on the CPU if the GPU refuses."""

from __future__ import annotations

import pytest
from exact_encoded import NotInThisFfmpeg
from exact_streams import STREAMS, ExactStream, frames_of


@pytest.mark.parametrize("stream", STREAMS, ids=lambda stream: stream.name)
def test_every_frame_has_its_md5(stream: ExactStream) -> None:
    try:
        engine, found, expected = frames_of(stream, "auto")
    except NotInThisFfmpeg as error:
        pytest.skip(f"not for this GPU: {error}")
    if stream.known and not engine.startswith("NVDEC"):
        pytest.skip(f"not for this GPU: the CPU decodes it, and differs: {stream.known}")

    assert found == expected, engine
