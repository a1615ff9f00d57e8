# SPDX-License-Identifier: Apache-2.0
"""What the library asks of the driver, counted by stand-ins for it: launches, waits, and memory that is kept."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import media
import pytest
from gpu_helpers import Run, build_fake_decoder, runner_with_driver

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


@pytest.mark.needs_nvdec
@pytest.mark.needs_kernels
@pytest.mark.parametrize("request_name", _REQUESTS)
@pytest.mark.parametrize(("num_frames", "launches"), [(1, 1), (32, 1), (64, 1), (65, 2)])
def test_a_batch_is_one_launch_for_every_64_frames(run: Run, num_frames: int, launches: int, request_name: str) -> None:
    run(f"""
    frames = [frame_on_gpu()] * {num_frames}
    transform = tricodec.Transform(**{_REQUESTS[request_name]!r})
    calls, _ = calls_of(lambda: transform(frames))
    assert calls.count("launch") == {launches}, calls
    """)


@pytest.mark.needs_nvdec
@pytest.mark.needs_kernels
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


@pytest.mark.needs_nvdec
@pytest.mark.needs_kernels
@pytest.mark.parametrize(("num_frames", "launches"), [(1, 1), (16, 1), (32, 2), (50, 4)])
def test_a_read_launches_for_every_16_frames_it_has_decoded(run: Run, num_frames: int, launches: int) -> None:
    run(f"""
    reader = tricodec.FrameReader(CLIP, device="cuda", num_workers=1)
    calls, batch = calls_of(lambda: reader.batch(slice({num_frames}), size=(8, 8)))
    assert isinstance(batch, tricodec.DeviceArray) and len(batch) == {num_frames}
    assert calls.count("launch") == {launches}, calls
    """)


@pytest.mark.needs_nvdec
@pytest.mark.needs_kernels
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


needs_nvdec = pytest.mark.needs_nvdec


def test_what_is_used_over_and_over_stays_whatever_its_size(tmp_path: Path) -> None:
    """Of 4 GiB 256 MiB are kept: the two large blocks drive each other out, not the small one in between."""
    with runner_with_driver(tmp_path, "from tricodec import nvcomp\n", FAKE_CUDA_MEMORY=str(4 << 30)) as run:
        run("""
        small = np.zeros(1000, np.uint8)
        large = [np.zeros(size << 20, np.uint8) for size in (140, 150)]
        for _ in range(3):
            for data in (large[0], small, large[1], small):
                nvcomp.as_array(data).cuda()

        sizes = [int(call[2], 16) for call in logged_calls() if call[0] == "allocate"]
        assert sizes.count(1024) == 1, sizes
        assert sizes.count(140 << 20) == sizes.count(150 << 20) == 3, sizes
        """)


def test_memory_that_a_busy_stream_uses_is_waited_for_only_when_as_much_lies_idle_as_is_kept(tmp_path: Path) -> None:
    """Of 4 GiB 256 MiB are kept: two blocks of 100 MiB, while their work is not done."""
    with runner_with_driver(tmp_path, "from tricodec import nvcomp\n", FAKE_CUDA_MEMORY=str(4 << 30)) as run:
        run("""
        def new(count):
            before = len(logged_calls())
            arrays = [nvcomp.as_array(np.zeros(100 << 20, np.uint8)).cuda() for _ in range(count)]
            calls = [call for call in logged_calls()[before:] if call[0] in ("allocate", "wait")]
            return arrays, [call[0] for call in calls]

        arrays, calls = new(1)
        assert calls.count("allocate") == 1, calls
        unhindered = [call for call in calls if call != "allocate"]
        os.environ["FAKE_CUDA_QUERY"] = "600"  # from now on no work is done
        for taken in (1, 2):
            del arrays
            arrays, calls = new(taken)
            assert calls.count("allocate") == 1, calls
        del arrays
        arrays, calls = new(1)
        assert "allocate" not in calls and "wait" in calls, calls

        os.environ["FAKE_CUDA_QUERY"] = "0"
        more, calls = new(1)
        assert calls == unhindered, calls
        """)
