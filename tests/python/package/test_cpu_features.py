# SPDX-License-Identifier: Apache-2.0
"""TRICODEC_DISABLE_CPU_FEATURES: which engine a process takes, and that its bytes are the scalar engine's."""

from __future__ import annotations

import functools
import os
import subprocess
import sys
from dataclasses import dataclass

import pytest

pytestmark = pytest.mark.needs_highway

# Odd sizes, a crop, both filters, each dtype and a turned picture, of 8, 10 and 12 bits.
_PROGRAM = """
import hashlib
import numpy as np
import tricodec

rng = np.random.default_rng(5)
digest = hashlib.sha256()
for name, depth in [("yuv420p", 8), ("nv12", 8), ("yuv422p10le", 10), ("yuv444p12le", 12), ("rgb24", 8), ("gray", 8)]:
    frame = tricodec.Frame.from_planes(
        [rng.integers(0, 1 << depth, plane.shape).astype(plane.dtype) for plane in PLANES[name]], name
    )
    for options in [
        {},
        {"size": (97, 61)},
        {"size": (333, 501), "resize": "bicubic", "dtype": "float32", "layout": "CHW"},
        {"crop": (3, 5, 111, 77), "size": (40, 50), "dtype": "float16", "layout": "HWC8"},
        {"dtype": "bfloat16", "layout": "CHW2", "scale": 1 / 255},
    ]:
        digest.update(np.asarray(tricodec.Transform(**options)(frame)).tobytes())
engine = next(line for line in tricodec.build_info().splitlines() if line.startswith("image_engine: "))
print(engine.removeprefix("image_engine: "))
print(digest.hexdigest())
"""
_PLANES = """
import numpy as np

def planes(luma, chroma, dtype=np.uint8, count=2):
    return [np.empty(luma, dtype)] + [np.empty(chroma, dtype)] * count

PLANES = {
    "yuv420p": planes((181, 323), (91, 162)),
    "nv12": planes((181, 323), (91, 162, 2), count=1),
    "yuv422p10le": planes((181, 323), (181, 162), np.uint16),
    "yuv444p12le": planes((181, 323), (181, 323), np.uint16),
    "rgb24": [np.empty((181, 323, 3), np.uint8)],
    "gray": [np.empty((181, 323), np.uint8)],
}
"""
_ALL = "avx512,avx2,sse4,neon"


@dataclass(frozen=True)
class Outcome:
    """What a process with the variable set says."""

    engine: str
    digest: str
    warnings: str


@functools.cache
def run(disabled: str | None) -> Outcome:
    variables = {name: value for name, value in os.environ.items() if name != "TRICODEC_DISABLE_CPU_FEATURES"}
    if disabled is not None:
        variables["TRICODEC_DISABLE_CPU_FEATURES"] = disabled
    done = subprocess.run(
        [sys.executable, "-c", _PLANES + _PROGRAM], env=variables, capture_output=True, text=True, check=True
    )
    engine, digest = done.stdout.splitlines()
    return Outcome(engine, digest, done.stderr)


def test_no_instruction_set_left_means_the_scalar_engine() -> None:
    assert run(_ALL).engine == "scalar (TRICODEC_DISABLE_CPU_FEATURES)"
    assert run(None).engine.startswith("highway ")


@pytest.mark.parametrize("disabled", [None, "", "avx512", "avx512,avx2", "sse4", "neon", "avx1024"])
def test_every_engine_gives_the_scalar_engines_bytes(disabled: str | None) -> None:
    assert run(disabled).digest == run(_ALL).digest


def test_an_unknown_name_is_warned_of_and_changes_nothing() -> None:
    unknown = run("avx1024")

    assert unknown.engine == run(None).engine
    assert "'avx1024'" in unknown.warnings
    assert "avx512, avx2, sse4, neon" in unknown.warnings
    assert run("avx512").warnings == ""
