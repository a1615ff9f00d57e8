# SPDX-License-Identifier: Apache-2.0
"""What a GPU decodes and transforms is what the CPU does, bit for bit; the CPU's frames are held against ffmpeg's."""

from __future__ import annotations

import itertools
import os
import random
from pathlib import Path
from typing import Any

import cropped_clips
import hostile_packets
import isolated
import media
import numpy as np
import pytest
import tricodec
from cropped_clips import Kind
from exact_encoded import NotInThisFfmpeg
from exact_streams import STREAMS, ExactStream, frames_of
from media_recipes import RECIPES

REQUESTS: list[dict[str, Any]] = [
    {},
    {"size": (112, 96), "dtype": "float16", "layout": "CHW", "mean": (0.5, 0.4, 0.3), "std": (0.2, 0.3, 0.4)},
    {"dtype": "float32", "color": "yuv", "layout": "CHW"},
]

_AT_ONCE = 32


# Not to be read, or damaged: what is made up where data are missing is each decoder's own.
_LEFT_OUT = ("truncated", "zeroed", "flipped", "audio_only")

CLIPS = [
    *(pytest.param(name, id=name) for name in RECIPES if not name.startswith(_LEFT_OUT)),
    *(pytest.param(clip.path, id=clip.name) for clip in media.manifest()),
]


def path_of(clip: str | Path) -> Path:
    return media.generated(clip) if isinstance(clip, str) else clip


def readers(clip: str | Path) -> tuple[tricodec.FrameReader, tricodec.FrameReader]:
    """On the GPU and on the CPU. Skips what the GPU leaves to the CPU, and real clips that turn out to be damaged."""
    on_gpu, on_cpu = tricodec.FrameReader(path_of(clip)), tricodec.FrameReader(path_of(clip), device="cpu")
    for _ in on_cpu:
        pass
    if on_cpu.issues:
        pytest.skip("not for this GPU: damaged, and what is made up where data are missing is each decoder's own")
    on_gpu.frames([0])  # only decoding shows that the GPU cannot do some streams
    if on_gpu.device == "cpu":
        pytest.skip(f"not for this GPU: it leaves it to {on_gpu.engine}")
    return on_gpu, on_cpu


@pytest.mark.parametrize("clip", CLIPS)
def test_frames_are_those_of_the_cpu(clip: str | Path) -> None:
    on_gpu, on_cpu = readers(clip)

    frames = list(on_gpu)

    expected = list(on_cpu)
    assert len(frames) == len(expected) > 0
    if path_of(clip).suffix != ".avi":  # which has no presentation times: each decoder makes up its own
        assert [frame.pts for frame in frames] == [frame.pts for frame in expected]
    assert [frame.key for frame in frames] == [frame.key for frame in expected]
    for found, wanted in zip(frames, expected, strict=True):
        assert found.md5() == wanted.convert(found.format).md5(), f"frame {wanted.index}"
    order = random.Random(7).choices(range(len(frames)), k=12)  # back and forth, from any place in a GOP
    assert [on_gpu[i].md5() for i in order] == [frames[i].md5() for i in order]
    assert [frame.md5() for frame in on_gpu.iterate(start=3, stride=7)] == [frame.md5() for frame in frames[3::7]]


@pytest.mark.parametrize("clip", CLIPS)
def test_batches_are_those_of_the_cpu(clip: str | Path) -> None:
    on_gpu, on_cpu = readers(clip)
    # All frames, a piece at a time: whole videos of float32 fill the host's memory.
    for request, start in itertools.product(REQUESTS, range(0, len(on_cpu), _AT_ONCE)):
        part = slice(start, start + _AT_ONCE)
        try:
            wanted = on_cpu.batch(part, **request)
        except tricodec.UnsupportedError:
            pytest.skip("not for this GPU: its frames are of several sizes")

        found = on_gpu.batch(part, **request)

        assert isinstance(found, tricodec.DeviceArray)
        np.testing.assert_array_equal(found.numpy(), wanted, err_msg=f"{request}, frames from {start} on")


@pytest.mark.parametrize("dtype", ["uint8", "float16", "bfloat16", "float32"])
def test_every_way_to_a_batch_gives_the_same_bytes(dtype: str) -> None:
    if dtype == "bfloat16":
        pytest.importorskip("ml_dtypes")
    clip = media.generated("h264_bframes.mp4")
    options: dict[str, Any] = {"size": (90, 160), "dtype": dtype, "layout": "CHW"}
    wanted = tricodec.decode_video(clip, device="cpu", **options).frames
    reader = tricodec.FrameReader(clip, device="cuda")
    transform = tricodec.Transform(**options)

    ways = {
        "batch": reader.batch(slice(None), transform).numpy(),
        "pinned": reader.batch(slice(None), transform, pinned=True),
        "host out": reader.batch(slice(None), transform, np.empty_like(wanted)),
        "strided host out": reader.batch(slice(None), transform, np.empty((50, 3, 90, 320), wanted.dtype)[..., ::2]),
        "batches": np.concatenate([part.numpy() for part in reader.batches(7, transform)]),
        "pinned batches": np.concatenate(list(reader.batches(16, transform, pinned=True))),
        "frames": np.stack([transform(frame).numpy() for frame in reader]),
        "list of frames": transform(reader[:]).numpy(),
        "frames to the host": np.stack([transform(frame, pinned=True) for frame in reader]),
        "uploaded": np.stack([transform(frame.cpu().to("cuda")).numpy() for frame in reader]),
        "decode_video": tricodec.decode_video(clip, device="cuda", **options).frames.numpy(),
    }

    for way, found in ways.items():
        assert found.tobytes() == wanted.tobytes(), way


def test_a_stream_that_the_gpu_does_not_decode_exactly_goes_to_the_cpu_and_says_so() -> None:
    reader = tricodec.FrameReader(media.generated("mpeg2.ts"))

    assert (reader.device, reader.engine.split()[0]) == ("cpu", "libavcodec")
    assert isinstance(reader.batch([0]), np.ndarray)
    assert tricodec.FrameReader(media.generated("h264_bframes.mp4")).engine.startswith("NVDEC h264")


def test_pixels_of_ten_bits_are_in_the_high_bits() -> None:
    clip = media.generated("hevc10.mkv")
    frame = tricodec.FrameReader(clip, device="cuda")[5]
    host = tricodec.FrameReader(clip, device="cpu")[5]

    assert frame.format == "p010le"
    np.testing.assert_array_equal(np.asarray(frame.cpu().planes[0]), np.asarray(host.planes[0]) << 6)


@pytest.mark.parametrize("stream", STREAMS, ids=lambda stream: stream.name)
def test_every_frame_has_its_md5(stream: ExactStream) -> None:
    try:
        engine, found, expected = frames_of(stream, "auto")
    except NotInThisFfmpeg as error:
        pytest.skip(f"not for this GPU: {error}")
    if stream.known and not engine.startswith("NVDEC"):
        pytest.skip(f"not for this GPU: the CPU decodes it, and differs: {stream.known}")

    assert found == expected, engine


# What every NVDEC decodes; the others go to the CPU, which test_frame_exactness.py is about.
KINDS = [
    Kind("h264", "yuv420p"),
    Kind("h264", "yuv420p", interlaced=True),
    Kind("hevc", "yuv420p"),
    Kind("hevc", "yuv420p10le"),
    Kind("hevc", "yuv444p"),
]

CROPS = [(kind, crop) for kind, crop in cropped_clips.CASES if kind in KINDS]


def expect_the_cpus_frames(path: Path, device: str) -> tricodec.FrameReader:
    """Reads in order and at random, and returns the reader."""
    with tricodec.FrameReader(path, device="cpu") as reader:
        expected = list(reader)
    on_gpu = tricodec.FrameReader(path, device=device)

    frames = list(on_gpu)

    sizes = [(frame.width, frame.height, frame.pts, frame.key, frame.picture_type) for frame in frames]
    assert sizes == [(frame.width, frame.height, frame.pts, frame.key, frame.picture_type) for frame in expected]
    for found, wanted in zip(frames, expected, strict=True):
        assert found.md5() == wanted.convert(found.format).md5(), wanted.index
    for i in (len(frames) // 2, 1, len(frames) - 1):
        assert on_gpu[i].md5() == expected[i].convert(on_gpu[i].format).md5(), i
    assert not on_gpu.issues
    return on_gpu


@pytest.mark.parametrize(("kind", "crop"), CROPS, ids=cropped_clips.case_id)
def test_cropped_pictures_are_the_cpus(kind: Kind, crop: tuple[int, int, int, int], tmp_path: Path) -> None:
    reader = expect_the_cpus_frames(cropped_clips.cropped(kind, crop, tmp_path), "cuda")

    assert reader.device == "cuda:0"


@pytest.mark.parametrize("name", ["vp9_shown_again.ivf", "vp9_shown_again.webm"])
def test_pictures_of_vp9_that_are_shown_again_are_the_cpus(name: str) -> None:
    reader = expect_the_cpus_frames(media.generated(name), "cuda")

    assert reader.device == "cuda:0"


# Size, macroblocks a slice, and the slices of a picture that follow from them.
SLICES = [
    ("320x192", 1, 240),
    ("320x192", 2, 120),
    ("640x352", 1, 880),
    ("640x352", 4, 220),
    ("1280x720", 1, 3600),
    ("1280x720", 8, 450),
    ("1920x1088", 1, 8160),
    ("1920x1088", 4, 2040),
    ("1920x1088", 120, 68),
]


def sliced(size: str, macroblocks: int, folder: Path, *, first: str = "") -> Path:
    """A clip of slices of so many macroblocks, after `first`, the options of pictures that come before it."""
    encode = f"-f lavfi -i testsrc2=size={size}:rate=25 -threads 1"
    codec = "-pix_fmt yuv420p -c:v libx264 -preset ultrafast -f h264 -x264-params"
    parts = [f"-frames:v 12 {codec} keyint=6:bframes=2:slice-max-mbs={macroblocks}"]
    if first:
        parts.insert(0, f"-frames:v 80 {codec} {first}")
    path = folder / f"sliced-{size}-{macroblocks}.h264"
    path.write_bytes(b"".join(media.ffmpeg(encode, options, "-") for options in parts))
    return path


@pytest.mark.parametrize(("size", "macroblocks", "num_slices"), SLICES)
def test_pictures_of_many_slices_are_the_cpus(size: str, macroblocks: int, num_slices: int, tmp_path: Path) -> None:
    """Run with -s to see how many slices this driver takes: past that the CPU decodes."""
    reader = expect_the_cpus_frames(sliced(size, macroblocks, tmp_path), "auto")

    print(f"{size}, {num_slices} slices a picture: {reader.engine}")


@pytest.mark.parametrize("keyint", [12, 250])
def test_the_cpu_takes_over_at_pictures_of_too_many_slices_wherever_they_are(keyint: int, tmp_path: Path) -> None:
    path = sliced("1280x720", 1, tmp_path, first=f"keyint={keyint}:bframes=2")

    reader = expect_the_cpus_frames(path, "auto")

    print(f"3600 slices after 80 pictures of one: {reader.engine}")


DRIVER = Path(hostile_packets.__file__)
STREAMS = int(os.environ.get("TRICODEC_GPU_FUZZ_STREAMS", "2000"))


@pytest.mark.needs_gpu
def test_damaged_packets_leave_the_context_alive_and_good_streams_exact(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TRICODEC_FUZZ_DEVICE", "cuda:0")

    assert isolated.faults(DRIVER, 0, STREAMS) == []
