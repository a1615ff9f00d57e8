# SPDX-License-Identifier: Apache-2.0
"""Old names that still work until the next minor version: each use gives a DeprecationWarning."""

from __future__ import annotations

import importlib
import sys
import warnings
from collections.abc import Sequence
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from types import ModuleType

#: Old module: the module that replaces it.
MODULES = {
    "tricodec.encode_parameters": "tricodec.encode",
    "tricodec.encode_settings": "tricodec.encode.settings",
    "tricodec.encode_table": "tricodec.encode.table",
}


def warn(old: str, new: str, *, stacklevel: int = 3) -> None:
    """Warns of an old name; the default `stacklevel` names the caller of the function that calls this."""
    warnings.warn(f"{old} is deprecated; use {new}", DeprecationWarning, stacklevel=stacklevel)


class _Finder(MetaPathFinder, Loader):
    """Finds old modules after all other finders have failed, and imports the new module in their place."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        return ModuleSpec(fullname, self) if fullname in MODULES else None

    def create_module(self, spec: ModuleSpec) -> ModuleType | None:
        return None

    def exec_module(self, module: ModuleType) -> None:
        name = module.__name__
        warn(name, MODULES[name])
        sys.modules[name] = importlib.import_module(MODULES[name])


def install() -> None:
    """Makes the old modules importable."""
    sys.meta_path.append(_Finder())
