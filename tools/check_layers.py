# SPDX-License-Identifier: Apache-2.0
"""Holds the layers of C++ of docs/explanation/architecture.md: what each layer may include, and how large it may be.

Core: base <- tensor <- io <- ffmpeg <- bitstream <- container, base <- selection; container <- index, decode, audio,
swscale; decode <- encode; index and decode <- read <- streams; tensor <- image and compress. Some layers use image,
audio and encoders by their public headers. The front ends use the core's public headers. import-linter holds the layers
of Python (pyproject.toml). A part is a .h and its .cpp (or .cu); no parts include each other, and the levels of a layer
are the parts of the longest chain of includes inside of it.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]

_MEDIA = {"base", "tensor", "io", "ffmpeg", "bitstream", "container"}

# By layer: the layers with private headers that it may include, and those with public headers that it may.
PRIVATE_ALLOWED = {
    "base": {"base"},
    "tensor": {"base", "tensor"},
    "selection": {"base", "selection"},
    "io": {"base", "tensor", "io"},
    "ffmpeg": {"base", "tensor", "io", "ffmpeg"},
    "bitstream": {"base", "tensor", "io", "ffmpeg", "bitstream"},
    "container": {*_MEDIA},
    "index": {*_MEDIA, "selection", "index"},
    "decode": {*_MEDIA, "decode"},
    "encode": {*_MEDIA, "decode", "encode"},
    "swscale": {*_MEDIA, "swscale"},
    "audio": {*_MEDIA, "audio"},
    "image": {"base", "tensor", "image"},
    "compress": {"base", "tensor", "compress"},
    "read": {*_MEDIA, "selection", "index", "decode", "read"},
    "streams": {*_MEDIA, "selection", "index", "decode", "read", "streams"},
}
# What a layer uses by its public headers alone.
ABOVE = {
    "encode": {"image", "audio", "index", "selection", "read"},
    "swscale": {"image"},
    "read": {"image"},
    "streams": {"image", "encode"},
}
PUBLIC_ALLOWED = {layer: layers | ABOVE.get(layer, set()) for layer, layers in PRIVATE_ALLOWED.items()}

# The layers that were one until a reader could not tell what a read needs.
SMALL_LAYERS = ("io", "bitstream", "container", "selection", "index", "decode", "encode", "read")
MOST_PARTS, MOST_LEVELS = 20, 6

SUFFIXES = (".h", ".cpp", ".cu", ".cuh")
ROOTS = {"core": ("core", "core/include"), "plugin": ("plugin",), "python/bindings": ("python/bindings",)}
_INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^">]+)[">]', re.MULTILINE)


def includes(path: Path) -> Iterator[tuple[int, str, str]]:
    """Line number, bracket and name of each include."""
    text = path.read_text()
    for match in _INCLUDE.finditer(text):
        yield text.count("\n", 0, match.start()) + 1, match[1], match[2]


def sources(folder: str) -> list[Path]:
    return [path for path in sorted((ROOT / folder).rglob("*")) if path.suffix in SUFFIXES and path.is_file()]


def public_layer(name: str) -> str | None:
    """The layer of a public header, tricodec/LAYER/NAME.h; "all" for tricodec/tricodec.h; None for another name."""
    parts = name.split("/")
    if parts == ["tricodec", "tricodec.h"]:
        return "all"
    return parts[1] if len(parts) == 3 and parts[0] == "tricodec" else None


def check_core() -> Iterator[str]:
    for path in sources("core"):
        relative = path.relative_to(ROOT)
        public = relative.parts[1] == "include"
        layer = public_layer("/".join(relative.parts[2:])) if public else relative.parts[1]
        if layer is None or (layer not in PRIVATE_ALLOWED and layer != "all"):
            yield f"{relative}: belongs to no layer; put it in a layer's folder"
            continue
        if layer == "all":
            continue
        for line, bracket, name in includes(path):
            where = f"{relative}:{line}: {layer} includes {name}"
            if name.startswith("tricodec/"):
                other = public_layer(name)
                if other not in PUBLIC_ALLOWED[layer]:
                    yield f"{where}, which is of {other}; allowed: {', '.join(sorted(PUBLIC_ALLOWED[layer]))}"
            elif bracket == '"':
                if public:
                    yield f"{where}: a public header may include public headers only"
                elif name.split("/")[0] not in PRIVATE_ALLOWED[layer] and not (path.parent / name).is_file():
                    yield f"{where}; allowed private folders: {', '.join(sorted(PRIVATE_ALLOWED[layer]))}"
            elif re.match(r"(dali|pybind11|cuda|nvcuvid|Python)", name):
                yield f"{where}: the core knows no DALI, no Python and no CUDA toolkit"


def check_cpp_front_ends() -> Iterator[str]:
    for folder in ("python/bindings", "plugin"):
        for path in sources(folder):
            for line, bracket, name in includes(path):
                where = f"{path.relative_to(ROOT)}:{line}"
                known = public_layer(name) is not None
                local = (path.parent / name).is_file() or (ROOT / folder / name).is_file()
                if path.parent == ROOT / "plugin/common" and name.startswith("ops/"):
                    yield f"{where}: plugin/common is below plugin/ops and may not include {name}"
                elif (name.startswith("tricodec/") and not known) or (bracket == '"' and not known and not local):
                    yield f"{where}: {folder} may include its own headers and those of tricodec/, not {name}"
                if re.match(r"libav|libsw", name):
                    yield f"{where}: only the core uses FFmpeg, not {folder} ({name})"


def parts_of(folder: str) -> dict[str, set[str]]:
    """The parts of a folder, and those that each includes."""
    edges: dict[str, set[str]] = {}
    for path in sources(folder):
        for _, _, name in [(0, "", path.name), *includes(path)]:
            bases = (path.parent, *(ROOT / root for root in ROOTS[folder]))
            found = next((base / name for base in bases if (base / name).is_file()), path).resolve()
            part, other = (each.relative_to(ROOT).with_suffix("").as_posix() for each in (path, found))
            edges.setdefault(part, set()).update({other} - {part})
    return edges


def num_levels(edges: dict[str, set[str]]) -> int:
    """The parts of the longest chain of includes."""
    levels: dict[str, int] = {}
    for part in TopologicalSorter(edges).static_order():
        levels[part] = 1 + max((levels[other] for other in edges[part]), default=0)
    return max(levels.values(), default=0)


def check_parts() -> Iterator[str]:
    for folder in ROOTS:
        edges = parts_of(folder)
        try:
            TopologicalSorter(edges).prepare()
        except CycleError as error:
            yield f"these include each other: {', '.join(error.args[1])}"
            continue
        for layer in SMALL_LAYERS if folder == "core" else ():
            parts = {part for part in edges if part.startswith(f"core/{layer}/")}
            found = len(parts), num_levels({part: edges[part] & parts for part in parts})
            if found[0] > MOST_PARTS or found[1] > MOST_LEVELS:
                yield f"core/{layer} has {found} parts and levels; at most {MOST_PARTS}, {MOST_LEVELS} are allowed"


def main() -> int:
    problems = [*check_core(), *check_cpp_front_ends(), *check_parts()]
    for problem in problems:
        print(problem)
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
