# SPDX-License-Identifier: Apache-2.0
"""What the library asks of the driver, counted by stand-ins for it: launches, and calls that make the device wait."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import media
import pytest
from gpu_helpers import Run, build_fake_decoder, runner_with_driver

pytestmark = [pytest.mark.needs_nvdec, pytest.mark.needs_kernels]

_PRELUDE = """
import tricodec
CLIP = {clip!r}

def frame_on_gpu(width=320, height=180, seed=1):
    random = np.random.default_rng(seed)
    luma = random.integers(0, 255, (height, width), np.uint8)
    chroma = random.integers(0, 255, (height // 2, width // 2, 2), np.uint8)
    return tricodec.Frame.from_planes([luma, chroma], "nv12").to("cuda")

def calls_of(work):
    before = len(logged_calls())
    result = work()
    return [call[0] for call in logged_calls()[before:]], result

WAITING = {"module", "cuMemAlloc", "cuMemFree", "cuMemHostAlloc", "cuMemFreeHost", "cuCtxSynchronize"}
"""

_REQUESTS = {
    "same size": {},
    "resized": {"size": (112, 112), "dtype": "float16", "layout": "CHW"},
    "resized by 3:2": {"size": (120, 213)},
    "padded": {"dtype": "float16", "layout": "HWC8"},
    "turned and cropped": {"crop": (2, 2, 100, 100), "size": (33, 21), "dtype": "float32"},
}


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Run]:
    folder = build_fake_decoder(tmp_path_factory.mktemp("driver"))
    with runner_with_driver(folder, prelude()) as started:
        yield started


def prelude() -> str:
    return _PRELUDE.replace("{clip!r}", repr(str(media.generated("h264_nob.mp4"))))


@pytest.mark.parametrize("request_name", _REQUESTS)
@pytest.mark.parametrize(("num_frames", "launches"), [(1, 1), (32, 1), (64, 1), (65, 2)])
def test_a_batch_is_one_launch_for_every_64_frames(run: Run, num_frames: int, launches: int, request_name: str) -> None:
    run(f"""
    frames = [frame_on_gpu()] * {num_frames}
    transform = tricodec.Transform(**{_REQUESTS[request_name]!r})
    calls, _ = calls_of(lambda: transform(frames))
    assert calls.count("launch") == {launches}, calls
    """)


@pytest.mark.parametrize(("num_frames", "launches"), [(1, 1), (65, 2)])
def test_a_call_that_a_cuda_graph_captures_is_its_launches_and_allocates_nothing(
    run: Run, num_frames: int, launches: int
) -> None:
    run(f"""
    stream = ctypes.c_void_p()
    context = ctypes.c_void_p()
    cuda = ctypes.CDLL("libcuda.so.1")
    frames = [frame_on_gpu()] * {num_frames}
    cuda.cuDevicePrimaryCtxRetain(ctypes.byref(context), 0)
    cuda.cuCtxPushCurrent_v2(context)
    assert cuda.cuStreamCreate(ctypes.byref(stream), 1) == 0
    transform = tricodec.Transform(size=(24, 40))
    out = transform(frames)
    ours = Interface(out, stream=None)  # its owner orders it
    os.environ["FAKE_CUDA_CAPTURED"] = str(stream.value)
    try:
        calls, _ = calls_of(lambda: transform(frames, ours, stream=stream))
        refused, error = calls_of(lambda: raised(lambda: transform(frames, stream=stream)))
    finally:
        del os.environ["FAKE_CUDA_CAPTURED"]
    assert calls == ["launch"] * {launches}, calls
    assert isinstance(error, tricodec.UnsupportedError) and "pass out=" in str(error), error
    assert "launch" not in refused and "allocate" not in refused, refused
    again, _ = calls_of(lambda: transform(frames, ours, stream=stream))
    assert again.count("launch") == {launches} and "record" in again, again
    """)


@pytest.mark.parametrize(("num_frames", "launches"), [(1, 1), (16, 1), (32, 2), (50, 4)])
def test_a_read_launches_for_every_16_frames_it_has_decoded(run: Run, num_frames: int, launches: int) -> None:
    run(f"""
    reader = tricodec.FrameReader(CLIP, device="cuda", num_workers=1)
    calls, batch = calls_of(lambda: reader.batch(slice({num_frames}), size=(8, 8)))
    assert isinstance(batch, tricodec.DeviceArray) and len(batch) == {num_frames}
    assert calls.count("launch") == {launches}, calls
    """)


def test_nothing_waits_for_the_device_once_a_first_read_has_started_it(tmp_path: Path) -> None:
    """Modules are loaded, memory is locked and decoders are made in the first round: the driver may wait there."""
    code = """
    def work():
        reader = tricodec.FrameReader(CLIP, device="cuda", num_workers=1)
        transform = tricodec.Transform(size=(8, 8), dtype="float32")
        parts = [
            list(reader.batches(16, transform)),
            reader.batch(slice(None, None, 3), transform),
            transform(reader[7], pinned=True),
            reader[8].cpu(),
            frame_on_gpu(seed=3).to_ndarray(),
        ]
        return len(parts)
    first, _ = calls_of(work)
    second, _ = calls_of(work)
    assert "launch" in second and not WAITING & set(second), WAITING & set(second)
    assert {"module", "cuMemHostAlloc"} <= set(first) and "cuCtxSynchronize" not in first
    """
    with runner_with_driver(build_fake_decoder(tmp_path), prelude()) as run:
        run(code)
