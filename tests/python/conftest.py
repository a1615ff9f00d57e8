# SPDX-License-Identifier: Apache-2.0
"""What the tests share: the device, and how hardware, commands and optional packages are asked for.

Tests are of the CPU, also on a machine with a GPU: TRICODEC_DEVICE=cpu replaces "auto". Those of users' programs
(`_PROGRAMS`, the marker `programs`) keep "auto", and take the GPU where there is one. Tests in the folder gpu name it.

A test that needs what not every machine has carries a marker. Where it is missing the test is skipped, and a line at
the end counts such tests by what they lack, unless TRICODEC_REQUIRE_<NAME>=1 says that this machine must have it: then
the test fails. `make test` installs DALI, Triton, onnxruntime and the commands, and requires them.
"""

from __future__ import annotations

import functools
import gc
import importlib.util
import os
import shutil
import signal
import subprocess
from collections.abc import Callable, Generator, Iterator
from pathlib import Path
from typing import Any

import pytest
import tricodec
from gpu_helpers import has_cuda
from programs import limits
from range_server import RangeServer, range_server

# A shell lets a command that it starts in the background ignore Ctrl-C, and Python leaves it so.
if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)


@functools.cache
def _has_module(name: str) -> bool:
    try:
        return importlib.util.find_spec(name) is not None
    except ModuleNotFoundError:  # its parent is not there
        return False


_NEEDS: dict[str, tuple[Callable[[], bool], str]] = {
    "needs_gpu": (has_cuda, "no CUDA device (libcuda.so.1 with a GPU)"),
    "needs_kernels": (
        lambda: "cuda_kernels: in this build" in tricodec.build_info(),
        "this build has no CUDA kernels: nvcc was not found when it was built",
    ),
    "needs_highway": (
        lambda: "image_engine: highway" in tricodec.build_info(),
        "no SIMD kernels: libhwy-dev was not found when this was built, or the machine has no instruction set",
    ),
    "needs_dali": (lambda: _has_module("nvidia.dali"), "nvidia-dali-cuda130 is not installed"),
    "needs_triton": (
        lambda: _has_module("tritonclient.grpc") and _has_module("pytriton"),
        "tritonclient[grpc] and nvidia-pytriton are not installed",
    ),
    "needs_onnx": (
        lambda: _has_module("onnxruntime") and _has_module("rapidocr_onnxruntime"),
        "onnxruntime and rapidocr-onnxruntime are not installed",
    ),
    "needs_onnx_gpu": (
        lambda: all(map(_has_module, ("onnxruntime.capi.libonnxruntime_providers_cuda", "rapidocr_onnxruntime"))),
        "onnxruntime-gpu and rapidocr-onnxruntime are not installed",
    ),
    "needs_torch": (lambda: _has_module("torch"), "torch is not installed"),
    "needs_torchdata": (
        lambda: _has_module("torchdata.stateful_dataloader"),
        "torchdata is not installed: tools/make_venv.sh torch torchdata==0.11.0",
    ),
    "needs_cupy": (lambda: _has_module("cupy"), "CuPy is not installed"),
    "needs_numba": (lambda: _has_module("numba"), "Numba is not installed"),
    "needs_nvdec": (
        lambda: "nvdec: in this build" in tricodec.build_info(),
        "this build has no GPU engine: ffnvcodec's headers were missing when it was built",
    ),
}

_PROGRAMS = (
    "cli/", "package/test_commands", "package/test_examples", "package/test_notebooks", "package/test_pages",
    "pynvvideocodec/test_pynv_samples", "show/", "data/test_torch", "triton/test_triton_docs",
)  # fmt: skip
"""What users run as it stands: documents, commands, examples, notebooks, data sets."""

_CPU = pytest.StashKey[float]()
_WORTH_TELLING_SECONDS = 0.1


def _cpu_seconds() -> float:
    """Processor time of this process and of its children that ended."""
    return sum(os.times()[:4])


def pytest_configure(config: pytest.Config) -> None:
    """Names the markers of what a machine may lack."""
    for marker, (_, reason) in _NEEDS.items():
        config.addinivalue_line("markers", f"{marker}: skipped with {reason!r}")


@pytest.hookimpl(tryfirst=True)  # before fixtures, which may start processes
def pytest_runtest_setup(item: pytest.Item) -> None:
    """Chooses the device. Skips, or fails where it is required, a test that needs what this machine lacks."""
    item.stash[_CPU] = _cpu_seconds()
    if item.get_closest_marker("programs") or item.get_closest_marker("needs_gpu"):
        os.environ.pop("TRICODEC_DEVICE", None)
    else:
        os.environ["TRICODEC_DEVICE"] = "cpu"
    for marker, (present, reason) in _NEEDS.items():
        if item.get_closest_marker(marker) is None or present():
            continue
        variable = "TRICODEC_REQUIRE_" + marker.removeprefix("needs_").upper()
        if os.environ.get(variable, "") not in ("", "0"):
            pytest.fail(f"{reason}, and {variable} says that it must be here", pytrace=False)
        pytest.skip(reason)


_FIRST = (
    "package/test_pages", "dali/test_dali_plugin", "data/test_ray", "video/test_exactness",
    "encode/test_transcode_ranges", "triton/", "package/", "dali/", "video/",
)  # fmt: skip
"""The longest files: workers that take them last would end at different times."""


@pytest.hookimpl(tryfirst=True)  # before -m chooses
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Files that take long come first; what each worker runs after them fills the time that is left."""
    folder = f"{Path(__file__).parent}/"

    def rank(item: pytest.Item) -> int:
        name = str(item.path).removeprefix(folder)
        return next((rank for rank, first in enumerate(_FIRST) if name.startswith(first)), len(_FIRST))

    items.sort(key=rank)
    for item in items:
        if str(item.path).removeprefix(folder).startswith(_PROGRAMS):
            item.add_marker(pytest.mark.programs)


def pytest_collection_finish() -> None:
    """The thousands of tests stay until the end: what collects garbage need not go through them each time."""
    gc.collect()
    gc.freeze()


@functools.cache
def _lacks(name: str) -> bool:
    """Whether this machine lacks ffprobe, or an encoder in its ffmpeg or in tricodec's libavcodec."""
    if name == "ffprobe":
        return shutil.which(name) is None
    listed = subprocess.run(["ffmpeg", "-hide_banner", "-encoders"], capture_output=True, text=True, check=False).stdout
    return name not in listed or name not in tricodec.encode.encoder_names()


def _lacking(error: str) -> str | None:
    """What this machine lacks, if an error is about that; None where TRICODEC_REQUIRE_<NAME>=1 says that it is here."""
    for name, said in (("ffprobe", "ffprobe"), ("libsvtav1", "libsvtav1"), ("libsvtav1", "no encoder for av1")):
        if said in error and os.environ.get(f"TRICODEC_REQUIRE_{name.upper()}", "") in ("", "0") and _lacks(name):
            return name
    return None


NOT_FOR_THIS_GPU = "not for this GPU: "
"""How the reason of a skip begins where there is nothing to test: never a failure."""


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """With TRICODEC_NO_SKIPS=1 a skip is a failure: on a machine that has everything, nothing may be left out.

    TRICODEC_MAY_SKIP names the packages that it need not have: skips for want of them are no failures.
    The JUnit file has the processor time of tests that take some, as the property `cpu_seconds`.
    """
    if call.when == "teardown" and _CPU in item.stash:
        seconds = _cpu_seconds() - item.stash[_CPU]
        if seconds >= _WORTH_TELLING_SECONDS:
            item.user_properties.append(("cpu_seconds", f"{seconds:.2f}"))
    report = yield
    lacking = _lacking(str(call.excinfo.value)) if report.failed and call.excinfo else None
    if lacking is not None:  # all such tests are one line of the summary
        report.outcome = "skipped"
        report.longrepr = (__file__, 0, f"Skipped: this machine lacks {lacking}: tools/install_system_packages.sh test")
    if os.environ.get("TRICODEC_NO_SKIPS", "") in ("", "0") or not report.skipped or hasattr(report, "wasxfail"):
        return report
    reason = report.longrepr[2].removeprefix("Skipped: ") if isinstance(report.longrepr, tuple) else "for no reason"
    excused = any(name in reason.lower() for name in os.environ.get("TRICODEC_MAY_SKIP", "").lower().split())
    if not excused and not reason.startswith(NOT_FOR_THIS_GPU):
        report.outcome = "failed"
        report.longrepr = f"{item.nodeid} was skipped, and TRICODEC_NO_SKIPS says that nothing may be: {reason}"
    return report


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str]) -> Callable[..., tuple[int, str, str]]:
    """Calls the command line's main() and gives its exit status, standard output and standard error."""
    from tricodec.cli import main

    def call(*arguments: str | Path) -> tuple[int, str, str]:
        status = main([str(argument) for argument in arguments])
        captured = capsys.readouterr()
        return status, captured.out, captured.err

    return call


@pytest.fixture
def restored_limits() -> Iterator[None]:
    """The limits of the process as they were."""
    with limits():
        yield


@pytest.fixture
def server() -> Iterator[RangeServer]:
    """A server of files for one test of remote sources."""
    with range_server() as running:
        yield running


@pytest.fixture(scope="module")
def client(server: Any) -> Iterator[Any]:
    """A client of the Triton server that the test's module starts as its fixture ``server``."""
    from tricodec.triton.client import Client

    with Client(server.grpc_url) as connected:
        yield connected
