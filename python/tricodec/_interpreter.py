# SPDX-License-Identifier: Apache-2.0
"""Refuses interpreters that the extension module cannot work in, before they wait forever."""

from __future__ import annotations

import importlib.util
import sys


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
    """Threads of the library take the lock of the main interpreter, for which a sub-interpreter would wait forever.

    Raises:
        ImportError: in a sub-interpreter.
    """
    if _is_sub_interpreter():
        message = (
            "tricodec cannot be imported in a sub-interpreter; import it in the main interpreter and use threads, or "
            "start processes"
        )
        raise ImportError(message)


def refuse_no_lock() -> None:
    """A free-threaded Python turns its lock on when it imports the extension module, unless it is told not to.

    Raises:
        ImportError: if the global interpreter lock is off.
    """
    is_enabled = getattr(sys, "_is_gil_enabled", None)
    if is_enabled is not None and not is_enabled():
        message = "tricodec needs the global interpreter lock; start Python without PYTHON_GIL=0 and -X gil=0"
        raise ImportError(message)
