# SPDX-License-Identifier: Apache-2.0
"""Profiler, memory_required, plans and build_info on a GPU, with stand-ins for the driver and for NVDEC."""

from __future__ import annotations

import re
import struct
from collections.abc import Iterator
from pathlib import Path

import media
import pytest
import tricodec
from gpu_helpers import Run, build_fake_decoder, build_fake_driver, printed_with_driver, runner_with_driver
from media import generated

_PRELUDE = """
import gc, json, pathlib, tempfile, time
import tricodec
CLIP = {clip!r}

def peaks_of(num_workers, request):
    gc.collect()
    before = {name: use.in_use_bytes for name, use in tricodec.memory_stats().items()}
    with tricodec.FrameReader(CLIP, device="cuda", num_workers=num_workers) as reader:
        need = tricodec.measure.memory_required(reader, **request)
        with tricodec.measure.MemoryTracker() as tracker:
            if "batch_size" in request:
                for number, _ in enumerate(reader.batches(**request)):
                    if number == 0:
                        time.sleep(0.2)  # the decoders get ahead
            else:
                reader.batch(slice(request["count"]), size=request["size"])
    peaks = {name: use.peak_bytes - before.get(name, 0) for name, use in tracker.allocators.items()}
    return need, peaks["device cuda:0"], peaks["decoders cuda:0"]
"""


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Run]:
    folder = build_fake_decoder(tmp_path_factory.mktemp("driver"))
    prelude = _PRELUDE.replace("{clip!r}", repr(str(media.generated("h264_nob.mp4"))))
    with runner_with_driver(folder, prelude) as started:
        yield started


@pytest.mark.needs_nvdec
@pytest.mark.needs_kernels
def test_decoders_and_kernels_are_timed_on_the_clock_of_the_calls(run: Run) -> None:
    run("""
    with tricodec.FrameReader(CLIP, device="cuda", num_workers=1) as reader:
        reader.batch(slice(32), size=(8, 8))
        with tricodec.Profiler() as profiler:
            time.sleep(0.02)
            reader.batch(slice(32), size=(8, 8))

    stages = profiler.stages
    assert {name: stages[name].frames for name in ("decode", "transform")} == {"decode": 32, "transform": 32}, stages
    assert 0 < stages["decode"].gpu_seconds < profiler.seconds
    assert 0 < stages["transform"].gpu_seconds < profiler.seconds
    on_gpu = [event for event in profiler.events if event.device == "cuda:0"]
    assert {event.stage: sum(e.frames for e in on_gpu if e.stage == event.stage) for event in on_gpu} == {
        "decode": 32, "transform": 32
    }
    assert all(0.02 <= event.begin_seconds <= profiler.seconds - event.seconds for event in on_gpu), on_gpu
    """)


@pytest.mark.needs_nvdec
@pytest.mark.needs_kernels
@pytest.mark.parametrize("request_", [{"size": (64, 64), "count": 50}, {"batch_size": 8, "size": (96, 96)}])
def test_the_need_of_one_decoder_is_within_a_quarter_of_the_peak(run: Run, request_: dict[str, object]) -> None:
    run(f"""
    deadline = time.monotonic() + 20
    device = 0
    while not device or (device < 0.8 * need.device_bytes and time.monotonic() < deadline):  # a decoder may be late
        need, device, decoders = peaks_of(1, {request_!r})
    assert need.host_bytes == 0
    assert abs(need.device_bytes - device) <= 0.25 * device, (need, device)
    assert abs(need.decoder_bytes - decoders) <= 0.25 * decoders, (need, decoders)
    """)


@pytest.mark.needs_nvdec
@pytest.mark.needs_kernels
def test_pinned_memory_is_locked_by_the_driver_and_kept(run: Run) -> None:
    run("""
    tricodec.pinned_empty((3, 1000), "float32")
    before = tricodec.memory_stats()["pinned cuda:0"].in_use_bytes
    array = tricodec.pinned_empty((3, 1000), "float32")
    assert array.shape == (3, 1000) and array.dtype == np.float32
    held = tricodec.memory_stats()["pinned cuda:0"].in_use_bytes - before
    assert 12000 <= held <= 16384, held
    del array
    assert tricodec.memory_stats()["pinned cuda:0"].in_use_bytes == before
    """)


def test_a_plan_of_the_cpu_is_foreign_where_the_request_means_a_gpu(tmp_path: Path) -> None:
    build_fake_driver(tmp_path)
    plan = tmp_path / "plan.json"
    tricodec.Plan(generated("h264_bframes.mp4"), device="cpu").save(plan)
    code = f"""
import dataclasses, tricodec
from tricodec.serving import _plan_request
data = _plan_request.read_plan({str(plan)!r})
data = dataclasses.replace(data, request=dataclasses.replace(data.request, device="cuda:1"))
_plan_request.write_plan({str(plan)!r}, data)
print(tricodec._tricodec.gpu_facts(1))
raised(lambda: tricodec._tricodec.gpu_facts(2))
raised(lambda: tricodec.Plan.load({str(plan)!r}))
"""

    printed = printed_with_driver(tmp_path, code, FAKE_CUDA_GPUS="2", FAKE_CUDA_VERSION="12090")

    assert "{'gpu': 'Fake GPU 1', 'compute_capability': '9.0', 'cuda_driver': '12090'}" in printed
    assert "DeviceError" in printed
    assert "there is no GPU 2; this process sees 2 GPUs, numbered from 0" in printed
    assert "device is 'cpu' in the plan and 'cuda' here" in printed
    assert "gpu is 'absent' in the plan and 'Fake GPU 1' here" in printed
    assert "and 'cuda 9.0' here" in printed


_MAGIC = struct.pack("<I", 0xBA55ED50)  # of a fat binary; then version, size of this header, size of the parts
_PTX, _ELF = 1, 2
_HEADER = struct.Struct("<IHHQ")
_PART = struct.Struct("<HHIQ12xI")  # kind, version, size of this header, size of what follows, then the architecture


def fat_binaries(library: bytes) -> list[set[tuple[int, int]]]:
    """The kinds and architectures of the parts of each fat binary in a library."""
    found = []
    for match in re.finditer(re.escape(_MAGIC), library):
        _, version, header_size, size = _HEADER.unpack_from(library, match.start())
        if version != 1:  # the same bytes by chance
            continue
        at = match.start() + header_size
        end, parts = at + size, set()
        while at < end:
            kind, _, part_header, part_size, architecture = _PART.unpack_from(library, at)
            parts.add((kind, architecture))
            at += part_header + part_size
        assert at == end
        found.append(parts)
    return found


@pytest.mark.needs_kernels
def test_build_info_names_the_architectures_that_are_in_every_fat_binary() -> None:
    words = next(line for line in tricodec.build_info().splitlines() if line.startswith("cuda_kernels: "))
    named = {(_ELF, int(number)) for number in re.findall(r"sm_(\d+)", words)}
    named |= {(_PTX, int(number)) for number in re.findall(r"PTX of compute_(\d+)", words)}
    library = next(Path(tricodec.__file__).parent.glob("lib/libtricodec.so*"))

    binaries = fat_binaries(library.read_bytes())

    assert named
    assert len(binaries) == 3  # two of the Transform, one of compression
    assert all(parts == named for parts in binaries), (words, binaries)
