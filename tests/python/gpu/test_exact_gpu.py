# SPDX-License-Identifier: Apache-2.0
"""What a GPU decodes and transforms is what the CPU does, bit for bit; the CPU's frames are held against ffmpeg's."""

from __future__ import annotations

import itertools
import random
from pathlib import Path
from typing import Any

import media
import numpy as np
import pytest
import tricodec
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
