# SPDX-License-Identifier: Apache-2.0
"""Lets ``from nvidia import nvcomp`` find tricodec's where NVIDIA's own package is not installed.

Nothing is put into the folder ``nvidia``, which belongs to others' wheels: this finder stands behind Python's own, and
answers for ``nvidia.nvcomp`` (and for ``nvidia`` where there is no such folder at all) when those have found nothing.
With TRICODEC_NVIDIA_NVCOMP=1 it stands before them, and tricodec's answers in any case. Without, a second one stands
before them that finds nothing itself, but says when NVIDIA's is imported: that module says nothing of tricodec.

This module is imported when Python starts, by a line in tricodec_nvcomp.pth, and so imports next to nothing.
"""

from __future__ import annotations

import os
import sys

TYPE_CHECKING = False  # typing would be one import more
if TYPE_CHECKING:
    from collections.abc import Sequence
    from importlib.machinery import ModuleSpec
    from types import ModuleType
    from typing import Any


class Finder:
    """A finder of sys.meta_path."""

    @staticmethod
    def find_spec(name: str, path: Sequence[str] | None = None, target: ModuleType | None = None) -> ModuleSpec | None:
        """The spec of a module that this finder answers for, else None."""
        if name not in ("nvidia", "nvidia.nvcomp", "nvidia.nvcomp.external_memory"):
            return None
        from importlib.machinery import ModuleSpec

        loader: Any = Finder
        if name == "nvidia":
            # In front of the others only to be asked for nvidia.nvcomp.
            return ModuleSpec(name, None, is_package=True) if sys.meta_path[-1] is Finder else None
        return ModuleSpec(name, loader, is_package=name == "nvidia.nvcomp")

    @staticmethod
    def create_module(spec: ModuleSpec) -> ModuleType:
        """tricodec.nvcomp itself; the name below it holds ExternalMemory, as NVIDIA's does."""
        import types

        from tricodec import nvcomp

        module = types.ModuleType(spec.name, nvcomp.__doc__)
        if spec.name == "nvidia.nvcomp":
            module.__dict__.update({key: getattr(nvcomp, key) for key in (*nvcomp.__all__, "__version__")})
            module.__dict__.update({"__cuda_version__": nvcomp.__cuda_version__, "__all__": nvcomp.__all__})
        else:
            module.__dict__["ExternalMemory"] = nvcomp.ExternalMemory
        module.__dict__["__tricodec__"] = True
        return module

    @staticmethod
    def exec_module(module: ModuleType) -> None:
        """Nothing is left to run."""


class Witness:
    """A finder of sys.meta_path that leaves the finding to the others and says what they found."""

    @staticmethod
    def find_spec(name: str, path: Sequence[str] | None = None, target: ModuleType | None = None) -> ModuleSpec | None:
        """What the other finders but tricodec's say."""
        if name != "nvidia.nvcomp":
            return None
        for finder in sys.meta_path:
            find = getattr(finder, "find_spec", None)
            if find is None or finder is Witness or finder is Finder:
                continue
            spec: ModuleSpec | None = find(name, path, target)
            if spec is not None:
                say_which_answers(spec)
                return spec
        return None


_said = False


def say_which_answers(spec: ModuleSpec | None) -> None:
    """One INFO line to the logger "tricodec" in a process: whose nvidia.nvcomp is.

    Args:
        spec: that module's, None if there is none.
    """
    global _said  # noqa: PLW0603 (imports of one module are not run side by side)
    if _said or spec is None:
        return
    _said = True
    import logging

    log = logging.getLogger("tricodec")
    if spec.origin is None:  # the finder's own has none
        log.info("nvidia.nvcomp is tricodec's, under the name tricodec.nvcomp too")
    else:
        log.info(
            "nvidia.nvcomp is NVIDIA's own package (%s); tricodec's is tricodec.nvcomp, and answers to both names with "
            "TRICODEC_NVIDIA_NVCOMP=1",
            spec.origin,
        )


def install() -> None:
    """Puts the finders in their places, once."""
    if Finder in sys.meta_path:
        return
    if os.environ.get("TRICODEC_NVIDIA_NVCOMP", "") not in ("", "0"):
        sys.meta_path.insert(0, Finder)
    else:
        sys.meta_path.append(Finder)
        sys.meta_path.insert(0, Witness)


install()
