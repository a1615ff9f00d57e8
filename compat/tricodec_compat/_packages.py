# SPDX-License-Identifier: Apache-2.0
"""Whole packages under the names of others: torchcodec and decord."""

from __future__ import annotations

import importlib
import importlib.metadata
import importlib.util
import logging
import sys
from collections.abc import Iterable, Sequence
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from os import PathLike
from types import ModuleType
from typing import Any

_log = logging.getLogger("tricodec")

#: The releases that the names are of, by distribution. decord2's package is named decord too.
VERSIONS = {"torchcodec": "0.17.0", "decord": "0.6.0", "decord2": "3.4.0"}
#: The distribution that each package is of: that which was installed last.
DISTRIBUTIONS = {"torchcodec": "torchcodec", "decord": "decord"}
#: The package's name and where it is here: submodules have the same names.
PACKAGES = {"torchcodec": "tricodec_compat.torchcodec", "decord": "tricodec_compat.decord"}
# A submodule that is no package of its own is not looked up below it.
_PACKAGE_MODULES = {"torchcodec", "torchcodec.decoders", "torchcodec.encoders", "decord"}


class _Loader(Loader):
    """Gives a module of another package the names of the one here."""

    def create_module(self, spec: ModuleSpec) -> ModuleType | None:
        return None

    def exec_module(self, module: ModuleType) -> None:
        root, _, rest = module.__name__.partition(".")
        ours = importlib.import_module(f"{PACKAGES[root]}.{rest}".rstrip("."))
        module.__doc__ = ours.__doc__
        names = ours.__all__
        vars(module).update({name: getattr(ours, name) for name in names if not _is_submodule(ours, name)})
        vars(module)["__all__"] = [name for name in names if not name.startswith("__")]
        for name in names:
            if _is_submodule(ours, name):  # decord.nd is decord.ndarray
                submodule = getattr(ours, name).__name__.removeprefix(f"{ours.__name__}.")
                setattr(module, name, importlib.import_module(f"{module.__name__}.{submodule}"))


def _is_submodule(module: ModuleType, name: str) -> bool:
    return isinstance(getattr(module, name), ModuleType)


class _Distribution(importlib.metadata.Distribution):
    """What importlib.metadata says of a package that is put in place."""

    def __init__(self, name: str) -> None:
        self._name = name

    def read_text(self, filename: str) -> str | None:
        if filename != "METADATA":
            return None
        lines = ("Metadata-Version: 2.1", f"Name: {self._name}", f"Version: {VERSIONS[self._name]}")
        return "\n".join((*lines, "Summary: its names, from tricodec", ""))

    def locate_file(self, path: str | PathLike[str]) -> Any:
        raise FileNotFoundError(f"{self._name} is tricodec's and has no file {path}")


class _Finder(MetaPathFinder):
    """Finds the modules of the packages that are put in place, before all other finders."""

    def __init__(self) -> None:
        self.installed: set[str] = set()

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        root, _, rest = fullname.partition(".")
        if root not in self.installed:
            return None
        ours = f"{PACKAGES[root]}.{rest}".rstrip(".")
        if any(part.startswith("_") for part in rest.split(".")) or importlib.util.find_spec(ours) is None:
            return None
        spec = ModuleSpec(fullname, _Loader(), is_package=fullname in _PACKAGE_MODULES)
        spec.origin = ours
        return spec

    def find_distributions(
        self, context: importlib.metadata.DistributionFinder.Context | None = None
    ) -> Iterable[importlib.metadata.Distribution]:
        wanted = getattr(context, "name", None)
        names = {DISTRIBUTIONS[package] for package in self.installed}
        names = names if wanted is None else names & {wanted.lower()}
        return [_Distribution(name) for name in sorted(names)]


_finder = _Finder()


def install_packages(names: Iterable[str]) -> None:
    """Put packages in place, also of installed ones; modules that were imported before keep what they have."""
    if _finder not in sys.meta_path:
        sys.meta_path.insert(0, _finder)
    for distribution in names:
        name = "decord" if distribution == "decord2" else distribution
        changes = DISTRIBUTIONS[name] != distribution
        DISTRIBUTIONS[name] = distribution
        if name in _finder.installed and not changes:
            continue
        imported = [module for module in sys.modules if module == name or module.startswith(f"{name}.")]
        for module in imported:
            del sys.modules[module]
        _finder.installed.add(name)
        _log.info("%s is tricodec's%s", name, "; modules that imported the original before keep it" if imported else "")
