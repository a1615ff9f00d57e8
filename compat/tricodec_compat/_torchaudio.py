# SPDX-License-Identifier: Apache-2.0
"""torchaudio.io and torchaudio.utils.ffmpeg_utils, if torchaudio no longer has them or is not installed."""

from __future__ import annotations

import importlib
import sys
from importlib.machinery import ModuleSpec
from types import ModuleType

# Module of torchaudio (and torio, where these classes live since 2.2) -> module here and the names that differ.
_MODULES: dict[str, tuple[str, dict[str, str]]] = {
    "torchaudio.io": ("tricodec.io", {}),
    "torchaudio.utils.ffmpeg_utils": ("tricodec.io.ffmpeg_utils", {}),
    "torio.io": (
        "tricodec.io",
        {"StreamingMediaDecoder": "StreamReader", "StreamingMediaEncoder": "StreamWriter"},
    ),
    "torio.utils.ffmpeg_utils": ("tricodec.io.ffmpeg_utils", {}),
}
_VERSION = "2.8.0"  # the last release with these modules


def _is_ours(name: str) -> bool:
    return getattr(sys.modules.get(name), "__tricodec__", False)


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
    for name in _MODULES:
        if not _is_ours(name) and (force or _lacks_streams(name)):
            _put(name)
    return tuple(name for name in _MODULES if _is_ours(name))


def _put(name: str) -> None:
    source, others = _MODULES[name]
    ours = importlib.import_module(source)
    names = {each: each for each in ours.__all__} | others
    module = _new_module(name, f"The names of {name} from {source}.")
    vars(module).update({there: getattr(ours, here) for there, here in names.items()}, __tricodec__=True)
    vars(module)["__all__"] = sorted(names)


def _new_module(name: str, doc: str) -> ModuleType:
    """A module in its place, in packages that are made where they are not installed."""
    module = ModuleType(name, doc)
    module.__spec__ = ModuleSpec(name, None, is_package=True)
    module.__path__ = []
    sys.modules[name] = module
    package, _, last = name.rpartition(".")
    if package:
        setattr(_package(package), last, module)
    return module


def _package(name: str) -> ModuleType:
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        if error.name is None or not f"{name}.".startswith(f"{error.name}."):
            raise
    module = _new_module(name, "Holds the modules that tricodec has.")
    if "." not in name:
        vars(module)["__version__"] = _VERSION
    return module
