# SPDX-License-Identifier: Apache-2.0
"""The event of `input_consumed`: of which libraries, refused where, and recorded between which calls of the driver.

The drivers here are stand-ins; tests/python/gpu/test_input_consumed_gpu.py fills buffers again on a GPU.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from gpu_helpers import Run, build_fake_nvcomp, runner_with_driver

_PRELUDE = """
import tricodec
from tricodec import nvcomp

cuda = ctypes.CDLL("libcuda.so.1")
tricodec.video.resolve_device("cuda")
context = ctypes.c_void_p()
cuda.cuDevicePrimaryCtxRetain(ctypes.byref(context), 0)
cuda.cuCtxPushCurrent_v2(context)

def made(create):
    handle = ctypes.c_void_p()
    assert create(ctypes.byref(handle), 1) == 0
    return handle.value

def frame_on_gpu():
    luma, chroma = np.full((48, 64), 90, np.uint8), np.full((24, 32, 2), 120, np.uint8)
    return tricodec.Frame.from_planes([luma, chroma], "nv12").to("cuda")

event, stream = made(cuda.cuEventCreate), made(cuda.cuStreamCreate)
transform = tricodec.Transform(size=(16, 16))

class Event:
    def __init__(self, **attributes):
        vars(self).update(attributes)

def calls_of(work):
    # Names of the driver's calls with the event in place of its records, and the streams it was recorded on.
    before = len(logged_calls())
    result = work()
    calls = logged_calls()[before:]
    is_event = [name == "record" and int(other, 16) == event for name, _, other in calls]
    names = ["event" if ours else name for (name, *_), ours in zip(calls, is_event)]
    return names, [int(on, 16) for (_, on, _), ours in zip(calls, is_event) if ours], result

def order_of(names, *wanted):
    # The wanted names in the order of their calls, each once.
    return [name for at, name in enumerate(names) if name in wanted and name not in names[:at]]
"""


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Run]:
    folder = tmp_path_factory.mktemp("driver")
    library = build_fake_nvcomp(folder)
    with runner_with_driver(
        folder, _PRELUDE, TRICODEC_LIBNVCOMP=str(library), FAKE_NVCOMP_LOG=str(folder / "nvcomp")
    ) as started:
        yield started


@pytest.mark.needs_kernels
@pytest.mark.parametrize("frames", ["frame_on_gpu()", "[frame_on_gpu()] * 65"])
def test_transform_records_it_once_on_the_callers_stream_after_the_last_launch(run: Run, frames: str) -> None:
    run(f"""
    frames = {frames}
    out = transform(frames)  # makes the plan
    names, streams, _ = calls_of(lambda: transform(frames, stream=stream, input_consumed=event))
    assert streams == [stream] and "launch" not in names[names.index("event"):], names
    assert "launch" in names and "synchronize" not in names, names

    names, streams, _ = calls_of(lambda: transform(frames, out, stream=stream, input_consumed=event))
    assert streams == [stream] and order_of(names, "launch", "event") == ["launch", "event"], names
    """)


@pytest.mark.needs_kernels
def test_events_are_taken_from_every_library(run: Run) -> None:
    run("""
    frame = frame_on_gpu()
    for given in (event, np.uint64(event), ctypes.c_void_p(event), Event(cuda_event=event), Event(ptr=event),
                  Event(handle=event), Event(handle=ctypes.c_void_p(event))):
        _, streams, _ = calls_of(lambda: transform(frame, stream=stream, input_consumed=given))
        assert streams == [stream], given
    names, streams, _ = calls_of(lambda: transform(frame, stream=stream, input_consumed=None))
    assert streams == [] and "launch" in names
    """)


def test_what_is_no_event_is_refused_before_any_work(run: Run) -> None:
    run("""
    frame = frame_on_gpu()
    for bad, kind in ((True, TypeError), ("event", TypeError), (object(), TypeError), (1.5, TypeError),
                      (0, ValueError), (-1, ValueError), (Event(cuda_event=0), ValueError)):
        names, _, error = calls_of(lambda: raised(lambda: transform(frame, input_consumed=bad)))
        assert isinstance(error, kind), (bad, error)
        assert "launch" not in names
    assert "input_consumed" in str(raised(lambda: transform(frame, input_consumed="event")))
    assert "CuPy" in str(raised(lambda: transform(frame, input_consumed="event")))
    """)


@pytest.mark.needs_kernels
@pytest.mark.parametrize("out", ["False", "True"])
def test_a_codec_on_the_gpu_records_it_before_it_waits_for_the_sizes_of_results(run: Run, out: str) -> None:
    run(f"""
    codec = tricodec.Codec(algorithm="LZ4", device="cuda:0", cuda_stream=stream)
    data = np.cumsum(np.random.default_rng(1).integers(-2, 3, 1 << 18)).astype("<i4").view(np.uint8)
    there = nvcomp.as_array(data).cuda()
    packed, plain = codec.encode(there), nvcomp.as_array(np.zeros_like(data)).cuda()
    copy = nvcomp.as_array(packed.cpu()).cuda()
    room = nvcomp.as_array(np.zeros(codec.get_max_comp_buffer_size(there), np.uint8)).cuda()
    words = dict(out=room) if {out} else dict()
    names, streams, again = calls_of(lambda: codec.encode(there, input_consumed=event, **words))
    assert streams == [stream], names
    assert bytes(again.cpu())[:packed.buffer_size] == bytes(packed.cpu())

    words = dict(out=plain) if {out} else dict()
    names, streams, back = calls_of(lambda: codec.decode(copy, input_consumed=event, **words))
    assert streams == [stream], names
    assert bytes(back.cpu()) == bytes(data)
    """)


def test_an_encoder_on_the_cpu_records_it_between_its_copy_and_its_work(run: Run) -> None:
    run("""
    frame, words = frame_on_gpu(), dict(codec="libx264", device="cpu", num_threads=1)
    plain = tricodec.Encoder(64, 48, **words)
    wanted = [bytes(packet.data) for packet in [*plain.encode(frame), *plain.flush()]]
    encoder = tricodec.Encoder(64, 48, **words)
    names, streams, packets = calls_of(lambda: encoder.encode(frame, input_consumed=event))
    assert len(streams) == 1 and order_of(names, "copy", "event") == ["copy", "event"], names
    assert "copy" not in names[names.index("event"):], names
    assert [bytes(packet.data) for packet in [*packets, *encoder.flush()]] == wanted

    rgb = np.random.default_rng(2).integers(0, 255, (48, 64, 3), np.uint8)
    there = Interface(tricodec.Frame.from_planes([rgb], "rgb24").to("cuda"))
    encoder = tricodec.Encoder(64, 48, **words)
    names, streams, _ = calls_of(lambda: encoder.encode(there, format="rgb24", input_consumed=event))
    assert len(streams) == 1 and order_of(names, "copy", "event") == ["copy", "event"], names
    """)


@pytest.mark.needs_kernels
def test_an_event_of_another_gpu_is_an_error_that_names_it(run: Run) -> None:
    run("""
    os.environ["FAKE_CUDA_ALIEN_EVENT"] = str(event)
    try:
        error = raised(lambda: transform(frame_on_gpu(), stream=stream, input_consumed=event))
    finally:
        del os.environ["FAKE_CUDA_ALIEN_EVENT"]
    assert isinstance(error, tricodec.DeviceError) and "input_consumed" in str(error), error
    """)
