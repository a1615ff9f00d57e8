# SPDX-License-Identifier: Apache-2.0
"""DALI's operators on a GPU give the bytes of the CPU."""

from __future__ import annotations

import contextlib
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tricodec
from dali_testing import (
    Decoded,
    Sequence,
    collect,
    constant_source,
    decode,
    pipeline,
    read,
    read_batches,
    reading_pipeline,
)
from media import generated

pytestmark = [pytest.mark.needs_dali, pytest.mark.needs_gpu]
DECODED_BY_NVDEC = ["h264_bframes.mp4", "hevc.mp4", "hevc10.mkv", "vp9.webm", "vp8.webm", "h264_318x178.mp4"]


#: Another depth, codec or chroma than an H200 decodes, or one that leaves rounding to decoders.
DECODED_BY_CPU = ["h264_420_10.mkv", "h264_422_10.mkv", "av1.mp4", "h264_444.mp4", "vp9_odd.webm"]

MODEL_INPUT: dict[str, Any] = {
    "size": (64, 48),
    "layout": "CHW",
    "mean": [0.485, 0.456, 0.406],
    "std": [0.229, 0.224, 0.225],
}


def mixed(clips: list[Path | bytes], *, runs: int = 1, **arguments: Any) -> list[Decoded]:
    """One batch through a pipeline on the GPU, copied to the host; the last of several equal runs."""
    pipe = pipeline(clips, num_threads=4, options={"device_id": 0, "exec_dynamic": True}, device="mixed", **arguments)
    for _ in range(runs):
        outputs = pipe.run()
    return collect(outputs)


def expect_equal(actual: list[Decoded], expected: list[Decoded]) -> None:
    assert len(actual) == len(expected)
    for mine, reference in zip(actual, expected, strict=True):
        assert mine.layout == reference.layout
        np.testing.assert_array_equal(mine.frames, reference.frames)
        np.testing.assert_array_equal(mine.pts, reference.pts)


@pytest.mark.parametrize("name", DECODED_BY_NVDEC + DECODED_BY_CPU)
def test_decode_video_mixed_gives_the_frames_of_the_cpu(name: str) -> None:
    clips: list[Path | bytes] = [generated(name)]

    expect_equal(mixed(clips), decode(clips))


@pytest.mark.parametrize("dtype", ["FLOAT16", "FLOAT"])
def test_decode_video_mixed_gives_the_model_input_of_the_cpu_for_a_batch_of_many_codecs(dtype: str) -> None:
    from nvidia.dali import types

    clips: list[Path | bytes] = [generated(name) for name in DECODED_BY_NVDEC + DECODED_BY_CPU] * 2
    request = MODEL_INPUT | {"dtype": getattr(types, dtype), "stride": 3}

    expect_equal(mixed(clips, runs=3, **request), decode(clips, **request))


def test_decode_video_mixed_empties_or_names_the_sample_that_cannot_be_decoded() -> None:
    clips: list[Path | bytes] = [generated("h264_bframes.mp4"), bytes(range(256)) * 20, generated("hevc.mp4")]

    expect_equal(mixed(clips, on_error="empty", count=3), decode(clips, on_error="empty", count=3))
    with pytest.raises(RuntimeError, match="Sample 1 of the batch of 3"):
        mixed(clips)


@pytest.mark.parametrize("format", ["nv12", "p010le", "yuv420p", "yuv444p", "gray"])
@pytest.mark.parametrize("request_name", ["plain", "model", "half", "crops"])
def test_transform_on_the_gpu_gives_the_bytes_of_the_cpu(format: str, request_name: str) -> None:
    import tricodec.dali  # noqa: F401  (registers the operators)
    from nvidia.dali import Pipeline, fn, types

    height, width, num_frames = 96, 128, 5
    shape = {"yuv444p": (3, height, width), "gray": (height, width)}.get(format, (height * 3 // 2, width))
    random = np.random.default_rng(3)
    wide = format == "p010le"
    top = 1 << (10 if wide else 8)
    samples = [random.integers(0, top, (num_frames, *shape)) << (6 if wide else 0) for _ in range(3)]
    samples = [sample.astype(np.uint16 if wide else np.uint8) for sample in samples]
    request: dict[str, Any] = {
        "plain": {},
        "model": MODEL_INPUT | {"dtype": types.FLOAT},
        "half": {"dtype": types.FLOAT16, "layout": "CHW"},
        "crops": {"size": (33, 21)},
    }[request_name]

    pipe = Pipeline(batch_size=3, num_threads=2, device_id=0)
    with pipe:
        frames = fn.external_source(source=constant_source(samples), batch=True)
        if request_name == "crops":
            crops = [np.array(crop) for crop in ([0, 0, 96, 128], [5, 7, 40, 60], [5, 7, 40, 60])]
            request = request | {"crop": fn.external_source(source=constant_source(crops), batch=True)}
        on_cpu = fn.tricodec.transform(frames, format=format, **request)
        on_gpu = fn.tricodec.transform(frames.gpu(), format=format, **request)
        pipe.set_outputs(on_cpu, on_gpu)
    pipe.build()
    for _ in range(2):
        expected, actual = pipe.run()
    assert actual.layout() == expected.layout()
    actual = actual.as_cpu()
    for i in range(3):
        np.testing.assert_array_equal(np.array(actual.at(i)), np.array(expected.at(i)))


@pytest.mark.alone
@pytest.mark.needs_torch
def test_decode_video_mixed_is_ordered_on_a_busy_stream_without_waiting_for_it() -> None:
    """The outputs are taken on a stream that is at work, by DALI's own order of streams; the host waits for nothing.

    The driver would, for all work on the GPU, where it makes a decoder or loads kernels: decoders are there before. And
    a GPU has few queues for streams: tools/gpu_check.sh asks for as many as can be.
    """
    import torch
    import tricodec.dali
    from nvidia.dali import Pipeline, fn

    clips: list[Path | bytes] = [generated("h264_bframes.mp4"), generated("hevc.mp4")] * 2
    pipe = Pipeline(batch_size=len(clips), num_threads=4, device_id=0, exec_dynamic=True)
    with pipe:
        encoded = fn.external_source(source=constant_source([read(clip) for clip in clips]), batch=True)
        pipe.set_outputs(*fn.tricodec.decode_video(encoded, device="mixed", size=(64, 48)))
    pipe.build()
    expected = decode(clips, size=(64, 48))
    with contextlib.ExitStack() as readers:
        at_work = [iter(readers.enter_context(tricodec.FrameReader(clip, device="cuda"))) for clip in clips]
        for frames in at_work:
            next(frames)
    side = torch.cuda.Stream()
    with torch.cuda.stream(side):
        copies, held = [], []
        for number in range(6):
            if number == 3:  # kernels are loaded and DALI's memory is taken by now
                side.synchronize()
                torch.cuda._sleep(int(2e9))  # about a second
            outputs = pipe.run(side)
            held.append(outputs)  # until the stream has read them
            copies.append([torch.from_dlpack(outputs[0][i]).clone() for i in range(len(clips))])
        busy = not side.query()
    side.synchronize()

    assert busy, "a run waited for the stream"
    for batch in copies:
        for copy, reference in zip(batch, expected, strict=True):
            np.testing.assert_array_equal(copy.cpu().numpy(), reference.frames)


ALGORITHMS = ["LZ4", "Snappy", "GDeflate", "Deflate", "Gzip", "Zstd", "Bitcomp", "Cascaded"]
EXECUTORS = [True, False]


def run(batch: list[np.ndarray], build: Any, *, exec_dynamic: bool = True, runs: int = 2) -> list[np.ndarray]:
    """The samples that `build` makes of a batch on the CPU, copied to the host; the last of several equal runs."""
    import tricodec.dali  # noqa: F401  (registers the operators)
    from nvidia.dali import Pipeline, fn

    pipe = Pipeline(batch_size=len(batch), num_threads=4, device_id=0, exec_dynamic=exec_dynamic)
    with pipe:
        pipe.set_outputs(build(fn.external_source(source=constant_source(batch), batch=True)))
    pipe.build()
    for _ in range(runs):
        (output,) = pipe.run()
    output = output.as_cpu()
    return [np.array(output.at(i)) for i in range(len(batch))]


def operator(name: str, **arguments: Any) -> Any:
    def build(data: Any) -> Any:
        from nvidia.dali import fn

        return getattr(fn.tricodec, name)(data, **arguments)

    return build


def on_gpu(name: str, **arguments: Any) -> Any:
    return lambda data: operator(name, **arguments)(data.gpu())


def arrays() -> list[np.ndarray]:
    walk = np.cumsum(np.random.default_rng(2).integers(-2, 3, (3000, 40)), axis=0).astype("<i4")
    return [walk, walk[:1], walk[:0], walk[:777], *(walk[n : n + 64] for n in range(20))]


@pytest.mark.parametrize("exec_dynamic", EXECUTORS, ids=["dynamic", "static"])
@pytest.mark.parametrize("algorithm", [*ALGORITHMS, "ANS"])
def test_arrays_are_compressed_on_the_gpu_and_come_back(algorithm: str, exec_dynamic: bool) -> None:
    batch = arrays() if algorithm != "ANS" else [array for array in arrays() if array.size]

    packed = run(batch, on_gpu("compress", algorithm=algorithm), exec_dynamic=exec_dynamic)
    if algorithm != "ANS":  # which only GPUs do
        codec = tricodec.Codec(algorithm=algorithm, device="cpu")
        assert [bytes(codec.decode(sample)) for sample in packed] == [array.tobytes() for array in batch]

    for build in (operator("decompress", device="mixed", trusted=True), on_gpu("decompress", trusted=True)):
        restored = run(packed, build, exec_dynamic=exec_dynamic)
        assert [sample.tobytes() for sample in restored] == [array.tobytes() for array in batch]


@pytest.mark.parametrize("trusted", [True, False], ids=["trusted", "not"])
@pytest.mark.parametrize("dtype", ["|u1", "<f2", "<f4", "<i8"])
def test_headers_keep_dtype_and_shape(dtype: str, trusted: bool) -> None:
    batch = [array.astype(dtype) for array in arrays()[:4]]

    packed = run(batch, on_gpu("compress", algorithm="LZ4", header=True))
    codec = tricodec.Codec(algorithm="LZ4", device="cpu")
    for sample, array in zip(packed, batch, strict=True):
        np.testing.assert_array_equal(codec.decode_npy(sample), array)

    words = {"header": True, "trusted": trusted}
    for build in (operator("decompress", device="mixed", **words), on_gpu("decompress", **words)):
        for sample, array in zip(run(packed, build), batch, strict=True):
            assert (sample.dtype, sample.shape) == (array.dtype, array.shape)
            np.testing.assert_array_equal(sample, array)


@pytest.mark.parametrize("trusted", [True, False], ids=["trusted", "not"])
@pytest.mark.parametrize("device", ["mixed", "gpu"])
def test_damaged_headers_name_the_sample_and_leave_the_gpu_usable(device: str, trusted: bool) -> None:
    good = np.asarray(tricodec.Codec(algorithm="LZ4", device="cpu").encode(np.arange(9000))).copy()
    bad = good.copy()
    bad[16:24] = 0xFF  # the number of bytes
    words = {"trusted": trusted}
    build = operator("decompress", device="mixed", **words) if device == "mixed" else on_gpu("decompress", **words)

    with pytest.raises(RuntimeError, match="Sample 1 of the batch of 3"):
        run([good, bad, good], build)
    assert run([good], build)[0].nbytes == 72_000


CLIPS = ["h264_bframes.mp4", "vp9.webm"]


def encodes_on_gpu() -> bool:
    return tricodec.encode.encoder_for("h264", "auto").endswith("_nvenc")


def encoded_on_gpu(codec: str = "libx264", **decoding: Any) -> list[bytes]:
    """Decoded and encoded in one pipeline of the GPU, the last of two runs; files copied to the host."""
    import tricodec.dali  # noqa: F401  (registers the operators)
    from nvidia.dali import Pipeline, fn

    pipe = Pipeline(batch_size=len(CLIPS), num_threads=4, device_id=0, exec_dynamic=True)
    described = {key: decoding[key] for key in ("color", "layout", "format") if key in decoding}
    with pipe:
        encoded = fn.external_source(source=constant_source([read(generated(name)) for name in CLIPS]), batch=True)
        frames, _ = fn.tricodec.decode_video(encoded, device="mixed", count=6, **decoding)
        files = fn.tricodec.encode_video(frames, device="gpu", codec=codec, frame_rate=25.0, gop_size=4, **described)
        pipe.set_outputs(files)
    pipe.build()
    for _ in range(2):
        (files,) = pipe.run()
    host = files.as_cpu()
    return [bytes(host.at(i)) for i in range(len(CLIPS))]


@pytest.mark.parametrize(
    "decoding",
    [{}, {"layout": "CHW"}, {"color": "bgr"}, {"color": "gray"}, {"size": (64, 96)}],
    ids=str,
)
def test_the_cpu_encodes_frames_of_the_gpu_to_the_bytes_of_the_cpu(decoding: dict[str, Any]) -> None:
    described = {key: decoding[key] for key in ("color", "layout") if key in decoding}

    files = encoded_on_gpu(**decoding)

    for file, name in zip(files, CLIPS, strict=True):
        frames = tricodec.decode_video(generated(name), device="cpu", count=6, **decoding).frames
        assert file == tricodec.encode_video(
            frames, codec="libx264", device="cpu", frame_rate=25.0, gop_size=4, **described
        )


def test_who_encodes_is_the_gpu_if_it_can() -> None:
    (file, _) = encoded_on_gpu("h264")

    reader = tricodec.FrameReader(file, device="cpu")
    assert len(reader) == 6
    # x264 signs its streams.
    assert (b"x264" in file) is not encodes_on_gpu()


def expect_equal_sequences(actual: list[list[Sequence]], expected: list[list[Sequence]]) -> None:
    for mine, reference in zip(chain(*actual), chain(*expected), strict=True):
        assert mine.layout == reference.layout
        assert mine.source == reference.source
        np.testing.assert_array_equal(mine.frames, reference.frames)
        np.testing.assert_array_equal(mine.pts, reference.pts)
        assert len(mine.more) == len(reference.more)
        for one, other in zip(mine.more, reference.more, strict=True):
            assert one.dtype == other.dtype
            np.testing.assert_array_equal(one, other)


def on_both(num_batches: int, **arguments: Any) -> None:
    expected = read_batches(num_batches, **arguments)
    expect_equal_sequences(read_batches(num_batches, device="gpu", **arguments), expected)


@pytest.mark.parametrize("max_open_files", [0, 2, 16])
def test_read_video_on_the_gpu_gives_shuffled_sequences_of_many_files(max_open_files: int) -> None:
    from nvidia.dali import types

    on_both(
        8, batch_size=6, filenames=[str(generated(name)) for name in DECODED_BY_NVDEC + DECODED_BY_CPU], labels=[],
        sequence_length=5, stride=2, step=4, random_shuffle=True, seed=7, max_open_files=max_open_files, size=(64, 48),
        dtype=types.FLOAT16, layout="CHW", enable_frame_num=True,
    )  # fmt: skip


@pytest.mark.parametrize("pad_mode", ["constant", "edge", "reflect_101"])
@pytest.mark.parametrize("dtype", ["UINT8", "FLOAT16", "FLOAT"])
def test_read_video_on_the_gpu_fills_up_the_last_sequence(pad_mode: str, dtype: str) -> None:
    from nvidia.dali import types

    on_both(
        1, batch_size=2, filenames=str(generated("hevc.mp4")), sequence_length=46, pad_mode=pad_mode, fill_value=9,
        size=(32, 48), dtype=getattr(types, dtype), enable_frame_num="sequence",
    )  # fmt: skip


@pytest.mark.parametrize(("name", "format"), [("h264_bframes.mp4", "nv12"), ("hevc10.mkv", "p010le")])
def test_read_video_on_the_gpu_gives_raw_frames(name: str, format: str) -> None:
    on_both(3, batch_size=2, filenames=str(generated(name)), sequence_length=6, format=format)


def test_read_video_on_the_gpu_goes_on_from_a_checkpoint() -> None:
    words: dict[str, Any] = {
        "device": "gpu", "filenames": str(generated("hevc.mp4")), "labels": [3], "sequence_length": 5, "size": (32, 32),
        "random_shuffle": True, "enable_frame_num": True, "batch_size": 3,
    }  # fmt: skip

    def numbers(pipe: Any) -> list[int]:
        return [int(value) for _ in range(6) for value in pipe.run()[3].as_cpu().as_array().ravel()]

    pipe = reading_pipeline(options={"enable_checkpointing": True}, **words)
    pipe.run()
    saved = pipe.checkpoint()
    expected = numbers(pipe)

    assert numbers(reading_pipeline(options={"enable_checkpointing": True, "checkpoint": saved}, **words)) == expected
