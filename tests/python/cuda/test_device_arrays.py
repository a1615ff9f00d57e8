# SPDX-License-Identifier: Apache-2.0
"""Arrays on a GPU as Python sees them, over a stand-in for the driver: what is refused, what is ordered, what is freed.

What a GPU computes is tested on one (tests/python/gpu).
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from gpu_helpers import Run, build_fake_driver, run_with_driver, runner_with_driver

_PRELUDE = """
import tricodec

def frame_of(format="nv12", width=64, height=48, seed=1):
    random = np.random.default_rng(seed)
    planes = {
        "nv12": lambda: [random.integers(0, 255, (height, width), np.uint8),
                         random.integers(0, 255, (height // 2, width // 2, 2), np.uint8)],
        "rgb24": lambda: [random.integers(0, 255, (height, width, 3), np.uint8)],
        "yuv444p16le": lambda: [random.integers(0, 65535, (height, width), np.uint16) for _ in range(3)],
    }[format]()
    return tricodec.Frame.from_planes(planes, format)
"""


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Run]:
    with runner_with_driver(tmp_path_factory.mktemp("driver"), _PRELUDE) as started:
        yield started


def test_frames_go_to_a_gpu_and_come_back_unchanged(run: Run) -> None:
    run("""
    for format in ("nv12", "rgb24", "yuv444p16le"):
        frame = frame_of(format)
        there = frame.to("cuda:0")
        assert (frame.device, there.device, there.format) == ("cpu", "cuda:0", format)
        assert there.to("cuda") is not None and there.cpu().device == "cpu"
        assert there.md5() == frame.md5() == there.cpu().md5()
        assert (there.to_ndarray() == frame.to_ndarray()).all()
        assert there.pack() == frame.pack()
    assert frame_of("nv12").to("cuda").convert("yuv420p").device == "cuda:0"
    """)


@pytest.mark.needs_kernels
def test_numpy_gets_the_picture_of_a_frame_on_a_gpu_and_is_refused_arrays_there(run: Run) -> None:
    run("""
    frame = frame_of().to("cuda")
    result = tricodec.Transform(size=(8, 8))(frame)
    assert (np.asarray(frame) == np.asarray(frame_of())).all() and np.asarray(frame).any()  # the picture
    for array in (frame.planes[0], result):
        error = raised(lambda: np.asarray(array))
        assert isinstance(error, TypeError) and "cuda:0" in str(error) and "tricodec.asnumpy()" in str(error)
        assert (tricodec.asnumpy(array) == tricodec.asnumpy(Interface(array))).all()
        assert tricodec.asnumpy(array).shape == array.shape
        assert isinstance(raised(lambda: memoryview(array)), (BufferError, TypeError))
        assert not hasattr(array, "__array_interface__")
    assert not hasattr(frame_of(), "__cuda_array_interface__")
    assert not hasattr(frame_of().planes[0], "__cuda_array_interface__")
    """)


@pytest.mark.needs_kernels
@pytest.mark.parametrize(("stream", "waits"), [("None", "0x1"), ("1", "0x1"), ("2", "0x2"), ("-1", None)])
def test_a_dlpack_export_makes_the_consumers_stream_wait(run: Run, stream: str, waits: str | None) -> None:
    run(f"""
    array = tricodec.Transform(size=(8, 8))(frame_of().to("cuda"))
    before = len(logged_calls())
    array.__dlpack__(stream={stream})
    waited = [call[1] for call in logged_calls()[before:] if call[0] == "wait"]
    assert waited == ([{waits!r}] if {waits!r} else []), waited
    """)


@pytest.mark.needs_kernels
@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        ("stream=0", "ValueError"),
        ("stream='x'", "ValueError"),
        ("stream=True", "ValueError"),
        ("dl_device=(3, 0)", "BufferError"),
        ("dl_device=(2, 1)", "BufferError"),
        ("dl_device=(1, 0), copy=False", "BufferError"),
    ],
)
def test_a_dlpack_export_refuses_what_it_cannot_do(run: Run, arguments: str, error: str) -> None:
    run(f"""
    array = tricodec.Transform(size=(8, 8))(frame_of().to("cuda"))
    assert type(raised(lambda: array.__dlpack__({arguments}))) is {error}
    """)


@pytest.mark.needs_kernels
@pytest.mark.parametrize(
    ("out", "error", "text"),
    [
        ("Interface(out, data=(16, False))", "ValueError", "not of a GPU"),
        ("Interface(out, data=(out.data_ptr, True))", "ValueError", "read-only"),
        ("Interface(out, typestr='<f4')", "TypeError", "float32"),
        ("Interface(out, typestr='<c8')", "TypeError", "<c8"),
        ("Interface(out, shape=(4, 6, 4))", "ValueError", "(4, 6, 4)"),
        ("Interface(out, strides=(0, 3, 1))", "ValueError", "share memory"),
        ("Interface(out, strides=(3, 1))", "ValueError", "strides"),
    ],
)
def test_memory_on_a_gpu_that_does_not_fit_is_refused(run: Run, out: str, error: str, text: str) -> None:
    run(f"""
    frame, transform = frame_of().to("cuda"), tricodec.Transform(size=(4, 6))
    out = transform(frame)
    found = raised(lambda: transform(frame, {out}))
    assert type(found) is {error} and {text!r} in str(found), found
    """)


@pytest.mark.needs_kernels
def test_a_callers_stream_is_used_and_not_waited_for(run: Run) -> None:
    run("""
    frame, transform = frame_of().to("cuda"), tricodec.Transform(size=(4, 6))
    out = transform(frame)
    class Named:
        def __init__(self, **names):
            self.__dict__.update(names)
    for stream in (1, Named(cuda_stream=1), Named(ptr=1), Named(handle=1), Named(handle=ctypes.c_void_p(1)),
                   Named(__cuda_stream__=lambda: (0, 1))):
        before = len(logged_calls())
        transform(frame, out, stream=stream)
        made = logged_calls()[before:]
        assert ["launch", "0x1", "0"] in made and not any(call[0] == "synchronize" for call in made), made
    for bad in ("x", 1.5, True, object()):
        assert isinstance(raised(lambda: transform(frame, out, stream=bad)), TypeError)
    assert isinstance(raised(lambda: transform(frame, out, stream=-1)), ValueError)
    """)


@pytest.mark.needs_kernels
# 0x63 is the stand-in's mark of everything in a context: a stream of the consumer's may be gone by then.
@pytest.mark.parametrize(("stream", "recorded"), [("1", "0"), ("2", "0"), ("own", "0x63")])
def test_memory_waits_for_the_stream_that_it_was_lent_to_before_it_is_used_again(
    run: Run, stream: str, recorded: str
) -> None:
    run(f"""
    cuda, own = ctypes.CDLL("libcuda.so.1"), ctypes.c_void_p()
    tricodec.video.resolve_device("cuda")
    context = ctypes.c_void_p()
    cuda.cuDevicePrimaryCtxRetain(ctypes.byref(context), 0)
    cuda.cuCtxPushCurrent_v2(context)
    cuda.cuStreamCreate(ctypes.byref(own), 1)
    transform = tricodec.Transform(size=(500, 600))  # a size that no other test leaves idle memory of
    frame = frame_of().to("cuda")
    array = transform(frame)
    array.wait_on({stream})
    cuda.cuStreamDestroy_v2(own)
    address = array.data_ptr
    before = len(logged_calls())
    del array
    gc.collect()
    assert ["record", {recorded!r}] in [call[:2] for call in logged_calls()[before:]]
    os.environ["FAKE_CUDA_QUERY"] = "600"  # what was recorded is not done
    try:
        other = transform(frame)
    finally:
        del os.environ["FAKE_CUDA_QUERY"]
    assert other.data_ptr != address and transform(frame).data_ptr == address
    """)


_LOOKS_AT_THE_CURRENT_GPU = """
import ctypes
import numpy as np
import tricodec
from tricodec import nvcomp

driver = ctypes.CDLL("libcuda.so.1")

def current():
    device = ctypes.c_int(-1)
    return device.value if driver.cuCtxGetDevice(ctypes.byref(device)) else f"cuda:{device.value}"

class OnTheSecond:
    # torch refuses to export what is not on its current GPU.
    def __dlpack_device__(self):
        return (2, 1)

    def __dlpack__(self, **words):
        raise BufferError(f"exported on {current()}")
"""


@pytest.mark.parametrize(
    "use",
    [
        "nvcomp.from_dlpack(OnTheSecond())",
        pytest.param(
            "tricodec.Transform()(tricodec.Frame.from_planes([np.zeros((2, 2, 3), np.uint8)], 'rgb24').to('cuda:1'),"
            " out=OnTheSecond())",
            marks=pytest.mark.needs_kernels,
        ),
    ],
)
def test_an_array_is_asked_for_its_memory_on_its_own_gpu(tmp_path: Path, use: str) -> None:
    code = f"{_LOOKS_AT_THE_CURRENT_GPU}\ntry:\n    {use}\nexcept BufferError as error:\n    print(error, current())\n"

    result = run_with_driver(build_fake_driver(tmp_path), code, FAKE_CUDA_GPUS="2")

    assert result.stdout == "exported on cuda:1 -1\n", result.stderr
