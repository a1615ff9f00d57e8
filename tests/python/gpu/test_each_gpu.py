# SPDX-License-Identifier: Apache-2.0
"""Every GPU of the machine gives the CPU's results, in its own memory, whichever GPU the caller works on.

On a machine with one GPU these are tests of that one; none is skipped.
"""

from __future__ import annotations

from typing import Any

import media
import numpy as np
import PyNvVideoCodec as nvc
import pytest
import tricodec
from dali_testing import constant_source, decode, read
from tricodec import nvcomp

CLIP = "h264_bframes.mp4"
MODEL_INPUT: dict[str, Any] = {"size": (64, 96), "dtype": "float16", "layout": "CHW"}


def count_gpus() -> int:
    """How many GPUs can be asked for; where there is none, the tests are skipped by another word."""
    count = 0
    while True:
        try:
            tricodec.resolve_device(f"cuda:{count}")
        except tricodec.DeviceError:
            return max(count, 1)
        count += 1


GPUS = range(count_gpus())


@pytest.fixture
def expected() -> np.ndarray:
    return np.asarray(tricodec.decode_video(media.generated(CLIP), device="cpu", **MODEL_INPUT).frames)


@pytest.mark.parametrize("gpu", GPUS)
@pytest.mark.parametrize("name", [CLIP, "hevc10.mkv", "vp9.webm"])
def test_frames_are_those_of_the_cpu(gpu: int, name: str) -> None:
    reader = tricodec.FrameReader(media.generated(name), device=f"cuda:{gpu}")

    frames = list(reader)

    wanted = list(tricodec.FrameReader(media.generated(name), device="cpu"))
    assert reader.device == f"cuda:{gpu}"
    assert {frame.__dlpack_device__() for frame in frames} == {(2, gpu)}
    assert [frame.md5() for frame in frames] == [one.convert(frames[0].format).md5() for one in wanted]


@pytest.mark.needs_torch
@pytest.mark.parametrize("current", GPUS)
@pytest.mark.parametrize("gpu", GPUS)
def test_the_callers_current_gpu_is_neither_used_nor_changed(gpu: int, current: int, expected: np.ndarray) -> None:
    import torch

    out = torch.zeros(expected.shape, dtype=torch.float16, device=f"cuda:{gpu}")
    with torch.cuda.device(current):
        reader = tricodec.FrameReader(media.generated(CLIP), device=f"cuda:{gpu}")
        tensor = torch.from_dlpack(reader.batch(slice(None), **MODEL_INPUT))
        reader.batch(slice(None), **MODEL_INPUT, out=out)
        after = torch.cuda.current_device()

    assert after == current
    assert tensor.device == torch.device("cuda", gpu)
    np.testing.assert_array_equal(tensor.cpu().numpy(), expected)
    np.testing.assert_array_equal(out.cpu().numpy(), expected)


@pytest.mark.needs_torch
@pytest.mark.parametrize("gpu", GPUS)
def test_pynvvideocodecs_gpu_id_is_taken(gpu: int) -> None:
    import torch

    decoder = nvc.SimpleDecoder(str(media.generated(CLIP)), gpu_id=gpu, use_device_memory=True)

    frames = [decoder[index] for index in range(5)]

    wanted = tricodec.FrameReader(media.generated(CLIP), device="cpu")
    for index, frame in enumerate(frames):
        tensor = torch.from_dlpack(frame)
        assert tensor.device == torch.device("cuda", gpu)
        assert tensor.cpu().numpy().tobytes() == bytes(wanted[index].convert("nv12").pack())


@pytest.mark.needs_torch
@pytest.mark.parametrize("gpu", GPUS)
@pytest.mark.parametrize("algorithm", ["LZ4", "Zstd", "Cascaded"])
def test_arrays_are_compressed_and_decompressed_on_it(gpu: int, algorithm: str) -> None:
    import torch

    data = np.arange(300_000, dtype=np.int32) // 7
    codec = nvcomp.Codec(algorithm=algorithm, device=f"cuda:{gpu}")

    packed = codec.encode(nvcomp.as_array(torch.from_numpy(data).to(f"cuda:{gpu}")))
    unpacked = codec.decode(packed)

    assert packed.__dlpack_device__() == unpacked.__dlpack_device__() == (2, gpu)
    assert bytes(nvcomp.Codec(algorithm=algorithm, device="cpu").decode(packed.cpu()).cpu()) == data.tobytes()
    assert bytes(unpacked.cpu()) == data.tobytes()


@pytest.mark.needs_dali
@pytest.mark.parametrize("gpu", GPUS)
def test_dalis_device_id_is_taken(gpu: int) -> None:
    import tricodec.dali  # noqa: F401  (registers the operators)
    from nvidia.dali import Pipeline, fn

    clips = [media.generated(CLIP), media.generated("hevc.mp4")]
    pipe = Pipeline(batch_size=len(clips), num_threads=2, device_id=gpu)
    with pipe:
        encoded = fn.external_source(source=constant_source([read(clip) for clip in clips]), batch=True)
        frames, _ = fn.tricodec.decode_video(encoded, device="mixed", size=(48, 64))
        pipe.set_outputs(frames, fn.tricodec.compress(frames.gpu(), algorithm="LZ4"))
    pipe.build()

    found, _ = pipe.run()

    for index, sample in enumerate(decode(clips, size=(48, 64))):
        np.testing.assert_array_equal(np.array(found.as_cpu().at(index)), sample.frames)
