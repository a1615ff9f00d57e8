# SPDX-License-Identifier: Apache-2.0
"""How the surface of tricodec's PyNvVideoCodec differs from NVIDIA's, and why.

Run as a program it writes the tables of docs/migration/pynvvideocodec_differences.md.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

PAGE = Path(__file__).resolve().parents[4] / "docs" / "migration" / "pynvvideocodec_differences.md"

_IMPORT = "the original's import leaves it behind"

# What differs by name, and why.
KNOWN: dict[str, tuple[str, str]] = {
    "Codec": ("only here", "version 1.0 has it"),
    "CreateDecoder": (
        "maxwidth is argument 7; usedevicememory=0",
        "the order by name is that of 1.0; by position both orders work, and a bool in the sixth place tells them "
        "apart. `enableasyncallocations=False` does not force device memory",
    ),
    "CreateDemuxer": ("filename=None; callback=None", "one function for both signatures"),
    "CreateEncoder": ("fmt=None", "`format`, as the document of 1.0 spells it, may be given instead"),
    "CreateSimpleDecoder": ("no encSourceBytes; no stream", "one signature for paths, bytes and streams: `encSource`"),
    "CreateTranscoder": ("kwargs=None", "0, the original's default, is no mapping"),
    "Path": ("only in the original", _IMPORT),
    "PyNvDecoder.issues": ("only here", "reports of damaged packets"),
    "PyNvEncoder.Encode": ("picParams=None", "one function for the signatures with flags and with NV_ENC_PIC_PARAMS"),
    "PyNvEncoder.engine": ("only here", "whether NVENC or a CPU encoder works"),
    "PyNvVCException": ("RuntimeError, Exception, not Exception", "programs for 1.0 catch RuntimeError"),
    "PyNvVCExceptionUnsupported": ("RuntimeError, Exception, not Exception", "programs for 1.0 catch RuntimeError"),
    "Transcoder.__init__": ("gpu_id=0", "the last three arguments may be left out"),
    "module_path": ("only in the original", _IMPORT),
    "module_suffix": ("only in the original", _IMPORT),
    "set_api_version": ("only here", "`bf` means different things in 1.0 and 2.x"),
    "spec": ("only in the original", _IMPORT),
    "supportedNvEncVersion": ("only in the original", "there may be no driver"),
}


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


def render(page: str) -> str:
    """The page with the table of `KNOWN` between its markers."""
    rows = [f"| `{name}` | {what} | {why} |" for name, (what, why) in KNOWN.items()]
    begin, end = "<!-- names: written by pynv_helpers/differences.py -->", "<!-- end of names -->"
    block = "\n".join([begin, "| name | here | why |", "|---|---|---|", *rows, end])
    return re.sub(f"{begin}.*{end}", lambda _: block, page, flags=re.DOTALL)


if __name__ == "__main__":
    PAGE.write_text(render(PAGE.read_text()))
