# SPDX-License-Identifier: Apache-2.0
"""fn.tricodec.read_video with arguments that select frames: sequences of what tricodec.decode_video gives for them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import tricodec
from dali_testing import Sequence, read_batches, reading_pipeline, sequences_of
from media import generated

pytestmark = pytest.mark.needs_dali

CLIPS = ["h264_bframes.mp4", "h264_vfr.mkv", "vp9_odd.webm"]
SIZE = (24, 32)
WORDS: dict[str, dict[str, Any]] = {
    "fps_of_a_part": {"fps": 7.5, "start_s": 0.3, "end_s": 1.4, "policy": "nearest"},
    "fps_with_bounds": {"fps": 30.0, "max_frames": 9},
    "uniform": {"sampling": "uniform_floor", "num_frames": 12, "start_s": 0.2},
    "times": {"times": [1.0, 0.2, 0.2, 0.9, 0.5], "tolerance_s": 0.1},
    "indices": {"indices": [30, 3, 2, 1, -1, 17]},
    "around": {"sampling": "around", "times": [0.2, 0.8], "num_frames": 4, "stride": 3},
}


def chosen(clip: str, **words: Any) -> tricodec.DecodedVideo:
    return tricodec.decode_video(generated(clip), device="cpu", size=SIZE, **words)


def assert_part(sequence: Sequence, whole: tricodec.DecodedVideo, places: list[int]) -> None:
    assert whole.indices is not None
    assert sequence.frames.tobytes() == whole.frames[places].tobytes()
    assert sequence.pts.tolist() == whole.pts_seconds[places].tolist()
    assert sequence.more[0].tolist() == whole.indices[places].tolist()


@pytest.mark.parametrize("name", WORDS)
def test_sequences_are_parts_of_the_frames_that_decode_video_gives_for_the_words(name: str) -> None:
    words = WORDS[name]
    expected = [chosen(clip, **words) for clip in CLIPS]
    starts = [(file, start) for file, each in enumerate(expected) for start in range(0, len(each) - 3, 4)]
    assert len(starts) >= len(CLIPS)

    pipe = reading_pipeline(
        batch_size=3, filenames=[str(generated(clip)) for clip in CLIPS], sequence_length=4, size=SIZE,
        enable_frame_num="sequence", **words,
    )  # fmt: skip
    given = [sequence for _ in range(-(-len(starts) // 3)) for sequence in sequences_of(pipe.run())]

    assert pipe.reader_meta("reader")["epoch_size"] == len(starts)
    for (file, start), sequence in zip(starts, given, strict=False):
        assert_part(sequence, expected[file], list(range(start, start + 4)))
        assert sequence.source == str(generated(CLIPS[file]))


def test_shuffled_shards_hold_each_file_once_with_the_frames_of_uniform_sampling() -> None:
    words: dict[str, Any] = {
        "filenames": [str(generated(clip)) for clip in CLIPS], "labels": [], "sequence_length": 5, "num_frames": 5,
        "random_shuffle": True, "num_shards": 3, "size": SIZE,
    }  # fmt: skip

    batches = [read_batches(1, batch_size=1, shard_id=shard, seed=shard, **words)[0] for shard in range(3)]

    labels = [int(sequence.more[0][0]) for (sequence,) in batches]
    assert sorted(labels) == [0, 1, 2]
    for (sequence,), label in zip(batches, labels, strict=True):
        assert np.array_equal(sequence.frames, chosen(CLIPS[label], num_frames=5).frames)


@pytest.mark.parametrize(
    ("words", "error", "message"),
    [
        ({"fps": 2.0, "stride": 2}, ValueError, "stride does not go with fps"),
        ({"tolerance_s": 0.1}, ValueError, "tolerance_s is given without the option that it belongs to"),
        ({"start_s": 70.0}, IndexError, r"File 0 of 1 \(.*\): start_s is 70 s; the video shows frames from"),
        ({"num_frames": 3}, ValueError, "no file holds a sequence of 4 frames .* the longest of 1 has 3 frames"),
    ],
)
def test_words_that_no_file_can_follow_are_errors_when_the_pipeline_is_built(
    words: dict[str, Any], error: type[Exception], message: str
) -> None:
    with pytest.raises(error, match=message):
        reading_pipeline(batch_size=1, filenames=[str(generated("h264_vfr.mkv"))], sequence_length=4, **words)
