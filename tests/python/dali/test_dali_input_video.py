# SPDX-License-Identifier: Apache-2.0
"""fn.tricodec.input_video: fed videos in batches of sequences, as DALI's experimental.inputs.video gives them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import tricodec
from dali_testing import read
from media import generated

pytestmark = pytest.mark.needs_dali

NUMBERS = "vp9_numbers.webm"


def live(operator: str = "tricodec", *, batch_size: int = 3, **words: Any) -> Any:
    """A built pipeline around our operator, or "experimental" around DALI's, with an input named "in"."""
    import tricodec.dali  # noqa: F401  (registers the operators)
    from nvidia.dali import Pipeline, fn

    pipe = Pipeline(batch_size=batch_size, num_threads=2, device_id=None, prefetch_queue_depth=1)
    with pipe:
        if operator == "tricodec":
            outputs = fn.tricodec.input_video(name="in", **words)
        else:
            outputs = fn.experimental.inputs.video(name="in", **words)
        pipe.set_outputs(*(outputs if isinstance(outputs, (list, tuple)) else [outputs]))
    pipe.build()
    return pipe


def run(pipe: Any) -> list[list[np.ndarray]]:
    """The samples of a run, each with all outputs."""
    outputs = pipe.run()
    return [[np.array(output.at(i)) for output in outputs] for i in range(len(outputs[0]))]


def feed(pipe: Any, *clips: str | bytes) -> None:
    for clip in clips:
        pipe.feed_input("in", [read(clip if isinstance(clip, bytes) else generated(clip))])


@pytest.mark.parametrize("policy", ["partial", "pad"])
@pytest.mark.parametrize("length", [4, 7, 40])
def test_input_video_gives_the_batches_of_dalis_input(length: int, policy: str) -> None:
    pipes = [
        live(operator, sequence_length=length, last_sequence_policy=policy, **words)
        for operator, words in (("experimental", {}), ("tricodec", {"enable_timestamps": False}))
    ]
    for pipe in pipes:
        feed(pipe, NUMBERS, NUMBERS)

    for _ in range(2 * -(-25 // (3 * length))):
        theirs, mine = (run(pipe) for pipe in pipes)
        assert [sample[0].shape for sample in mine] == [sample[0].shape for sample in theirs]
        for expected, given in zip(theirs, mine, strict=True):
            assert np.max(np.abs(given[0].astype(int) - expected[0])) <= 1


@pytest.mark.parametrize("clip", ["h264_one_gop.mp4", "av1.mp4"])
def test_input_video_gives_all_frames_of_a_video_in_order(clip: str) -> None:
    words: dict[str, Any] = {"size": (60, 80), "layout": "CHW"}
    expected = tricodec.decode_video(generated(clip), device="cpu", **words)
    pipe = live(sequence_length=8, **words)
    feed(pipe, clip)

    samples = [sample for _ in range(-(-len(expected.frames) // 24)) for sample in run(pipe)]

    assert np.concatenate([sample[0] for sample in samples]).tobytes() == expected.frames.tobytes()
    assert np.concatenate([sample[1] for sample in samples]).tolist() == expected.pts_seconds.tolist()


def test_input_video_pads_with_its_fill_value() -> None:
    pipe = live(sequence_length=10, last_sequence_policy="pad", fill_value=[1, 2, 3])
    feed(pipe, NUMBERS)

    last = run(pipe)[-1]

    assert last[0].shape[0] == 10
    assert np.all(last[0][5:] == [1, 2, 3])
    assert np.isnan(last[1][5:]).all()


def test_segments_of_a_live_stream_are_decoded_as_they_come() -> None:
    clip = generated("h264_bframes.mp4")
    packets = list(tricodec.Demuxer(clip, annexb=True))
    starts = [i for i, packet in enumerate(packets) if packet.key]
    expected = tricodec.decode_video(clip, device="cpu").frames
    pipe = live(sequence_length=100, batch_size=1)

    frames = []
    for begin, end in zip(starts, [*starts[1:], len(packets)], strict=True):
        feed(pipe, b"".join(bytes(packet.data) for packet in packets[begin:end]))
        frames.append(run(pipe)[0][0])

    assert len(frames) > 2
    assert np.concatenate(frames).tobytes() == expected.tobytes()


def test_input_video_goes_on_with_the_next_video_after_a_bad_one() -> None:
    pipe = live(sequence_length=3)
    feed(pipe, b"no video" * 100, NUMBERS)

    with pytest.raises(RuntimeError, match="Sample 0 of the batch of 1"):
        pipe.run()

    assert [sample[0].shape[0] for sample in run(pipe)] == [3, 3, 3]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ({"sequence_length": 0}, "sequence_length is 0; it must be at least 1 frame"),
        (
            {"sequence_length": 1, "last_sequence_policy": "drop"},
            "last_sequence_policy 'drop' is not one of partial, pad",
        ),
    ],
    ids=repr,
)
def test_input_video_refuses_words_that_it_does_not_know(words: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        live(**words)
