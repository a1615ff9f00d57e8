# SPDX-License-Identifier: Apache-2.0
"""fn.tricodec.decode_video gives what tricodec.decode_video gives, of files and of packets, however DALI runs it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import av
import damaged_clips
import numpy as np
import pytest
import tricodec
from dali_testing import (
    Decoded,
    PerSample,
    collect,
    decode,
    for_dali,
    operator_pipeline,
    pipeline,
    read,
    read_batches,
    reading_pipeline,
)
from media import generated

pytestmark = pytest.mark.needs_dali


def assert_same(decoded: Decoded, clip: str, **request: Any) -> None:
    expected = tricodec.decode_video(generated(clip), device="cpu", **request)
    assert decoded.frames.dtype == expected.frames.dtype
    assert decoded.frames.shape == expected.frames.shape
    assert decoded.frames.tobytes() == expected.frames.tobytes()
    assert decoded.pts.dtype == np.float64
    assert decoded.pts.tobytes() == np.asarray(expected.pts_seconds).tobytes()


def test_decode_video_keeps_the_size_of_each_video_of_a_batch() -> None:
    clips = ["h264_bframes.mp4", "vp9_odd.webm", "h264_rot90.mp4", "h264_16x16.mp4", "hevc10.mkv", "av1.mp4"]

    batch = decode([generated(clip) for clip in clips], stride=2)

    for decoded, clip in zip(batch, clips, strict=True):
        assert_same(decoded, clip, stride=2)


def test_decode_video_makes_one_dense_array_of_videos_of_one_size() -> None:
    clips = ["h264_bframes.mp4", "vp9_odd.webm", "mpeg4.avi"]

    frames, _ = pipeline([generated(clip) for clip in clips], count=4, size=(48, 64)).run()

    expected = [tricodec.decode_video(generated(clip), count=4, size=(48, 64)).frames for clip in clips]
    assert np.array_equal(np.array(frames.as_tensor()), np.stack(expected))


@pytest.mark.parametrize("integer", [np.int64, np.int32, np.uint8])
def test_decode_video_takes_the_request_of_each_sample(integer: type) -> None:
    clips = ["h264_bframes.mp4", "h264_open_gop.mkv", "hevc.mp4"]
    words = {"start": [0, 13, 40], "stride": [1, 2, 3], "count": [5, 6, 1]}
    tuples = {"crop": [(0, 0, 180, 320), *[(10, 20, 50, 60)] * 2], "size": [(32, 32), (32, 32), (90, 90)]}

    arguments = {name: PerSample(map(integer, values)) for name, values in words.items()}
    arguments |= {name: PerSample(values) for name, values in tuples.items()}
    batch = decode([generated(clip) for clip in clips], **arguments)

    for i, decoded in enumerate(batch):
        assert_same(decoded, clips[i], **{name: values[i] for name, values in (words | tuples).items()})


EXECUTORS: dict[str, dict[str, Any]] = {
    "static": {"exec_dynamic": False},
    "static_without_pipelining": {"exec_dynamic": False, "exec_pipelined": False, "exec_async": False},
}


@pytest.mark.parametrize("executor", EXECUTORS)
def test_decode_video_runs_again_and_again_on_every_executor(executor: str) -> None:
    clips = ["h264_bframes.mp4", "vp9_odd.webm"]
    pipe = pipeline([generated(clip) for clip in clips], options=EXECUTORS[executor], start=3, count=5)

    batches = [collect(pipe.run()) for _ in range(4)]

    for batch in batches:
        for decoded, clip in zip(batch, clips, strict=True):
            assert_same(decoded, clip, start=3, count=5)


def test_decode_video_is_checkpointed_with_its_pipeline() -> None:
    from nvidia.dali import Pipeline, fn

    files = [str(generated(clip)) for clip in ("h264_bframes.mp4", "hevc.mp4", "mpeg4.avi")]

    def build(**options: Any) -> Pipeline:
        pipe = Pipeline(batch_size=1, num_threads=2, device_id=None, enable_checkpointing=True, **options)
        with pipe:
            encoded, _ = fn.readers.file(files=files)
            pipe.set_outputs(*fn.tricodec.decode_video(encoded, count=2))
        pipe.build()
        return pipe

    first = build()
    first.run()
    saved = first.checkpoint()
    expected = collect(first.run())

    resumed = collect(build(checkpoint=saved).run())

    assert resumed[0].frames.tobytes() == expected[0].frames.tobytes()
    assert_same(resumed[0], "hevc.mp4", count=2)


def test_decode_video_survives_serialization_of_its_pipeline() -> None:
    from nvidia.dali import Pipeline

    data = read(generated("h264_bframes.mp4"))
    request: dict[str, Any] = {
        "start": 4, "count": 2, "size": (30, 40), "dtype": "float32", "mean": [0.5], "layout": "CHW",
    }  # fmt: skip
    pipe = pipeline([generated("h264_bframes.mp4")], **for_dali(request))

    restored = Pipeline.deserialize(pipe.serialize())
    restored.feed_input("input_0", [data])

    (decoded,) = collect(restored.run())
    assert_same(decoded, "h264_bframes.mp4", **request)


def test_decode_video_works_in_dynamic_mode() -> None:
    import nvidia.dali.experimental.dynamic as ndd

    data = [read(generated(clip)) for clip in ("h264_bframes.mp4", "hevc.mp4")]

    frames, pts = ndd.tricodec.decode_video(data[0], start=2, count=3, size=(40, 50))
    batch, _ = ndd.tricodec.decode_video(ndd.batch(data), start=ndd.batch([1, 6]), count=2)

    expected = tricodec.decode_video(generated("h264_bframes.mp4"), start=2, count=3, size=(40, 50))
    assert np.array_equal(np.array(frames.cpu()), expected.frames)
    assert np.array_equal(np.array(pts.cpu()), expected.pts_seconds)
    for sample, clip, start in zip(batch.evaluate().tensors, ("h264_bframes.mp4", "hevc.mp4"), (1, 6), strict=True):
        expected = tricodec.decode_video(generated(clip), start=start, count=2)
        assert np.array_equal(np.array(sample.cpu()), expected.frames)


CLIPS = {
    "h264_bframes.mp4": "h264", "h264_open_gop.mkv": "h264", "hevc.mp4": "hevc", "hevc10.mkv": "hevc",
    "vp8.webm": "vp8", "vp9.webm": "vp9", "av1.mp4": "av1",
    "mpeg4.avi": "mpeg4", "mpeg2.ts": "mpeg2video", "mjpeg.avi": "mjpeg",
}  # fmt: skip


def packets_of(clip: Path) -> tuple[list[bytes], list[float]]:
    """The packets and times that PyAV reads, H.264 and HEVC as Annex B."""
    with av.open(str(clip)) as container:
        stream = container.streams.video[0]
        name = {"h264": "h264_mp4toannexb", "hevc": "hevc_mp4toannexb"}.get(stream.codec_context.name, "null")
        rewrite = av.bitstream.BitStreamFilterContext(name, stream)
        rewritten = [each for packet in container.demux(stream) if packet.size for each in rewrite.filter(packet)]
        headers = stream.codec_context.extradata if stream.codec_context.name == "mpeg4" else None
        packets = [bytes(packet) for packet in rewritten]
        if headers and not packets[0].startswith(headers):
            packets[0] = headers + packets[0]
        return packets, [
            float("nan") if packet.pts is None else float(packet.pts * packet.time_base) for packet in rewritten
        ]


def decode_packets(
    samples: list[tuple[list[bytes], list[float] | None]] | list[tuple[list[bytes], list[float]]],
    codec: str,
    **words: Any,
) -> list[Decoded]:
    """One batch through a pipeline of its own."""
    data = [np.frombuffer(b"".join(packets), np.uint8).copy() for packets, _ in samples]
    words = {"packet_sizes": PerSample([len(packet) for packet in packets] for packets, _ in samples)} | words
    if samples[0][1] is not None:
        words["packet_pts"] = PerSample(np.array(times) for _, times in samples)
    return collect(operator_pipeline("decode_video", data, codec=codec, **words).run())


@pytest.mark.parametrize("clip", CLIPS)
def test_decode_video_decodes_packets_to_the_frames_of_their_file(clip: str) -> None:
    packets, times = packets_of(generated(clip))
    expected = tricodec.decode_video(generated(clip), device="cpu")
    known = not np.isnan(times).all()  # AVI has no times

    (decoded,) = decode_packets([(packets, times if known else None)], CLIPS[clip])

    assert decoded.frames.shape == expected.frames.shape
    assert decoded.frames.tobytes() == expected.frames.tobytes()
    if known:
        np.testing.assert_allclose(decoded.pts, expected.pts_seconds, atol=1e-9)


def test_decode_video_takes_packets_of_several_streams_and_every_other_argument() -> None:
    samples = [packets_of(generated(clip)) for clip in ("h264_bframes.mp4", "h264_open_gop.mkv")]

    decoded = decode_packets(samples, "h264", start=5, stride=3, count=4, size=(40, 60), layout="CHW")

    for sample, clip in zip(decoded, ("h264_bframes.mp4", "h264_open_gop.mkv"), strict=True):
        expected = tricodec.decode_video(
            generated(clip), device="cpu", start=5, stride=3, count=4, size=(40, 60), layout="CHW"
        )
        assert sample.frames.tobytes() == expected.frames.tobytes()


REFUSED: dict[str, tuple[dict[str, Any], type[Exception], str]] = {
    "codec": ({"codec": "theora"}, ValueError, "theora"),
    "needs_a_container": ({"codec": "vc1"}, RuntimeError, "packets of vc1 need a container; accepted are h264"),
    "sizes": ({"sizes": [10, 10**9]}, ValueError, "packet 1 has 1000000000 bytes by packet_sizes, and the input has"),
    "short": ({"sizes": [10]}, ValueError, "packet_sizes add up to 10 bytes, and the input has"),
    "times": ({"times": [0.0]}, ValueError, "packet_pts has 1 times, and packet_sizes 50 sizes"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_packets_that_do_not_fit_are_an_error(case: str) -> None:
    words, error, message = REFUSED[case]
    packets, _ = packets_of(generated("h264_bframes.mp4"))
    sizes = words.get("sizes", [len(packet) for packet in packets])
    samples = [(packets, words.get("times"))]

    with pytest.raises(error, match=message):
        decode_packets(samples, words.get("codec", "h264"), packet_sizes=[int(size) for size in sizes])


PROMISED = 30
LEFT = 29


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


def test_decode_video_raises_for_a_count_that_is_not_there_or_empties_its_sample() -> None:
    shortened = damaged_clips.without_frame_15()
    pipe = pipeline([shortened], count=PROMISED)
    with pytest.raises(IndexError, match=rf"Sample 0 .*{PROMISED} frames .*has {LEFT} frames"):
        pipe.run()

    short, whole = decode([shortened, generated("h264_bframes.mp4")], count=PROMISED, size=(36, 64), on_error="empty")

    assert short.frames.shape == (0, 36, 64, 3)
    assert whole.frames.shape == (PROMISED, 36, 64, 3)


def test_read_video_raises_for_a_sequence_with_a_frame_that_is_not_there_or_empties_it(tmp_path: Path) -> None:
    path = tmp_path / "shortened.mp4"
    path.write_bytes(damaged_clips.without_frame_15())
    words: dict[str, Any] = {"batch_size": 1, "filenames": str(path), "sequence_length": PROMISED}
    with pytest.raises(IndexError, match=rf"shortened\.mp4.*frame {LEFT} .*has {LEFT} frames"):
        reading_pipeline(**words).run()

    (batch,) = read_batches(1, on_error="empty", **words)

    assert batch[0].frames.shape[0] == 0
