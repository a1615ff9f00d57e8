# SPDX-License-Identifier: Apache-2.0
"""``from nvidia import nvcomp`` without NVIDIA's own package and without the distribution tricodec-nvcomp."""

from __future__ import annotations

import importlib.metadata
import importlib.util
import logging
import os
import sys
from collections.abc import Sequence
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from types import ModuleType

_NAMES = ("nvidia.nvcomp", "nvidia.nvcomp.external_memory")
_log = logging.getLogger("tricodec")


class _Loader(Loader):
    def create_module(self, spec: ModuleSpec) -> ModuleType | None:
        return None

    def exec_module(self, module: ModuleType) -> None:
        from tricodec import nvcomp

        names: tuple[str, ...] = ("ExternalMemory",)
        if module.__name__ == "nvidia.nvcomp":
            names = (*nvcomp.__all__, "__all__", "__doc__", "__version__", "__cuda_version__", "__dir__")
        vars(module).update({name: getattr(nvcomp, name) for name in names}, __tricodec__=True)


class _Finder(MetaPathFinder):
    """Finds tricodec's modules, and an empty package ``nvidia`` if no other finder has one."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if fullname == "nvidia" and sys.meta_path[-1] is self:
            return ModuleSpec(fullname, None, is_package=True)
        return ModuleSpec(fullname, _Loader(), is_package=fullname == _NAMES[0]) if fullname in _NAMES else None


def _is_shipped(origin: str | None) -> bool:
    """Whether a file is that of the distribution tricodec-nvcomp."""
    try:
        shipped = importlib.metadata.distribution("tricodec-nvcomp").locate_file("nvidia/nvcomp/__init__.py")
    except importlib.metadata.PackageNotFoundError:
        return False
    return origin is not None and os.path.realpath(origin) == os.path.realpath(str(shipped))


def install_nvidia_names() -> None:
    """Make ``from nvidia import nvcomp`` find `tricodec.nvcomp` if NVIDIA's own package is not installed.

    With the environment variable TRICODEC_NVIDIA_NVCOMP=1 it finds tricodec's module even if NVIDIA's package is
    installed, unless that is already imported. The log at level INFO says which package the name gives.
    """
    sys.meta_path.append(_Finder())
    if os.environ.get("TRICODEC_NVIDIA_NVCOMP", "") not in ("", "0"):
        sys.meta_path.insert(0, _Finder())
    spec = importlib.util.find_spec("nvidia.nvcomp")
    if spec is None:
        return
    if isinstance(spec.loader, _Loader) or _is_shipped(spec.origin):
        _log.info("nvidia.nvcomp is tricodec's, under the name tricodec.nvcomp too")
    else:
        _log.info(
            "nvidia.nvcomp is NVIDIA's own package (%s); tricodec's is tricodec.nvcomp, and answers to both names with "
            "TRICODEC_NVIDIA_NVCOMP=1",
            spec.origin,
        )
