# SPDX-License-Identifier: Apache-2.0
"""Drivers that are missing, too old or broken, and GPUs that fail: an error of a kind, or the CPU; never a crash."""

from __future__ import annotations

from pathlib import Path

import media
import pytest
from gpu_helpers import build_fake_driver, printed_with_driver

_FRAME = """
import logging
import numpy as np
import tricodec
host = tricodec.Frame.from_planes([np.zeros((480, 640, 3), np.uint8)], "rgb24")
"""


@pytest.fixture(scope="module")
def driver(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build_fake_driver(tmp_path_factory.mktemp("driver"))


def run(driver: Path, code: str, **environment: str) -> str:
    return printed_with_driver(driver, _FRAME + code, **environment)


@pytest.mark.parametrize(
    ("environment", "text"),
    [
        ({"FAKE_CUDA_VERSION": "10020"}, "too old: it is of CUDA 10.2, 11.0 or newer is needed"),
        ({"FAKE_CUDA_INIT": "100"}, "sees no GPU"),
        ({"FAKE_CUDA_GPUS": "0"}, "sees no GPU"),
        ({"FAKE_CUDA_INIT": "803"}, "parts are of different versions"),
        ({"FAKE_CUDA_INIT": "34"}, "stub"),
        ({"FAKE_CUDA_INIT": "999"}, "does not start"),
    ],
    ids=["too old", "no device", "no gpu", "mismatch", "stub", "broken"],
)
def test_a_driver_that_cannot_be_used_leaves_the_cpu(driver: Path, environment: dict[str, str], text: str) -> None:
    output = run(
        driver, "assert tricodec.video.resolve_device('auto') == 'cpu'\nraised(lambda: host.to('cuda'))", **environment
    )

    assert output.startswith("DeviceError")
    assert text in output


def test_a_gpu_that_is_not_there_is_a_device_error(driver: Path) -> None:
    assert "cuda:3" in run(driver, "raised(lambda: host.to('cuda:3'))")


@pytest.mark.needs_kernels
def test_a_driver_without_a_decoder_leaves_the_stream_to_the_cpu_and_says_why(driver: Path) -> None:
    code = f"""
logging.basicConfig(level="INFO", format="%(message)s", stream=__import__("sys").stdout)
with tricodec.FrameReader({str(media.generated("h264_bframes.mp4"))!r}) as reader:
    print(reader.device, reader.engine)
raised(lambda: tricodec.FrameReader({str(media.generated("h264_bframes.mp4"))!r}, device="cuda"))
"""
    output = run(driver, code, TRICODEC_LOG="info")

    assert "the CPU decodes, not cuda:0: the NVIDIA driver's decoder library is missing" in output
    assert "cpu libavcodec h264" in output
    assert "UnsupportedError" in output


def test_memory_that_runs_out_is_an_error_with_the_figures(driver: Path) -> None:
    code = """
kept = [host.to("cuda") for _ in range(4)]
raised(lambda: [host.to("cuda") for _ in range(20)])
kept.append(host.to("cuda"))
"""
    output = run(driver, code, FAKE_CUDA_MEMORY=str(8 << 20))

    assert output.startswith("OutOfMemoryError cuda:0 is out of memory: 1 MiB were asked for")
    assert "of 8 MiB are free" in output
    assert "; the largest users: frames and tensors 8 MiB; hold fewer frames" in output


@pytest.mark.parametrize(
    "function", ["cuMemcpy2DAsync_v2", pytest.param("cuLaunchKernel", marks=pytest.mark.needs_kernels)]
)
def test_a_context_that_is_lost_is_a_device_error_that_says_so(driver: Path, function: str) -> None:
    code = """
def work():
    tricodec.Transform(size=(8, 8))(host.to("cuda")).numpy()
raised(work)
"""
    output = run(driver, code, FAKE_CUDA_FAIL=f"{function}:719")

    assert output.startswith("DeviceError")
    assert "the CUDA context is lost" in output


def test_a_process_forked_from_one_that_started_the_driver_is_told_to_spawn(driver: Path) -> None:
    code = """
import os, sys
kept = host.to("cuda")
child = os.fork()
if child == 0:
    raised(lambda: host.to("cuda"))
    sys.stdout.flush()
    os._exit(0)
assert os.waitpid(child, 0)[1] == 0
host.to("cuda")  # the parent continues
"""
    output = run(driver, code)

    assert output.startswith("DeviceError")
    assert "forked from one that had started CUDA" in output
    assert "'spawn'" in output


def test_work_that_fails_later_is_told_by_who_waits(driver: Path) -> None:
    failing = {"FAKE_CUDA_QUERY": "600", "FAKE_CUDA_FAIL": "cuEventSynchronize:719:1"}

    output = run(driver, 'there = host.to("cuda")\nraised(there.wait)', **failing)

    assert output.startswith("DeviceError")
