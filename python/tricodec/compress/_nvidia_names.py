# SPDX-License-Identifier: Apache-2.0
"""``from nvidia import nvcomp`` without NVIDIA's own package and without the distribution tricodec-nvcomp."""

from __future__ import annotations

import importlib
import importlib.metadata
import importlib.util
import logging
import os
import sys
from importlib.machinery import ModuleSpec
from types import ModuleType

_NAME = "nvidia.nvcomp"
_log = logging.getLogger("tricodec")


def _is_shipped(origin: str | None) -> bool:
    """Whether a file is that of the distribution tricodec-nvcomp."""
    try:
        shipped = importlib.metadata.distribution("tricodec-nvcomp").locate_file("nvidia/nvcomp/__init__.py")
    except importlib.metadata.PackageNotFoundError:
        return False
    return origin is not None and os.path.realpath(origin) == os.path.realpath(str(shipped))


def _new_module(name: str, names: dict[str, object]) -> ModuleType:
    module = ModuleType(name)
    module.__spec__ = ModuleSpec(name, None, is_package=True)
    vars(module).update({"__path__": [], "__tricodec__": True, **names})
    sys.modules[name] = module
    return module


def _put(ours: ModuleType) -> None:
    """Makes the modules, in a package ``nvidia`` that is empty where there is none."""
    try:
        nvidia = importlib.import_module("nvidia")
    except ModuleNotFoundError:
        nvidia = _new_module("nvidia", {})
    shown = (*ours.__all__, "__all__", "__doc__", "__version__", "__cuda_version__", "__dir__")
    module = _new_module(_NAME, {name: getattr(ours, name) for name in shown})
    memory = _new_module(f"{_NAME}.external_memory", {"ExternalMemory": ours.ExternalMemory})
    vars(module)["external_memory"] = memory
    vars(nvidia)["nvcomp"] = module


def install_nvidia_names(ours: ModuleType) -> None:
    """Make ``from nvidia import nvcomp`` give `ours` if NVIDIA's own package is not installed.

    With the environment variable TRICODEC_NVIDIA_NVCOMP=1 it gives `ours` even if NVIDIA's package is installed,
    unless that is already imported. The log at level INFO says which package the name gives.
    """
    try:
        theirs = importlib.util.find_spec(_NAME)
    except ModuleNotFoundError:  # there is no package nvidia
        theirs = None
    is_wanted = os.environ.get("TRICODEC_NVIDIA_NVCOMP", "") not in ("", "0") and _NAME not in sys.modules
    if theirs is None or is_wanted:
        _put(ours)
    elif not _is_shipped(theirs.origin):
        _log.info(
            "nvidia.nvcomp is NVIDIA's own package (%s); tricodec's is tricodec.nvcomp, and answers to both names with "
            "TRICODEC_NVIDIA_NVCOMP=1",
            theirs.origin,
        )
        return
    _log.info("nvidia.nvcomp is tricodec's, under the name tricodec.nvcomp too")
