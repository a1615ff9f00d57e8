# SPDX-License-Identifier: Apache-2.0
"""The surface of a module: its names, the members of its classes, signatures with defaults, as JSON.

Run as a program it prints that of ``PyNvVideoCodec``. It needs nothing but the standard library, because NVIDIA's
module is read in another process.
"""

from __future__ import annotations

import inspect
import json
import re
import types
from typing import Any

Parameter = tuple[str, str]  # the name, "" if it has none; the default, "" if it has none

_ENUM = re.compile(r"<\w+(?:\.\w+)*\.\w+: (-?\d+)>")


def _plain(default: str) -> str:
    """Equal defaults as equal texts: False and 0, a member and its number."""
    found = _ENUM.fullmatch(default)
    return found[1] if found else {"False": "0", "True": "1"}.get(default, default)


def _of_python(function: Any, *, method: bool) -> list[list[Parameter]]:
    parameters = list(inspect.signature(function).parameters.values())[method:]
    signature: list[Parameter] = []
    for parameter in parameters:
        star = {parameter.VAR_POSITIONAL: "*", parameter.VAR_KEYWORD: "**"}.get(parameter.kind, "")
        default = "" if parameter.default is parameter.empty else _plain(repr(parameter.default))
        signature.append((star + parameter.name, default))
    return [signature]


def _of_docstring(name: str, text: str, *, method: bool) -> list[list[Parameter]]:
    """The signatures that pybind11 writes at the beginning of a docstring."""
    found = re.findall(rf"^(?:\d+\. )?{re.escape(name)}\((.*)\) -> .*$", text, re.MULTILINE)
    signatures = []
    for line in found:
        parts = re.split(r", (?=\w+: )", line) if line else []
        signature: list[Parameter] = []
        for part in parts[method:]:
            head, _, default = part.partition(" = ")
            name_of = head.partition(":")[0]
            signature.append(("" if re.fullmatch(r"arg\d+", name_of) else name_of, _plain(default)))
        signatures.append(signature)
    return signatures


def _signatures(name: str, function: Any, *, method: bool) -> list[list[Parameter]] | None:
    documented = _of_docstring(name, function.__doc__ or "", method=method)
    if documented:
        return documented
    try:
        return _of_python(function, method=method)
    except (TypeError, ValueError):
        return None


def _members(cls: type) -> dict[str, Any]:
    members: dict[str, Any] = {}
    for name in dir(cls):
        if name.startswith("_") and name not in ("__init__", "__iter__", "__next__", "__getitem__", "__len__"):
            continue
        value = inspect.getattr_static(cls, name)
        if inspect.getattr_static(object, name, None) is value:
            continue
        is_static = isinstance(value, staticmethod)
        function = getattr(cls, name)
        if callable(function) and not isinstance(value, (property, type)):
            members[name] = _signatures(name, function, method=not is_static)
        else:
            members[name] = "value"
    return members


def surface(module: types.ModuleType) -> dict[str, Any]:
    """By name: a dict from "enum", "exception", "class", "function" or "value" to what there is to compare."""
    names: dict[str, Any] = {}
    for name in dir(module):
        value = getattr(module, name)
        if name.startswith("_") or isinstance(value, types.ModuleType):
            continue
        if isinstance(value, type) and hasattr(value, "__members__"):
            names[name] = {"enum": {member: each.value for member, each in value.__members__.items()}}
        elif isinstance(value, type) and issubclass(value, BaseException):
            bases = value.__mro__[1 : value.__mro__.index(BaseException)]
            names[name] = {"exception": ", ".join(base.__name__ for base in bases)}
        elif isinstance(value, type):
            attributes = _members(value)
            try:
                made = value()  # what only objects have
                attributes |= {each: "value" for each in vars(made) if not each.startswith("_")}
            except TypeError:
                pass
            names[name] = {"class": attributes}
        elif callable(value):
            names[name] = {"function": _signatures(name, value, method=False)}
        else:
            names[name] = {"value": _plain(repr(value)) if hasattr(value, "__int__") else type(value).__name__}
    return names


if __name__ == "__main__":
    import PyNvVideoCodec

    print(json.dumps(surface(PyNvVideoCodec)))
