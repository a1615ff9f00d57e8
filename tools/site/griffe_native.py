# SPDX-License-Identifier: Apache-2.0
"""Docstrings of the native classes for mkdocstrings: signatures are in the stub, texts in the installed extension."""

from __future__ import annotations

import functools
import inspect
import re
import textwrap
from typing import Any

import griffe
import tricodec._tricodec as native

_SIGNATURE = re.compile(r"\w+\(.*\n\n?")
_SECTION = re.compile(r"(?<!\n)\n(?=(?:Args|Keyword Args|Attributes|Returns|Yields|Raises|Thread safety):)")
_EXAMPLE = re.compile(r"^ *>>> .*(?:\n.+)*", re.MULTILINE)
_SHARED = re.compile(r"^    (\w+(?:, \w+)+): (.*(?:\n {5,}\S.*)*)", re.MULTILINE)


def _each(found: re.Match[str]) -> str:
    """An entry for each of the arguments that share one."""
    return "\n".join(f"    {name}: {found[2]}" for name in found[1].split(", "))


class NativeDocstrings(griffe.Extension):
    """Puts the docstrings of the extension on the names of the stub, and a blank line before each section."""

    def on_class_members(self, *, cls: griffe.Class, **_: Any) -> None:
        """Called by griffe for each class. Shows the last signature of a method that the stub has in several."""
        for name, signatures in cls.overloads.items():
            if name not in cls.members:
                cls.set_member(name, signatures[-1])

    def on_object(self, *, obj: griffe.Object, **_: Any) -> None:
        """Called by griffe for each name that it has read."""
        name = obj.path.removeprefix("tricodec._tricodec.")
        if isinstance(obj, griffe.Attribute) and str(obj.annotation).startswith("Final["):  # of a native class
            obj.annotation, obj.labels = obj.annotation.slice, {"property"}
        if name != obj.path and obj.docstring is None and (not obj.is_attribute or obj.parent.is_class):
            found = functools.reduce(lambda owner, part: getattr(owner, part, None), name.split("."), native)
            text = (found and inspect.getdoc(found)) or ""  # a protocol is in the stub alone
            obj.docstring = griffe.Docstring(
                _SIGNATURE.sub("", text, count=1) if _SIGNATURE.match(text) else text,
                parent=obj, parser="google", parser_options={"warnings": False},
            )  # fmt: skip
        if obj.docstring is not None:
            text = obj.docstring.value.replace("``", "`")
            text = _EXAMPLE.sub(lambda found: f"```pycon\n{textwrap.dedent(found[0])}\n```", text)
            obj.docstring.value = _SHARED.sub(_each, _SECTION.sub("\n\n", text))
