# SPDX-License-Identifier: Apache-2.0
"""What the DALI operators give of a file that decodes to fewer frames than its packets promise: 29 of 30.

And of frames that share packets, sizes that change, and a picture past the limits.
"""

from __future__ import annotations

import sys
from pathlib import Path

import damaged_clips
import numpy as np
import pytest
import tricodec
from dali_testing import decode, pipeline, read_batches, reading_pipeline
from media import generated
from programs import run_python

pytestmark = pytest.mark.needs_dali

PROMISED = 30
LEFT = 29


@pytest.fixture(scope="module")
def shortened() -> bytes:
    return damaged_clips.without_frame_15()


def test_frames_of_two_sizes_without_a_size_are_an_error_of_their_sample() -> None:
    resized, good = damaged_clips.of_two_sizes(), generated("h264_bframes.mp4")
    with pytest.raises(tricodec.UnsupportedError, match="size=") as raised:
        tricodec.decode_video(resized, device="cpu")

    mixed, whole = decode([resized, good], on_error="empty")
    with pytest.raises(RuntimeError, match="Sample 0") as said:
        pipeline([resized, good]).run()

    assert str(raised.value) in str(said.value)
    assert mixed.frames.shape[0] == 0
    assert np.array_equal(whole.frames, tricodec.decode_video(good, device="cpu").frames)


def test_a_stream_that_grows_past_the_limits_is_refused_before_memory_is_taken() -> None:
    # In a process of its own: another one holds memory of earlier tests, which it frees and takes meanwhile.
    code = """
    import sys
    sys.path[:0] = sys.argv[1:]
    import h264_writer, pytest
    from dali_testing import decode, pipeline

    peak_mib = lambda: int(open("/proc/self/status").read().split("VmHWM:")[1].split()[0]) >> 10
    decode([h264_writer.small(80)])
    open("/proc/self/clear_refs", "w").write("5")  # the peak begins here
    before = peak_mib()
    for count in (2, 80):  # the opening meets the large picture, and decoding
        grown = h264_writer.small(count) + bytes(h264_writer.first_block(3200, 32000).data)
        with pytest.raises(RuntimeError, match="3200x32000"):
            pipeline([grown]).run()
    print(peak_mib() - before)
    """
    result = run_python(code, *sys.path)
    assert int(result.stdout) < 120, result.stderr  # one such picture has 150 MiB


def test_decode_video_raises_for_a_count_that_is_not_there(shortened: bytes) -> None:
    pipe = pipeline([shortened], count=PROMISED)

    with pytest.raises(IndexError, match=rf"Sample 0 .*{PROMISED} frames .*damaged and has {LEFT} frames"):
        pipe.run()


def test_decode_video_empties_a_sample_whose_count_is_not_there(shortened: bytes) -> None:
    short, whole = decode([shortened, generated("h264_bframes.mp4")], count=PROMISED, size=(36, 64), on_error="empty")

    assert short.frames.shape == (0, 36, 64, 3)
    assert whole.frames.shape == (PROMISED, 36, 64, 3)


def test_read_video_raises_for_a_sequence_with_a_frame_that_is_not_there(shortened: bytes, tmp_path: Path) -> None:
    path = tmp_path / "shortened.mp4"
    path.write_bytes(shortened)
    pipe = reading_pipeline(batch_size=1, filenames=str(path), sequence_length=PROMISED)

    with pytest.raises(IndexError, match=rf"shortened\.mp4.*frame {LEFT} .*damaged and has {LEFT} frames"):
        pipe.run()


def test_read_video_empties_a_sequence_with_a_frame_that_is_not_there(shortened: bytes, tmp_path: Path) -> None:
    path = tmp_path / "shortened.mp4"
    path.write_bytes(shortened)

    (batch,) = read_batches(1, batch_size=1, filenames=str(path), sequence_length=PROMISED, on_error="empty")

    assert batch[0].frames.shape[0] == 0
