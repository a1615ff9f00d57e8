# SPDX-License-Identifier: Apache-2.0
"""What fn.tricodec.decode_video says of bad samples and bad arguments, and how a pipeline continues after them."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest
import tricodec
from dali_testing import PerSample, collect, decode, pipeline, read
from media import generated
from programs import limits, printed_by

pytestmark = pytest.mark.needs_dali

GARBAGE = bytes(range(256)) * 20


def good() -> Any:
    return generated("h264_bframes.mp4")


@pytest.mark.parametrize("exec_dynamic", [True, False])
def test_decode_video_names_the_bad_sample(exec_dynamic: bool) -> None:
    pipe = pipeline([good(), GARBAGE, good()], options={"exec_dynamic": exec_dynamic})

    with pytest.raises(RuntimeError, match="Sample 1 of the batch of 3"):
        pipe.run()


def test_decode_video_counts_the_other_bad_samples() -> None:
    with pytest.raises(RuntimeError, match=r"Sample 0 of the batch of 3.*\[1 more of this batch failed\]"):
        decode([GARBAGE, good(), b"RIFF" + GARBAGE])


def test_decode_video_says_that_a_sample_is_empty() -> None:
    with pytest.raises(RuntimeError, match="Sample 1 of the batch of 2: it holds 0 bytes"):
        decode([good(), b""])


def test_decode_video_names_the_file_that_a_reader_gave() -> None:
    from nvidia.dali import Pipeline, fn

    pipe = Pipeline(batch_size=1, num_threads=1, device_id=None)
    with pipe:
        encoded, _ = fn.readers.file(files=[str(generated("audio_only.m4a"))])
        pipe.set_outputs(*fn.tricodec.decode_video(encoded))
    pipe.build()

    with pytest.raises(RuntimeError, match=r"Sample 0 of the batch of 1 \(.*audio_only\.m4a\).*video"):
        pipe.run()


def test_decode_video_names_a_codec_that_it_does_not_decode() -> None:
    # The codec's name in the sample description of the file, and one that no codec has.
    clip = good().read_bytes().replace(b"avc1", b"qux1").replace(b"avcC", b"quxC")

    with pytest.raises(RuntimeError, match=r"Sample 0.*(qux1|unknown|none)"):
        decode([clip])


def test_decode_video_goes_on_after_a_bad_batch() -> None:
    from nvidia.dali import Pipeline, fn

    encoded_good = read(good())
    encoded_bad = read(GARBAGE)
    batches = iter([encoded_good, encoded_bad, encoded_good, encoded_good])
    pipe = Pipeline(batch_size=1, num_threads=2, device_id=None, exec_dynamic=True, prefetch_queue_depth=1)
    with pipe:
        encoded = fn.external_source(source=lambda: [next(batches)], batch=True)
        pipe.set_outputs(*fn.tricodec.decode_video(encoded, count=2))
    pipe.build()
    expected = tricodec.decode_video(good(), count=2).frames

    first = collect(pipe.run())
    with pytest.raises(RuntimeError, match="Sample 0"):
        pipe.run()
    later = [collect(pipe.run()) for _ in range(2)]

    for batch in [first, *later]:
        assert np.array_equal(batch[0].frames, expected)


BAD_CONSTANTS: dict[str, tuple[dict[str, Any], str]] = {
    "resize": ({"resize": "magic"}, "magic.*bilinear"),
    "chroma": ({"chroma": "magic"}, "magic.*interpolated"),
    "color": ({"color": "cmyk"}, "cmyk.*bgr"),
    "matrix": ({"matrix": "bt12"}, 'matrix "bt12".*bt709'),
    "range": ({"range": "wide"}, 'range "wide".*limited'),
    "unspecified": ({"unspecified": "guess"}, "guess.*by_height"),
    "layout": ({"layout": "WHC"}, "WHC.*CHW"),
    "on_error": ({"on_error": "ignore"}, "on_error 'ignore'.*raise, empty"),
    "on_damage": ({"on_damage": "raise"}, "on_damage 'raise'.*warn, error"),
    "short_crop": ({"crop": (1, 2, 3)}, r"\"crop\" has 3 numbers.*top, left, height, width"),
    "single_size": ({"size": 224}, r"\"size\" has 1 numbers.*height, width"),
    "zero_size": ({"size": (0, 10)}, "size"),
    "uint8_with_mean": ({"mean": [0.5]}, "mean"),
    "two_means": ({"mean": [0.5, 0.5], "_dtype": "FLOAT"}, "mean"),
    "zero_std": ({"std": [0.0], "_dtype": "FLOAT"}, "std"),
    "dtype": ({"_dtype": "INT16"}, r"INT16.*types\.FLOAT16|int16.*types\.FLOAT16"),
}


@pytest.mark.parametrize("case", BAD_CONSTANTS)
def test_decode_video_refuses_a_bad_constant_when_the_pipeline_is_built(case: str) -> None:
    from nvidia.dali import types

    arguments, message = BAD_CONSTANTS[case]
    arguments = dict(arguments)
    if "_dtype" in arguments:
        arguments["dtype"] = getattr(types, arguments.pop("_dtype"))

    with pytest.raises(ValueError, match=message):
        pipeline([good()], **arguments)


BAD_REQUESTS: dict[str, tuple[dict[str, Any], type[Exception], str]] = {
    "start_past_the_end": ({"start": 1000}, IndexError, "1000"),
    "count_of_more_than_there_are": ({"start": 45, "count": 10}, IndexError, "10"),
    "stride_of_0": ({"stride": 0}, ValueError, "stride"),
    "count_of_minus_2": ({"count": -2}, ValueError, "count"),
    "crop_outside": ({"crop": (100, 100, 100, 400)}, ValueError, "crop"),
    "no_such_stream": ({"stream_index": 9}, ValueError, "9"),
}


@pytest.mark.parametrize("case", BAD_REQUESTS)
def test_decode_video_raises_what_the_python_door_raises_for_a_request(case: str) -> None:
    arguments, error, message = BAD_REQUESTS[case]

    with pytest.raises(error) as from_python:
        tricodec.decode_video(good(), **arguments)
    with pytest.raises(error, match=f"Sample 0 of the batch of 1.*{message}") as from_dali:
        decode([good()], **arguments)

    assert str(from_python.value).replace(str(good()), "sample 0") in str(from_dali.value)


def test_decode_video_refuses_float_arguments_and_says_how_to_cast() -> None:
    with pytest.raises(TypeError, match=r"\"start\".*fn\.cast"):
        decode([good()], start=PerSample([np.float32(1)]))


def test_decode_video_names_the_sample_whose_argument_has_a_bad_shape() -> None:
    sizes = PerSample([np.array([8, 8], np.int32), np.array([8], np.int32)])

    with pytest.raises(ValueError, match=r"\"size\" of sample 1.*2 integers \(height, width\)"):
        decode([good(), good()], size=sizes)


def test_decode_video_refuses_input_that_is_no_bytes() -> None:
    from nvidia.dali import Pipeline, fn

    def run(array: np.ndarray) -> None:
        pipe = Pipeline(batch_size=1, num_threads=1, device_id=None)
        with pipe:
            pipe.set_outputs(*fn.tricodec.decode_video(fn.external_source(source=lambda: [array], batch=True)))
        pipe.build()
        pipe.run()

    with pytest.raises(TypeError, match=r"encoded.*uint8"):
        run(np.zeros(100, np.int32))
    with pytest.raises(ValueError, match=r"encoded.*2 dimensions"):
        run(np.zeros((10, 10), np.uint8))


def test_decode_video_refuses_output_past_the_limits_before_it_is_allocated() -> None:
    with limits(max_output_bytes=1_000_000), pytest.raises(RuntimeError, match=r"Sample 0.*max_output_bytes 1000000"):
        decode([good()])


@pytest.mark.parametrize("on_error", ["raise", "empty"])
def test_decode_video_refuses_a_batch_past_the_limits_though_each_sample_is_within(on_error: str) -> None:
    words: dict[str, Any] = {"size": (50, 50), "count": 10, "on_error": on_error}  # 75,000 bytes a sample
    with limits(max_output_bytes=3 * 75_000):
        assert [len(sample.frames) for sample in decode([good()] * 3, **words)] == [10] * 3
        with pytest.raises(
            RuntimeError, match=r"batch's 4 samples, 225000 bytes.*max_output_bytes 225000; use a small"
        ):
            decode([good()] * 4, **words)


@pytest.mark.parametrize("exec_dynamic", [True, False])
def test_decode_video_returns_a_bad_sample_empty_when_asked(
    exec_dynamic: bool, caplog: pytest.LogCaptureFixture
) -> None:
    clips = [GARBAGE, good(), b"", generated("hevc.mp4")]

    batch = decode(clips, count=3, on_error="empty", options={"exec_dynamic": exec_dynamic})

    assert batch[0].frames.shape == (0, 0, 0, 3)
    assert batch[2].frames.shape == (0, 0, 0, 3)
    assert [len(decoded.pts) for decoded in batch] == [0, 3, 0, 3]
    assert np.array_equal(batch[1].frames, tricodec.decode_video(good(), count=3).frames)
    assert np.array_equal(batch[3].frames, tricodec.decode_video(generated("hevc.mp4"), count=3).frames)
    for sample in (0, 2):
        assert f"Sample {sample} of the batch of 4" in caplog.text


@pytest.mark.parametrize(("layout", "shape"), [("HWC", (0, 20, 30, 3)), ("CHW", (0, 3, 20, 30))])
def test_decode_video_gives_an_empty_sample_the_size_that_was_asked(layout: str, shape: tuple[int, ...]) -> None:
    (decoded,) = decode([GARBAGE], size=(20, 30), layout=layout, on_error="empty")

    assert decoded.frames.shape == shape


def test_decode_video_returns_a_sample_empty_when_its_request_does_not_fit() -> None:
    short, long = decode([good(), good()], start=PerSample([1000, 40]), on_error="empty")

    assert short.frames.shape[0] == 0
    assert np.array_equal(long.frames, tricodec.decode_video(good(), start=40).frames)


def test_decode_video_gives_what_the_python_door_gives_for_damaged_files() -> None:
    clips = ["truncated_faststart.mp4", "truncated.mkv", "zeroed.mp4", "zeroed.webm", "flipped.ts"]
    for clip in clips:
        try:
            expected = tricodec.decode_video(generated(clip), size=(36, 64)).frames
        except tricodec.Error:
            expected = np.zeros((0, 36, 64, 3), np.uint8)

        (decoded,) = decode([generated(clip)], size=(36, 64), on_error="empty")

        assert decoded.frames.shape == expected.shape, clip
        assert np.array_equal(decoded.frames, expected), clip


DAMAGED = ["h264_bframes.mp4", "truncated.mkv", "zeroed.mp4", "vp9.webm"]


@pytest.mark.parametrize("exec_dynamic", [True, False])
def test_decode_video_counts_damaged_packets_where_they_are_asked_for(exec_dynamic: bool) -> None:
    clips = [generated(name) for name in DAMAGED]

    batch = decode(clips, size=(36, 64), num_damaged_packets=True, options={"exec_dynamic": exec_dynamic})

    counts = [sample.num_damaged_packets for sample in batch]
    assert all(count is not None and (count.dtype, count.shape) == (np.int64, (1,)) for count in counts)
    for clip, sample, count in zip(clips, batch, counts, strict=True):
        expected = tricodec.decode_video(clip, size=(36, 64))
        assert np.array_equal(sample.frames, expected.frames), clip
        assert count == expected.num_damaged_packets, clip
        assert (count > 0) == (clip.name in DAMAGED[1:3]), clip
    assert counts[1] == 1  # the cut


def test_decode_video_counts_in_dynamic_mode() -> None:
    import nvidia.dali.experimental.dynamic as ndd

    encoded = ndd.batch([read(generated(name)) for name in DAMAGED])

    _, _, counts = ndd.tricodec.decode_video(encoded, count=2, size=(36, 64), num_damaged_packets=True)

    # The zeroed bytes lie behind the first two frames.
    assert [int(np.array(count.cpu())[0]) for count in counts.evaluate().tensors] == [0, 1, 0, 0]


@pytest.mark.parametrize("exec_dynamic", [True, False])
def test_decode_video_raises_for_damage_where_it_is_an_error(exec_dynamic: bool) -> None:
    pipe = pipeline(
        [generated(name) for name in DAMAGED], size=(36, 64), on_damage="error", options={"exec_dynamic": exec_dynamic}
    )

    with pytest.raises(
        RuntimeError,
        match=r"Sample 1 of the batch of 4: it is damaged: it ends early: .*\[1 more of this batch failed\]",
    ):
        pipe.run()


def test_decode_video_empties_what_is_damaged_where_that_is_an_error() -> None:
    batch = decode(
        [generated(name) for name in DAMAGED],
        size=(36, 64),
        on_damage="error",
        on_error="empty",
        num_damaged_packets=True,
    )

    assert [sample.frames.shape[0] for sample in batch] == [50, 0, 0, 50]
    assert [sample.pts.shape for sample in batch] == [(50,), (0,), (0,), (50,)]
    assert [bool(sample.num_damaged_packets > 0) for sample in batch] == [False, True, True, False]


def test_decode_video_counts_nothing_of_what_cannot_be_opened() -> None:
    batch = decode([GARBAGE, good()], size=(36, 64), on_error="empty", num_damaged_packets=True)

    assert [(sample.frames.shape[0], int(sample.num_damaged_packets[0])) for sample in batch] == [(0, 0), (50, 0)]


@pytest.mark.parametrize("exec_dynamic", [True, False])
def test_decode_video_empties_a_sample_that_fails_while_it_is_decoded(exec_dynamic: bool) -> None:
    clips = [good(), generated("h264_size_change.h264"), generated("hevc.mp4")]

    batch = decode(clips, on_error="empty", options={"exec_dynamic": exec_dynamic})

    assert batch[1].frames.shape == (0, 180, 320, 3)
    assert batch[1].pts.shape == (0,)
    for i in (0, 2):
        expected = tricodec.decode_video(clips[i])
        assert np.array_equal(batch[i].frames, expected.frames)
        assert np.array_equal(batch[i].pts, expected.pts_seconds)


def test_decode_video_names_a_sample_that_fails_while_it_is_decoded() -> None:
    with pytest.raises(RuntimeError, match=r"Sample 1 of the batch of 2: frame 50 is 160x96.*size"):
        decode([good(), generated("h264_size_change.h264")])


def test_decode_video_reports_the_reason_in_dynamic_mode() -> None:
    import nvidia.dali.experimental.dynamic as ndd

    def decode_garbage() -> None:
        frames, _ = ndd.tricodec.decode_video(read(GARBAGE))
        frames.evaluate()

    with pytest.raises(RuntimeError) as raised:
        decode_garbage()
    frames, _ = ndd.tricodec.decode_video(read(good()), count=1)

    assert "Sample 0 of the batch of 1" in f"{raised.value} {raised.value.__cause__}"
    assert np.array_equal(np.array(frames.cpu()), tricodec.decode_video(good(), count=1).frames)


def test_operators_are_registered_for_the_gpu_too() -> None:
    from nvidia.dali import ops

    assert "tricodec__DecodeVideo" in ops.cpu_ops()
    assert "tricodec__DecodeVideo" in ops.mixed_ops()
    assert "tricodec__Transform" in ops.cpu_ops()
    assert "tricodec__Transform" in ops.gpu_ops()


def test_decode_video_mixed_is_refused_where_there_is_no_gpu() -> None:
    code = f"""
import numpy as np
import tricodec.dali
from nvidia.dali import Pipeline, fn
data = np.fromfile({str(good())!r}, np.uint8)
pipe = Pipeline(batch_size=1, num_threads=1, device_id=None)
with pipe:
    encoded = fn.external_source(source=lambda: [data], batch=True)
    pipe.set_outputs(*fn.tricodec.decode_video(encoded, device="mixed"))
try:
    pipe.build()
except RuntimeError as error:
    print("refused:", error)
"""

    output = printed_by(code, CUDA_VISIBLE_DEVICES="")

    assert re.search("refused: .*(CUDA|GPU)", output)
