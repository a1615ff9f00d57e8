# SPDX-License-Identifier: Apache-2.0
"""How the surface of tricodec's PyNvVideoCodec differs from NVIDIA's."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from media import REPOSITORY


def documented() -> dict[str, str]:
    """What differs by name, as docs/migration/pynvvideocodec.md says."""
    page = (REPOSITORY / "docs" / "migration" / "pynvvideocodec.md").read_text()
    table = page.partition("<!-- names")[2].partition("<!-- end of names")[0]
    return dict(re.findall(r"^\| `([^`]+)` \| ([^|]+) \|", table, re.MULTILINE))


def _signature_differs(theirs: list[list[str]], ours: list[list[list[str]]] | None) -> str:
    """What a call by one of NVIDIA's signatures finds different here; empty if nothing."""
    if ours is None:
        return "no signature"
    names = [name for name, _ in ours[0]]
    defaults = dict(map(tuple, ours[0]))  # type: ignore[arg-type]
    takes_any = any(name.startswith("*") for name in names)
    for index, (name, default) in enumerate(theirs):
        if name.startswith("*"):
            continue
        if not name:  # by position only
            if index >= len(names) and not takes_any:
                return f"takes {len(names)} arguments"
        elif name not in names:
            if not takes_any:
                return f"no {name}"
        elif default != defaults[name]:
            return f"{name}={defaults[name] or 'required'}"
        elif names.index(name) != index:
            return f"{name} is argument {names.index(name) + 1}"
    required = [name for name, default in ours[0] if not default and not name.startswith("*")]
    missing = set(required[len(theirs) :])
    return f"{', '.join(sorted(missing))} required" if missing else ""


def _of_functions(name: str, theirs: Any, ours: Any) -> Iterator[tuple[str, str]]:
    found = [_signature_differs(each, ours) for each in theirs or []]
    if any(found):
        yield name, "; ".join(dict.fromkeys(filter(None, found)))


def differences(theirs: dict[str, Any], ours: dict[str, Any]) -> dict[str, str]:
    """By name, such as ``PyNvDemuxer.Seek``: what is not the same."""
    found: dict[str, str] = {}
    for name in sorted({*theirs, *ours}):
        if name not in ours or name not in theirs:
            found[name] = "only in the original" if name in theirs else "only here"
            continue
        ((their_kind, their_value),) = theirs[name].items()
        ((our_kind, our_value),) = ours[name].items()
        if their_kind != our_kind:
            found[name] = f"{our_kind}, not {their_kind}"
        elif their_kind == "function":
            found.update(_of_functions(name, their_value, our_value))
        elif their_kind == "class":
            for member in sorted({*their_value, *our_value}):
                dotted = f"{name}.{member}"
                if member not in our_value or member not in their_value:
                    found[dotted] = "only in the original" if member in their_value else "only here"
                elif isinstance(their_value[member], list):
                    found.update(_of_functions(dotted, their_value[member], our_value[member]))
        elif their_value != our_value:
            found[name] = f"{our_value}, not {their_value}"
    return found
