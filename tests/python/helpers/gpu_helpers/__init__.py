# SPDX-License-Identifier: Apache-2.0
"""What tests of GPU code share: stand-ins for the driver and nvCOMP, for what can be tested without a GPU."""

from __future__ import annotations

import atexit
import contextlib
import ctypes
import functools
import json
import os
import subprocess
import sys
import tempfile
import textwrap
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from preloaded import Preloaded

Run = Callable[[str], None]

_HERE = Path(__file__).parent

# Runs one piece of code a line of JSON, each in a namespace of its own.
_LOOP = """
import json, sys, traceback
for line in sys.stdin:
    answer = ""
    try:
        exec(compile(json.loads(line), "<test>", "exec"), {})
    except BaseException:
        answer = traceback.format_exc()
    print(json.dumps(answer), flush=True)
"""

_PRINT_RAISED = """
def raised(call):
    import tricodec
    try:
        call()
    except tricodec.Error as error:
        print(type(error).__name__, error)
        return
    raise AssertionError("nothing was raised")
"""

# What such pieces of code have: how a call fails, and an array by its interface alone.
_PRELUDE = """
import ctypes, gc, os
import numpy as np

def raised(call):
    try:
        call()
    except Exception as error:
        return error
    raise AssertionError("nothing was raised")

class Interface:
    def __init__(self, array, **changes):
        self.array = array
        self.__cuda_array_interface__ = {**array.__cuda_array_interface__, **changes}

def logged_calls():
    with open(os.environ["FAKE_CUDA_LOG"], "a+") as file:
        file.seek(0)
        return [line.split() for line in file]
"""


def has_cuda() -> bool:
    """Whether this machine has a driver with at least one GPU."""
    try:
        cuda = ctypes.CDLL("libcuda.so.1")
    except OSError:
        return False
    count = ctypes.c_int()
    return cuda.cuInit(0) == 0 and cuda.cuDeviceGetCount(ctypes.byref(count)) == 0 and count.value > 0


def busy(stream: Any, milliseconds: int) -> None:
    """Keeps a stream of PyTorch at work, for about as long."""
    import torch

    with torch.cuda.stream(stream):
        for _ in range(milliseconds // 20):
            torch.cuda._sleep(int(20 * 1.5e6))  # cycles


def build_fake_driver(folder: Path) -> Path:
    """Compiles fake_libcuda.c to folder/libcuda.so.1 and returns the folder."""
    _compile("fake_libcuda.c", folder / "libcuda.so.1")
    return folder


def build_fake_decoder(folder: Path) -> Path:
    """Compiles fake_libnvcuvid.c to folder/libnvcuvid.so.1, beside build_fake_driver()'s, and returns the folder."""
    headers = subprocess.run(["pkg-config", "--cflags", "ffnvcodec"], capture_output=True, text=True, check=True)
    _compile("fake_libnvcuvid.c", folder / "libnvcuvid.so.1", *headers.stdout.split())
    return folder


def build_fake_nvcomp(folder: Path, release: int = 5) -> Path:
    """Compiles fake_libnvcomp.c as nvCOMP 5 or 6 into the folder, for TRICODEC_LIBNVCOMP, and returns the file."""
    return _compile("fake_libnvcomp.c", folder / f"libnvcomp.so.{release}", f"-DRELEASE={release}")


def _compile(source: str, library: Path, *options: str) -> Path:
    library.write_bytes(_compiled(source, *options))
    library.chmod(0o755)
    return library


@functools.cache
def _compiled(source: str, *options: str) -> bytes:
    """The library, which several modules of tests have in folders of their own."""
    command = [os.environ.get("CC", "cc"), "-shared", "-fPIC", "-O1", *options]
    with tempfile.NamedTemporaryFile(suffix=".so") as file:
        subprocess.run([*command, "-o", file.name, _HERE / source, "-ldl"], check=True)
        return Path(file.name).read_bytes()


def environment_with_driver(folder: Path, **variables: str) -> dict[str, str]:
    """The environment of a process with the driver in `folder`; arguments are more variables."""
    paths = [str(folder), *os.environ.get("LD_LIBRARY_PATH", "").split(os.pathsep)]
    kept = {name: value for name, value in os.environ.items() if name != "TRICODEC_DEVICE"}  # these tests are of a GPU
    return {**kept, "LD_LIBRARY_PATH": os.pathsep.join(path for path in paths if path), **variables}


_forks: dict[Path, Preloaded] = {}


def run_with_driver(folder: Path, code: str, **variables: str) -> subprocess.CompletedProcess[str]:
    """Runs Python code in a process of its own where the driver is the one in `folder`."""
    if all(name.startswith(("FAKE_", "TRICODEC_LIBNVCOMP")) for name in variables):  # read when they are used
        if folder not in _forks:
            close_forks()
            _forks[folder] = Preloaded(["numpy", "tricodec"], environment_with_driver(folder), ("-W", "error"))
        return _forks[folder].run_code(code, **variables)
    return subprocess.run(
        [sys.executable, "-W", "error", "-c", code], capture_output=True, text=True, check=False,
        env=environment_with_driver(folder, **variables),
    )  # fmt: skip


@atexit.register
def close_forks() -> None:
    """Ends the process with the driver that was used last: the tests of a folder come one after another."""
    for each in _forks.values():
        each.close()
    _forks.clear()


def printed_with_driver(folder: Path, code: str, **variables: str) -> str:
    """What such code prints, which may end with a call of its function `raised`: the class and text of an error."""
    result = run_with_driver(folder, _PRINT_RAISED + code, **variables)
    assert result.returncode == 0, result.stderr
    return result.stdout


class ProcessWithDriver:
    """A process with the driver of a folder that runs one piece of code after another: starting one takes a while."""

    def __init__(self, folder: Path, **variables: str) -> None:
        """Starts it."""
        self._process = subprocess.Popen(
            [sys.executable, "-W", "error", "-c", _LOOP], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
            env=environment_with_driver(folder, **variables),
        )  # fmt: skip

    def run(self, code: str) -> None:
        """Runs code that prints nothing. Raises AssertionError with its traceback, or if the process died."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(json.dumps(code) + "\n")
        self._process.stdin.flush()
        answer = self._process.stdout.readline()
        if not answer:
            message = f"the process ended with {self._process.wait()}"
            raise AssertionError(message)
        error = json.loads(answer)
        if error:
            raise AssertionError(error)

    def close(self) -> None:
        """Ends the process."""
        self._process.communicate()


@contextlib.contextmanager
def runner_with_driver(folder: Path, prelude: str, **variables: str) -> Iterator[Run]:
    """Runs indented pieces of code, each after `prelude`, in one process with a driver that is built in `folder`."""
    process = ProcessWithDriver(build_fake_driver(folder), FAKE_CUDA_LOG=str(folder / "calls"), **variables)
    try:
        yield lambda code: process.run(_PRELUDE + prelude + textwrap.dedent(code))
    finally:
        process.close()
