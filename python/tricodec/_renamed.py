# SPDX-License-Identifier: Apache-2.0
"""Old names that still work until the next minor version: each use gives a DeprecationWarning."""

from __future__ import annotations

import importlib
import sys
import warnings
from types import ModuleType
from typing import Any

#: Old module: the module that replaces it.
MODULES = {
    "tricodec.encode_parameters": "tricodec.encode",
    "tricodec.encode_settings": "tricodec.encode.settings",
    "tricodec.encode_table": "tricodec.encode.table",
}


def warn(old: str, new: str) -> None:
    """Warns of an old name on behalf of the function that calls this."""
    warnings.warn(f"{old} is deprecated; use {new}", DeprecationWarning, stacklevel=3)


class _OldModule(ModuleType):
    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") and name != "__all__":
            raise AttributeError(f"module {self.__name__!r} has no attribute {name!r}")
        new = MODULES[self.__name__]
        warn(self.__name__, new)
        return getattr(importlib.import_module(new), name)


def install() -> None:
    """Makes the old modules importable; they import nothing before their first use."""
    for name in MODULES:
        package, _, attribute = name.rpartition(".")
        sys.modules[name] = _OldModule(name)
        setattr(sys.modules[package], attribute, sys.modules[name])
