# SPDX-License-Identifier: Apache-2.0
"""A current FFmpeg for peers that bring none: torchcodec takes the newest of FFmpeg 4 to 8 that the linker finds."""

from __future__ import annotations

import importlib.util
import os
import re
from pathlib import Path

from benchmarks.decode.peers import MODULES
from benchmarks.environment import ROOT

_LINKS = ROOT / "build" / "bench-libraries"
_TAKERS = ("torchcodec",)  # modules of peers
# A wheel's library has a digest in its name: libavcodec-5e6b81c2.so.62.28.102.
_BUNDLED = re.compile(r"(lib(?:av|sw)[a-z]+)-[0-9a-f]{8}\.so\.(\d+)\.[\d.]+")


def bundled_libraries(package: str = "av") -> Path | None:
    """The folder of the libraries that a package's wheel carries; None where it is not a wheel's, or not here."""
    spec = importlib.util.find_spec(package)
    if spec is None or not spec.submodule_search_locations:
        return None
    installed = Path(spec.submodule_search_locations[0])
    folder = installed.with_name(f"{installed.name}.libs")
    return folder if folder.is_dir() else None


def link(libraries: Path, links: Path) -> None:
    """Gives FFmpeg's libraries of a wheel the names that a linker looks for, as links in a folder."""
    links.mkdir(parents=True, exist_ok=True)
    for old in links.iterdir():
        old.unlink()
    for library in sorted(libraries.iterdir()):
        if found := _BUNDLED.fullmatch(library.name):
            (links / f"{found[1]}.so.{found[2]}").symlink_to(library)


def environment(contender: str) -> dict[str, str]:
    """Of the process that measures a contender.

    Those that look for FFmpeg find PyAV's, the same release as in tricodec's wheel; where PyAV is not here, or the
    contender cannot load it, it tries the system's. What it took is in its versions.
    """
    variables = dict(os.environ)
    libraries = bundled_libraries() if MODULES.get(contender) in _TAKERS else None
    if libraries is None:
        return variables
    if not _LINKS.is_dir() or {path.resolve().parent for path in _LINKS.iterdir()} != {libraries.resolve()}:
        link(libraries, _LINKS)
    # Both: those libraries find each other in the folder of the name by which they were loaded, which is the links'.
    ours = [str(_LINKS), str(libraries)]
    variables["LD_LIBRARY_PATH"] = os.pathsep.join([*ours, *filter(None, [os.environ.get("LD_LIBRARY_PATH")])])
    return variables
