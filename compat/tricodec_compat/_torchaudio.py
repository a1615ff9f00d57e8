# SPDX-License-Identifier: Apache-2.0
"""torchaudio.io and torchaudio.utils.ffmpeg_utils, if torchaudio no longer has them or is not installed."""

from __future__ import annotations

import importlib
import importlib.util
import sys
from collections.abc import Sequence
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from types import ModuleType

# Module of torchaudio (and torio, where these classes live since 2.2) -> module here and the names that differ.
_MODULES = {
    "torchaudio.io": ("tricodec.io", {}),
    "torchaudio.utils.ffmpeg_utils": ("tricodec.io.ffmpeg_utils", {}),
    "torio.io": (
        "tricodec.io",
        {"StreamingMediaDecoder": "StreamReader", "StreamingMediaEncoder": "StreamWriter"},
    ),
    "torio.utils.ffmpeg_utils": ("tricodec.io.ffmpeg_utils", {}),
}
_VERSION = "2.8.0"  # the last release with these modules
_PACKAGES = ("torchaudio", "torchaudio.utils", "torio", "torio.utils")


class _Loader(Loader):
    def create_module(self, spec: ModuleSpec) -> ModuleType | None:
        return None

    def exec_module(self, module: ModuleType) -> None:
        source = _MODULES.get(module.__name__)
        if source is None:  # a package that is not installed: it only holds its modules
            module.__path__ = []
            if "." not in module.__name__:
                vars(module)["__version__"] = _VERSION
            return
        ours = importlib.import_module(source[0])
        names = {name: name for name in ours.__all__} | source[1]
        for name, here in names.items():
            setattr(module, name, getattr(ours, here))
        vars(module)["__all__"] = sorted(names)
        module.__doc__ = f"The names of {module.__name__} from {source[0]}."


class _Finder(MetaPathFinder):
    """Finds modules after all other finders have failed."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if fullname not in _MODULES and fullname not in _PACKAGES:
            return None
        return ModuleSpec(fullname, _Loader(), is_package=fullname in _PACKAGES)


_finder = _Finder()


def _is_ours(name: str) -> bool:
    spec = getattr(sys.modules.get(name), "__spec__", None)
    return isinstance(getattr(spec, "loader", None), _Loader)


def _lacks_streams(name: str) -> bool:
    """Whether the installed torchaudio has no such module, or has it without these classes (from 2.9 on)."""
    wanted = "StreamingMediaDecoder" if name.startswith("torio") else "StreamReader"
    if not name.endswith(".io"):
        wanted = "get_versions"
    try:
        module = importlib.import_module(name)
    except ImportError:
        return True
    return not hasattr(module, wanted)


def install_torchaudio(*, force: bool = False) -> tuple[str, ...]:
    """See `tricodec_compat.install`."""
    if _finder not in sys.meta_path:
        sys.meta_path.append(_finder)
    for name in _MODULES:
        if force or (not _is_ours(name) and _lacks_streams(name)):
            _put(name)
        else:
            importlib.import_module(name)
    return tuple(name for name in _MODULES if _is_ours(name))


def _put(name: str) -> None:
    parent = importlib.import_module(name.rpartition(".")[0])
    spec = ModuleSpec(name, _Loader())
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    _Loader().exec_module(module)
    setattr(parent, name.rpartition(".")[2], module)
