# SPDX-License-Identifier: Apache-2.0
"""`tricodec info`: the parts of this build, and those of this machine that it can use."""

from __future__ import annotations

import argparse
import contextlib
import importlib.metadata
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import tricodec
from tricodec.cli import shared
from tricodec.compress import compression_algorithms
from tricodec.encode import encoder_for

# The packages of the front ends by pip's names. DALI has one for each version of CUDA.
_DALI = ("nvidia-dali-cuda130", "nvidia-dali-cuda120")
_CODECS = ("h264", "hevc", "av1")


def add_parser(commands: Any, common: argparse.ArgumentParser) -> None:
    shared.add_command(
        commands, [common], "info", run,
        "Describe this build and this machine. The lines name the GPU, encoders, algorithms and front ends.",
        ("tricodec info", "tricodec info --json"),
    )  # fmt: skip


def run(options: argparse.Namespace) -> int:
    lines = [*tricodec.build_info().rstrip().splitlines(), *(f"{name}: {found}" for name, found in _found())]
    shared.report(options, "\n".join(lines), dict(line.split(": ", 1) for line in lines))
    return 0


def _found() -> Iterator[tuple[str, str]]:
    from tricodec.triton.serve import find_tritonserver

    gpu = _tried(lambda: tricodec.video.resolve_device("cuda"))
    if gpu.startswith("cuda") and tricodec.video.resolve_device("auto") == "cpu":
        gpu += ", but 'auto' is the CPU: see cuda_kernels, and TRICODEC_DEVICE"
    yield "gpu", gpu
    yield "encoders", ", ".join(f"{codec} by {_tried(partial(encoder_for, codec))}" for codec in _CODECS)
    reasons = compression_algorithms()
    yield "compression", ", ".join(name for name, reason in reasons.items() if not reason)
    for name, reason in reasons.items():
        if reason:
            yield f"no {name}", reason
    yield "dali", _version(*_DALI)
    yield "triton client", _version("tritonclient")
    yield "tritonserver", _tried(lambda: find_tritonserver().binary)


def _tried(find: Callable[[], object]) -> str:
    try:
        return str(find())
    except (tricodec.Error, FileNotFoundError) as error:
        return f"none ({error})"


def _version(*packages: str) -> str:
    for package in packages:
        with contextlib.suppress(importlib.metadata.PackageNotFoundError):
            return f"{package} {importlib.metadata.version(package)}"
    return f"not installed (pip install {packages[0]})"
