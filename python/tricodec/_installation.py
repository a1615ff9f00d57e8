# SPDX-License-Identifier: Apache-2.0
"""The files of the installed package: paths for C++ programs, and the reason if the native module cannot be loaded."""

from __future__ import annotations

import re
import sys
from pathlib import Path

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


def cmake_dir() -> Path:
    """Folder for ``-Dtricodec_DIR=``, which contains ``tricodec-config.cmake``.

    Raises:
        FileNotFoundError: the installation is not complete.
    """
    return _existing(_PACKAGE / "lib" / "cmake" / "tricodec", "the CMake package")


_FFMPEG = re.compile(r"lib(avcodec|avformat|avutil|swresample|swscale)\.so\.(\d+)")
_MISSING = re.compile(r"(\S+\.so[\w.]*): cannot open shared object file")


def explain(error: ImportError) -> str:
    """The message of the ImportError that `import tricodec` raises.

    Args:
        error: the error of the import of the native module.
    """
    package = Path(__file__).resolve().parent
    text = str(error)
    if isinstance(error, ModuleNotFoundError) and error.name in {"tricodec._tricodec", "_tricodec"}:
        return _no_module(package, text)
    if isinstance(error, ImportError) and "cannot import name '_tricodec'" in text:
        return _no_module(package, text)
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


def _no_module(package: Path, text: str) -> str:
    tag = f"cpython-{sys.version_info.major}{sys.version_info.minor}"
    built = ", ".join(sorted(path.name for path in package.glob("_tricodec*.so"))) or "none"
    return (
        f"there is no native module of tricodec for this interpreter ({tag}; found in {package}: {built}). Install "
        f"tricodec with this interpreter: {sys.executable} -m pip install tricodec ({text})"
    )
