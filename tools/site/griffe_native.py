# SPDX-License-Identifier: Apache-2.0
"""Docstrings of the native classes for mkdocstrings: signatures are in the stub, texts in python/bindings."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import Any

import griffe

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import document_api

_SECTION = re.compile(r"(?<!\n)\n(?=(?:Args|Keyword Args|Attributes|Returns|Yields|Raises|Thread safety):)")


_SHARED = re.compile(r"^    (\w+(?:, \w+)+): (.*(?:\n {5,}\S.*)*)", re.MULTILINE)


def _each(found: re.Match[str]) -> str:
    """An entry for each of the arguments that share one."""
    return "\n".join(f"    {name}: {found[2]}" for name in found[1].split(", "))


class NativeDocstrings(griffe.Extension):
    """Puts the docstrings of python/bindings on the names of the stub, and a blank line before each section."""

    def __init__(self) -> None:
        self.known = document_api.entities()

    def on_object(self, *, obj: griffe.Object, **_: Any) -> None:
        """Called by griffe for each name that it has read."""
        name = obj.path.removeprefix("tricodec._tricodec.")
        if name != obj.path and obj.docstring is None and name in self.known:
            obj.docstring = griffe.Docstring(
                self.known[name].doc, parent=obj, parser="google", parser_options={"warnings": False}
            )
        if obj.docstring is not None:
            text = obj.docstring.value.replace("``", "`")
            obj.docstring.value = _SHARED.sub(_each, _SECTION.sub("\n\n", text))
