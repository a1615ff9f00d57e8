# SPDX-License-Identifier: Apache-2.0
"""The files of the installed package as paths for C++ programs, and what `import tricodec` checks first."""

from __future__ import annotations

import importlib.util
import logging
import os
import re
import sys
from pathlib import Path

__all__ = ["cmake_dir", "include_dir", "library_path"]

_PACKAGE = Path(__file__).resolve().parent


def _existing(path: Path, what: str) -> Path:
    if not path.exists():
        message = f"{what} is not at {path}: this installation of tricodec is not complete; reinstall the wheel"
        raise FileNotFoundError(message)
    return path


def library_path() -> Path:
    """Path of libtricodec.so, the library of all front ends.

    Raises:
        FileNotFoundError: the installation is not complete.
    """
    return _existing(_PACKAGE / "lib" / "libtricodec.so", "libtricodec.so")


def include_dir() -> Path:
    """Folder for the compiler's include path, which contains ``tricodec/tricodec.h``.

    Raises:
        FileNotFoundError: the installation is not complete.
    """
    return _existing(_PACKAGE / "include", "the folder of C++ headers")


def cache_dir() -> Path:
    """What is kept for later processes: $XDG_CACHE_HOME/tricodec, by default ~/.cache/tricodec."""
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "tricodec"


def cmake_dir() -> Path:
    """Folder for ``-Dtricodec_DIR=``, which contains ``tricodec-config.cmake``.

    Raises:
        FileNotFoundError: the installation is not complete.
    """
    return _existing(_PACKAGE / "lib" / "cmake" / "tricodec", "the CMake package")


_FFMPEG = re.compile(r"lib(avcodec|avformat|avutil|swresample|swscale)\.so\.(\d+)")
_MISSING = re.compile(r"(\S+\.so[\w.]*): cannot open shared object file")


def explain(error: ImportError) -> str:
    """The message of the ImportError that `import tricodec` raises, from that of the native module."""
    text = str(error)
    is_absent = isinstance(error, ModuleNotFoundError) and error.name in {"tricodec._tricodec", "_tricodec"}
    if is_absent or "cannot import name '_tricodec'" in text:
        return _no_module(text)
    ffmpeg = _FFMPEG.search(text)
    if ffmpeg:
        return (
            f"tricodec needs FFmpeg's {ffmpeg[0]}, which the loader cannot find ({text}). Install the FFmpeg libraries "
            "that this wheel was built with (Debian: apt-get install ffmpeg), put their folder on LD_LIBRARY_PATH, or "
            "build tricodec against the FFmpeg of this machine: pip install --no-binary tricodec tricodec"
        )
    missing = _MISSING.search(text)
    if missing:
        return f"tricodec needs {missing[1]}, which the loader cannot find ({text})"
    return f"tricodec's native module could not be loaded: {text}"


def _no_module(text: str) -> str:
    tag = f"cpython-{sys.version_info.major}{sys.version_info.minor}"
    built = ", ".join(sorted(path.name for path in _PACKAGE.glob("_tricodec*.so"))) or "none"
    return (
        f"there is no native module of tricodec for this interpreter ({tag}; found in {_PACKAGE}: {built}). Install "
        f"tricodec with this interpreter: {sys.executable} -m pip install tricodec ({text})"
    )


def _is_sub_interpreter() -> bool:
    try:
        import ctypes
    except ImportError:
        if importlib.util.find_spec("_ctypes") is not None:  # Python 3.12 does not load it there
            return True
        raise

    def interpreter(function: str) -> int | None:
        call = ctypes.pythonapi[function]  # an object of our own, unlike ctypes.pythonapi.NAME
        call.argtypes = ()
        call.restype = ctypes.c_void_p
        address: int | None = call()
        return address

    return interpreter("PyInterpreterState_Get") != interpreter("PyInterpreterState_Main")


def refuse_sub_interpreter() -> None:
    """Threads of the library take the lock of the main interpreter, for which a sub-interpreter would wait forever."""
    if _is_sub_interpreter():
        raise ImportError(
            "tricodec cannot be imported in a sub-interpreter; import it in the main interpreter and use threads, or "
            "start processes"
        )


def refuse_no_lock() -> None:
    """A free-threaded Python turns its lock on when it imports the extension module, unless it is told not to."""
    is_enabled = getattr(sys, "_is_gil_enabled", None)
    if is_enabled is not None and not is_enabled():
        raise ImportError("tricodec needs the global interpreter lock; start Python without PYTHON_GIL=0 and -X gil=0")


_LEVELS = {"debug": logging.DEBUG, "info": logging.INFO, "warning": logging.WARNING, "error": logging.ERROR}


def configure_logging() -> None:
    """Apply TRICODEC_LOG. Without this variable the logger stays unchanged."""
    level = {**_LEVELS, "off": logging.CRITICAL + 1}.get(os.environ.get("TRICODEC_LOG", ""))
    if level is None:
        return
    logger = logging.getLogger("tricodec")
    logger.setLevel(level)
    # Python's handler of last resort prints warnings only, but the variable may request more.
    if not logger.handlers and not logging.getLogger().handlers:
        handler = logging.StreamHandler()
        handler.setFormatter(logging.Formatter("tricodec %(levelname)s: %(message)s"))
        logger.addHandler(handler)
