# SPDX-License-Identifier: Apache-2.0
"""NVIDIA's package from PyPI: its sample programs, and its module beside a driver that has no GPU.

TRICODEC_PYNV names a folder in which the package and its samples are installed, for machines without a network.
"""

from __future__ import annotations

import atexit
import functools
import importlib.util
import os
import re
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from gpu_helpers import has_cuda
from preloaded import Preloaded
from wheels import unpacked

VERSION = "2.2.4"
_HELPERS = Path(__file__).resolve().parents[1]
_THAT_USE_TORCH = ("basic/simple_decode_sampling.py",)


def folder() -> Path:
    """The unpacked wheel. Skips the test if PyPI cannot be reached."""
    if given := os.environ.get("TRICODEC_PYNV"):
        return Path(given).resolve()
    return unpacked(f"pynvvideocodec-{VERSION}-{sys.implementation.cache_tag}", f"pynvvideocodec=={VERSION}")


def environment(*, torch: bool = True) -> dict[str, str]:
    """What sample programs find: pycuda, and PyTorch where it is not installed or not wanted."""
    names = ["pycuda_package", "."] + ([] if torch and importlib.util.find_spec("torch") else ["torch_package"])
    paths = [*(str(_HELPERS / name) for name in names), os.environ.get("PYTHONPATH", "")]
    return {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, paths))}


def run_sample(name: str, *arguments: object, cwd: Path) -> str:
    """Runs a sample program, as the wheel has it, in a folder of the test; returns what it prints.

    Most samples print their errors and end with status 0, so tests look at the files, too. All import PyTorch, which
    takes longer than the rest of them, and few use it: without a GPU the others get the stand-in.
    """
    script = folder() / "samples" / name
    if has_cuda():
        return _output([sys.executable, script, *arguments], cwd)
    return _checked(_with_packages(torch=name in _THAT_USE_TORCH).run(script, *arguments, cwd=cwd))


@functools.cache
def _with_packages(*, torch: bool) -> Preloaded:
    """Where samples run: what they all import takes longer than most of them."""
    packages = ["torch"] if torch and importlib.util.find_spec("torch") else []
    started = Preloaded(["numpy", "PyNvVideoCodec", *packages], environment(torch=torch))
    atexit.register(started.close)
    return started


def _output(command: Sequence[object], cwd: Path) -> str:
    words = list(map(str, command))
    return _checked(
        subprocess.run(words, cwd=cwd, env=environment(), capture_output=True, text=True, check=False, timeout=300)
    )


def _checked(result: subprocess.CompletedProcess[str]) -> str:
    """What a sample printed, without a failure."""
    assert result.returncode == 0, result.stdout + result.stderr
    assert not re.search(r"unexpected error|failure|rror occurred", result.stdout), result.stdout
    return result.stdout


def run_with_module(code: str, libraries: Path) -> str:
    """What code prints that imports NVIDIA's module, beside driver libraries of which every call fails."""
    _build_driver(libraries)
    paths = [str(libraries), os.environ.get("LD_LIBRARY_PATH", "")]
    variables = {**os.environ, "PYTHONPATH": str(folder()), "LD_LIBRARY_PATH": os.pathsep.join(filter(None, paths))}
    result = subprocess.run([sys.executable, "-c", code], env=variables, capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stderr
    return result.stdout


def _build_driver(target: Path) -> None:
    """libcuda with the functions that the module names, and libnvidia-encode, which it asks for a version."""
    module = next((folder() / "PyNvVideoCodec").glob("PyNvVideoCodec_130.*.so"))
    symbols = subprocess.run(["nm", "-D", "--undefined-only", module], capture_output=True, text=True, check=True)
    names = re.findall(r" U (cu[A-Z]\w*)$", symbols.stdout, re.MULTILINE)
    sources = {
        "libcuda.so.1": "".join(f"int {name}(void) {{ return 100; }}\n" for name in names),
        "libnvidia-encode.so.1": "int NvEncodeAPIGetMaxSupportedVersion(unsigned* v) { *v = 13 << 4; return 0; }\n",
    }
    for name, source in sources.items():
        compiler = [os.environ.get("CC", "cc"), "-shared", "-fPIC", "-x", "c", "-", "-o", str(target / name)]
        subprocess.run(compiler, input=source, text=True, check=True)
