# SPDX-License-Identifier: Apache-2.0
"""fn.tricodec.probe: the facts that PyAV finds by decoding."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import av
import numpy as np
import pytest
from dali_testing import constant_source, read
from media import generated

pytestmark = pytest.mark.needs_dali

CLIPS = ["h264_bframes.mp4", "hevc.mp4", "vp9.webm", "av1.mp4", "mpeg4.avi", "mjpeg.avi", "vp9_odd.webm"]


def probe(clips: list[Path | bytes], **words: Any) -> list[list[np.ndarray]]:
    import tricodec.dali  # noqa: F401  (registers the operators)
    from nvidia.dali import Pipeline, fn

    pipe = Pipeline(batch_size=len(clips), num_threads=2, device_id=None)
    with pipe:
        encoded = fn.external_source(source=constant_source([read(clip) for clip in clips]), batch=True)
        pipe.set_outputs(*fn.tricodec.probe(encoded, **words))
    pipe.build()
    outputs = pipe.run()
    return [[np.array(output.at(i)) for output in outputs] for i in range(len(clips))]


def test_probe_gives_what_decoding_gives() -> None:
    facts = probe([generated(clip) for clip in CLIPS])

    for clip, (num_frames, size, frame_rate, duration) in zip(CLIPS, facts, strict=True):
        with av.open(str(generated(clip))) as container:
            frames = list(container.decode(video=0))
        assert num_frames.tolist() == [len(frames)], clip
        assert size.tolist() == [frames[0].height, frames[0].width], clip
        assert frame_rate[0] == pytest.approx(25), clip
        assert duration[0] == pytest.approx(len(frames) / 25, abs=0.1), clip


def test_probe_names_the_sample_that_is_not_a_video() -> None:
    with pytest.raises(RuntimeError, match=r"Sample 1 of the batch of 2: "):
        probe([generated("vp9.webm"), b"no video" * 100])


def test_probe_gives_zeros_for_it_with_on_error_empty() -> None:
    good, bad = probe([generated("vp9.webm"), b"no video" * 100], on_error="empty")

    assert good[0].tolist() == [50]
    assert [output.tolist() for output in bad] == [[0], [0, 0], [0.0], [0.0]]
