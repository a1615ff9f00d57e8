# SPDX-License-Identifier: Apache-2.0
"""Where the package keeps what C++ programs build and run against."""

from __future__ import annotations

from pathlib import Path

_PACKAGE = Path(__file__).resolve().parent


def _existing(path: Path, what: str) -> Path:
    if not path.exists():
        message = f"{what} is not at {path}: this copy of tricodec is not a complete installation; reinstall the wheel"
        raise FileNotFoundError(message)
    return path


def library_path() -> Path:
    """Path of libtricodec.so, the library that every door uses.

    Raises:
        FileNotFoundError: if the package is not completely installed.
    """
    return _existing(_PACKAGE / "lib" / "libtricodec.so", "libtricodec.so")


def include_dir() -> Path:
    """Folder to put on the compiler's include path: it holds ``tricodec/tricodec.h``.

    Raises:
        FileNotFoundError: if the package is not completely installed.
    """
    return _existing(_PACKAGE / "include", "the folder of C++ headers")


def cmake_dir() -> Path:
    """Folder for ``-Dtricodec_DIR=``: it holds ``tricodec-config.cmake``.

    Raises:
        FileNotFoundError: if the package is not completely installed.
    """
    return _existing(_PACKAGE / "lib" / "cmake" / "tricodec", "the CMake package")
