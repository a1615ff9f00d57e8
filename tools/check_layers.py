# SPDX-License-Identifier: Apache-2.0
"""Holds the layers of docs/explanation/architecture.md: what each layer may include or import.

Core: base <- tensor <- io <- ffmpeg <- bitstream <- container, base <- selection; container <- index, decode, audio,
swscale; decode <- encode; index and decode <- read <- streams; tensor <- image and compress. Some layers use image,
audio and encoders by their public headers. The front ends use the core's public headers or the Python package.
"""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Iterator
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

# Python: folders of one front end and what they may import beside the standard library and packages from elsewhere.
# A name means itself and what lies beneath it; "tricodec" alone means the package's public names only.
FRONT_ENDS = ("tricodec.dali", "tricodec.serve", "tricodec.client", "tricodec.cli", "PyNvVideoCodec")
_USERS = ("tricodec", "tricodec._tricodec", "tricodec._display", "tricodec.dali", "tricodec.serve", "tricodec.client")
PYTHON_ALLOWED = {
    "python/tricodec/dali": {"tricodec", "tricodec.dali"},
    "python/tricodec/serve": {"tricodec", "tricodec._output_files", "tricodec._tricodec.OutputFile", "tricodec.serve"},
    "python/tricodec/client": {"tricodec", "tricodec.client"},
    # The measurements use every front end, and the command uses the measurements.
    "python/tricodec/measure/bench": {
        "tricodec.measure.bench",
        *_USERS,
    },
    "python/tricodec/__main__": {"tricodec", "tricodec.cli"},
    "python/tricodec/cli": {
        "tricodec._output_files",
        "tricodec._signals",
        "tricodec.data",
        "tricodec.cli",
        *_USERS,
    },
    "compat": {"tricodec"},
    "python/PyNvVideoCodec": {"tricodec", "tricodec._tricodec", "PyNvVideoCodec"},
    "triton_backend": {"tricodec", "tricodec._tricodec.lock_pages", "triton_backend"},
    "model_repository": {"tricodec", "triton_backend"},
    # A pipeline is written in DALI's words: it is DALI's user, and the model beside it only runs it.
    "model_repository/dali_clip/1/dali": {"tricodec", "tricodec.dali"},
}

_MODELS = "tricodec.triton_backend.models"

# Packages that a module may import only where it uses them, and the folder of names that are torch's own.
_OPTIONAL = ("torch", "av", "PIL", "cv2", "rich", "argcomplete", "matplotlib")
_OF_TORCH = ("compat/tricodec_compat/torchcodec/", "python/tricodec/data/torch")

_INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^">]+)[">]', re.MULTILINE)


def includes(path: Path) -> Iterator[tuple[int, str, str]]:
    """Line number, bracket and name of each include."""
    text = path.read_text()
    for match in _INCLUDE.finditer(text):
        yield text.count("\n", 0, match.start()) + 1, match[1], match[2]


def sources(folder: str, *suffixes: str) -> Iterator[Path]:
    for path in sorted((ROOT / folder).rglob("*")):
        if path.suffix in suffixes and path.is_file():
            yield path


def public_layer(name: str) -> str | None:
    """The layer of a public header, tricodec/LAYER/NAME.h; "all" for tricodec/tricodec.h; None for another name."""
    parts = name.split("/")
    if parts == ["tricodec", "tricodec.h"]:
        return "all"
    return parts[1] if len(parts) == 3 and parts[0] == "tricodec" else None


def check_core() -> Iterator[str]:
    for path in sources("core", ".h", ".cpp", ".cu", ".cuh"):
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
        for path in sources(folder, ".h", ".cpp"):
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


def imports(path: Path) -> Iterator[tuple[int, str]]:
    """Line number and dotted name of each import; relative ones resolved against the package."""
    relative = path.relative_to(ROOT)
    parts = [part for part in relative.with_suffix("").parts if part != "python"]
    package = parts[:-1]
    for node in ast.walk(ast.parse(path.read_text(), filename=str(path))):
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield node.lineno, alias.name
        elif isinstance(node, ast.ImportFrom):
            base = package[: len(package) - node.level + 1] if node.level else []
            module = ".".join([*base, *(node.module or "").split(".")]).strip(".")
            for alias in node.names:
                yield node.lineno, f"{module}.{alias.name}"


def _allowed(name: str, allowed: set[str]) -> bool:
    if name.split(".", maxsplit=1)[0] not in ("tricodec", "PyNvVideoCodec", "triton_backend"):
        return True
    if name.startswith("tricodec._public."):  # the __dir__ of every module
        return True
    if any(name == other or name.startswith(other + ".") for other in allowed - {"tricodec"}):
        return True
    # The public package: no module of it with a leading underscore, and no front end.
    inner = name.split(".")[1:]
    return (
        name.startswith("tricodec")
        and not any(part.startswith("_") and not part.startswith("__") for part in inner)
        and not any(name == front_end or name.startswith(front_end + ".") for front_end in FRONT_ENDS)
    )


def check_python() -> Iterator[str]:
    folders = sorted(PYTHON_ALLOWED, key=len, reverse=True)
    for folder in ("python", "compat/tricodec_compat", "triton_backend", "model_repository"):
        for path in sources(folder, ".py", ".pyi"):
            relative = path.relative_to(ROOT)
            name = relative.with_suffix("").as_posix()
            owner = next(
                (front_end for front_end in folders if name == front_end or name.startswith(front_end + "/")), None
            )
            for line, imported in imports(path):
                if owner is not None:
                    allowed = PYTHON_ALLOWED[owner]
                    if not _allowed(imported, allowed):
                        yield f"{relative}:{line}: {owner} imports {imported}; allowed: {', '.join(sorted(allowed))}"
                elif any(imported == front_end or imported.startswith(front_end + ".") for front_end in FRONT_ENDS):
                    yield f"{relative}:{line}: the package imports {imported}, a front end that builds on it"
                if name.startswith("triton_backend/runtime/") and imported.startswith(_MODELS):
                    yield f"{relative}:{line}: triton_backend/runtime is below the models and may not import {imported}"
                package = imported.split(".")[0]
                if package == "torch" and name.startswith(_OF_TORCH):
                    continue
                if package in _OPTIONAL and _at_import(path, line):
                    yield f"{relative}:{line}: {imported} is imported at import time; import it where it is used"


def _at_import(path: Path, line: int) -> bool:
    """Whether a statement runs when the module is imported (not in a function, not for type checkers only)."""
    nested = 0
    for node in ast.walk(ast.parse(path.read_text())):
        guarded = isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test)
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda) or guarded:
            nested += node.lineno < line <= (node.end_lineno or line)
    return nested == 0


def main() -> int:
    problems = [*check_core(), *check_cpp_front_ends(), *check_python()]
    for problem in problems:
        print(problem)
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
