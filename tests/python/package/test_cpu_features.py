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
luma = (181, 323)
for name, depth, shapes in [
    ("yuv420p", 8, [luma, (91, 162), (91, 162)]),
    ("nv12", 8, [luma, (91, 162, 2)]),
    ("yuv422p10le", 10, [luma, (181, 162), (181, 162)]),
    ("yuv444p12le", 12, [luma] * 3),
    ("rgb24", 8, [(181, 323, 3)]),
    ("gray", 8, [luma]),
]:
    dtype = np.uint8 if depth == 8 else np.uint16
    frame = tricodec.Frame.from_planes([rng.integers(0, 1 << depth, shape, dtype) for shape in shapes], name)
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
    done = subprocess.run([sys.executable, "-c", _PROGRAM], env=variables, capture_output=True, text=True, check=True)
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
