# SPDX-License-Identifier: Apache-2.0
"""The public names of nvCOMP's Python package and of ours, and how they differ.

`python nvcomp_surface.py` prints the names of the nvidia.nvcomp that Python finds, as JSON. It needs neither tricodec
nor a driver, so that a test runs it with NVIDIA's package in a process of its own.
"""

from __future__ import annotations

import inspect
import json
import re
import types
import typing
from typing import Any

Parameter = tuple[str, str | None]  # its name and its default, as written; None without one
Overload = list[Parameter]
Member = dict[str, Any]


def _split(text: str) -> list[str]:
    """Cut at the commas that are outside of brackets."""
    parts, depth = [""], 0
    for letter in text:
        depth += (letter in "[(") - (letter in "])")
        if letter == "," and depth == 0:
            parts.append("")
        else:
            parts[-1] += letter
    return [part.strip() for part in parts if part.strip()]


def _of_docstring(name: str, text: str) -> list[Overload]:
    """The overloads that pybind11 writes at the start of a docstring."""
    found = []
    for arguments in re.findall(rf"^(?:\d+\. )?{name}\((.*)\) ->", text, re.MULTILINE):
        overload: Overload = []
        for part in _split(arguments):
            word, _, default = (half.strip() for half in part.partition("="))
            word = word.partition(":")[0]
            if word not in ("self", "*", "*args", "**kwargs"):
                overload.append((word, default or None))
        found.append(overload)
    return found


def _written(default: object) -> str | None:
    return None if default is inspect.Parameter.empty else repr(default)


def _overloads(name: str, function: Any) -> list[Overload]:
    function = getattr(function, "__func__", function)
    if not isinstance(function, types.FunctionType):
        signature = getattr(function, "__text_signature__", None) or "($"
        return _of_docstring(name, function.__doc__ or "" if signature.startswith("($") else f"{name}{signature} ->")
    get_overloads = getattr(typing, "get_overloads", lambda _: [])
    return [
        [
            (parameter.name, _written(parameter.default))
            for parameter in inspect.signature(written).parameters.values()
            if parameter.name != "self" and parameter.kind is not inspect.Parameter.VAR_KEYWORD
        ]
        for written in get_overloads(function) or [function]
    ]


def _keywords(constructor: Any) -> list[str]:
    """The keywords in the text of a constructor that has only **kwargs in its signature."""
    return ", ".join(re.findall(r"^\s+([a-z][\w, ]+): \S", constructor.__doc__ or "", re.MULTILINE)).split(", ")


def _describe_class(name: str, cls: type) -> Member:
    members = getattr(cls, "__members__", None)
    if members is not None:
        return {"members": {word: int(value) for word, value in members.items()}}
    found: dict[str, Any] = {}
    for word in dir(cls):
        value = inspect.getattr_static(cls, word)
        if word.startswith("_") and word not in ("__init__", "__getitem__", "__len__", "__enter__", "__exit__"):
            continue
        if isinstance(value, property):
            found[word] = "property"
        elif word in ("__getitem__", "__len__"):
            found[word] = []  # there; its arguments are Python's
        elif callable(value) or isinstance(value, staticmethod | classmethod):
            found[word] = _overloads(word, value.__func__ if isinstance(value, staticmethod) else value)
    if name == "Codec":
        found["keywords"] = _keywords(cls.__init__)
    return {"attributes": found}


def surface(module: Any) -> dict[str, Member]:
    """The public names of a module."""
    found: dict[str, Member] = {}
    for name in dir(module):
        value = getattr(module, name)
        if name.startswith("_") or inspect.ismodule(value):
            continue
        if isinstance(value, type):
            found[name] = _describe_class(name, value)
        elif callable(value):
            found[name] = {"overloads": _overloads(name, value)}
        else:
            found[name] = {"value": str(value), "number": int(value)}
    return found


def _accepts(ours: list[Overload], theirs: Overload) -> bool:
    """Whether one of our overloads takes what theirs takes: the same names, order and defaults."""
    return any(
        len(mine) >= len(theirs) and all(_same(a, b) for a, b in zip(mine, theirs, strict=False)) for mine in ours
    )


def _same(ours: Parameter, theirs: Parameter) -> bool:
    none = (None, "None", "[]")  # an empty list of outputs is none
    return ours[0] == theirs[0] and (ours[1] == theirs[1] or (ours[1] in none and theirs[1] in none[1:]))


def _shown(overload: Overload) -> str:
    return ", ".join(name if default is None else f"{name}={default}" for name, default in overload)


def differences(theirs: dict[str, Member], ours: dict[str, Member]) -> set[str]:
    """What a program of theirs meets with ours: missing names, and other values, members or arguments."""
    found: set[str] = set()
    for name, member in theirs.items():
        mine = ours.get(name)
        if mine is None:
            found.add(name)
        elif "attributes" in member:
            found |= _attribute_differences(name, member["attributes"], mine["attributes"])
        elif "overloads" in member:
            found |= {
                f"{name}({_shown(overload)})"
                for overload in member["overloads"]
                if not _accepts(mine["overloads"], overload)
            }
        elif member != mine:
            found.add(name)
    return found


def _attribute_differences(name: str, theirs: dict[str, Any], ours: dict[str, Any]) -> set[str]:
    found: set[str] = set()
    for word, value in theirs.items():
        mine = ours.get(word)
        if word == "keywords":
            found |= {f"{name}({keyword}=)" for keyword in value if keyword not in (mine or [])}
        elif mine is None or (value == "property") != (mine == "property"):
            found.add(f"{name}.{word}")
        elif value != "property":
            found |= {f"{name}.{word}({_shown(overload)})" for overload in value if not _accepts(mine, overload)}
    return found


if __name__ == "__main__":
    import importlib

    package = importlib.import_module("nvidia.nvcomp")
    package.ExternalMemory = importlib.import_module("nvidia.nvcomp.external_memory").ExternalMemory  # type: ignore[attr-defined]
    print(json.dumps({"version": package.__version__, "names": surface(package)}))
