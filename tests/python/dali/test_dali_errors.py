# SPDX-License-Identifier: Apache-2.0
"""What DALI's operators say of bad samples and bad arguments, and how a pipeline continues after them."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest
import tricodec
from dali_testing import decode, pipeline
from media import generated
from programs import printed_by

pytestmark = pytest.mark.needs_dali

GARBAGE = bytes(range(256)) * 20


def good() -> Any:
    return generated("h264_bframes.mp4")


@pytest.mark.parametrize("exec_dynamic", [True, False])
def test_decode_video_names_the_bad_sample(exec_dynamic: bool) -> None:
    pipe = pipeline([good(), GARBAGE, good()], options={"exec_dynamic": exec_dynamic})

    with pytest.raises(RuntimeError, match="Sample 1 of the batch of 3"):
        pipe.run()


def test_decode_video_names_the_file_that_a_reader_gave() -> None:
    from nvidia.dali import Pipeline, fn

    pipe = Pipeline(batch_size=1, num_threads=1, device_id=None)
    with pipe:
        encoded, _ = fn.readers.file(files=[str(generated("audio_only.m4a"))])
        pipe.set_outputs(*fn.tricodec.decode_video(encoded))
    pipe.build()

    with pytest.raises(RuntimeError, match=r"Sample 0 of the batch of 1 \(.*audio_only\.m4a\).*video"):
        pipe.run()


BAD_CONSTANTS: dict[str, tuple[dict[str, Any], str]] = {
    "resize": ({"resize": "magic"}, "magic.*bilinear"),
    "layout": ({"layout": "WHC"}, "WHC.*CHW"),
    "on_error": ({"on_error": "ignore"}, "on_error 'ignore'.*raise, empty"),
    "short_crop": ({"crop": (1, 2, 3)}, r"\"crop\" has 3 numbers.*top, left, height, width"),
    "uint8_with_mean": ({"mean": [0.5]}, "mean"),
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
    "stride_of_0": ({"stride": 0}, ValueError, "stride"),
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


DAMAGED = ["h264_bframes.mp4", "truncated.mkv", "zeroed.mp4", "vp9.webm"]


@pytest.mark.parametrize("exec_dynamic", [True, False])
def test_decode_video_counts_damaged_packets_where_they_are_asked_for(exec_dynamic: bool) -> None:
    clips = [generated(name) for name in DAMAGED]

    batch = decode(clips, size=(36, 64), num_damaged_packets=True, options={"exec_dynamic": exec_dynamic})

    counts = [sample.num_damaged_packets for sample in batch]
    assert all(count is not None and (count.dtype, count.shape) == (np.int64, (1,)) for count in counts)
    for clip, sample, count in zip(clips, batch, counts, strict=True):
        expected = tricodec.decode_video(clip, size=(36, 64)).frames
        whole = len(expected) if clip.name != "zeroed.mp4" else 10  # the frames before the damage
        assert np.array_equal(sample.frames[:whole], expected[:whole]), clip
        assert (count > 0) == (clip.name in DAMAGED[1:3]), clip
    assert counts[1] == 1  # the cut


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


@pytest.mark.parametrize(
    ("operator", "arguments"),
    [
        ("DecodeVideo", {"start": 1.5}), ("DecodeVideo", {"count": 2.5}), ("DecodeVideo", {"indices": [1, 2.5]}),
        ("ReadVideo", {"filenames": ["a.mp4"], "sequence_length": 2.5}), ("EncodeVideo", {"gop_size": 0.5}),
        ("ReadVideo", {"filenames": ["a.mp4"], "sequence_length": 2, "stride": float("nan")}),
    ],
)  # fmt: skip
def test_a_fraction_is_refused_by_name(operator: str, arguments: dict[str, Any]) -> None:
    import tricodec.dali  # noqa: F401
    from nvidia.dali import ops

    name = list(arguments)[-1]
    with pytest.raises(
        ValueError, match=rf"{operator}: {name} is .*; it takes whole numbers: use int\(\) or round\(\)"
    ):
        getattr(ops.tricodec, operator)(**arguments)
