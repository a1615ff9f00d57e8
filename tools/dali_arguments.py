# SPDX-License-Identifier: Apache-2.0
"""Writes the tables of arguments in docs/reference/dali*.md from the schemas of the DALI operators.

python tools/dali_arguments.py   rewrites the tables; the package and DALI must be installed

A table is between `<!-- arguments: SCHEMA ... -->` and `<!-- end -->`. It has the arguments that these schemas
themselves define. The texts are those of the schemas, in plugin/. `<!-- names: SCHEMA ... -->` gives their names alone,
for arguments that another page describes.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

PAGES = sorted((Path(__file__).resolve().parents[1] / "docs" / "reference").glob("dali*.md"))
_BLOCK = re.compile(r"(<!-- (arguments|names): ([\w ]+) -->\n).*?(<!-- end -->)", re.DOTALL)
_PARENTS: dict[str, tuple[str, ...]] = {
    "DecodingArguments": ("TransformArguments", "ResizeArguments", "UnusedArguments"),
    "ReadVideoArguments": ("DecodingArguments", "SelectionArguments"),
    "DecodeVideo": ("DecodingArguments",),
    "InputVideo": ("DecodingArguments",),
    "Transform": ("TransformArguments",),
    "Compress": ("CodecArguments",),
    "Decompress": ("CodecArguments",),
}
# Names of types and enumerations, which schemas give as numbers, and what depends on whether the argument is given.
_DEFAULTS = {
    "audio_dtype": "`types.FLOAT`",
    "dtype": "`types.UINT8`",
    "image_type": "`types.RGB`",
    "interp_type": "`types.INTERP_LINEAR`",
    "enable_timestamps": "",
}
_OF_DALI = {"bytes_per_sample_hint", "preserve", "blocking", "no_copy"}


def updated(page: str) -> str:
    """The page with the tables as the installed operators have them."""
    render = {"arguments": _table, "names": _names}
    return _BLOCK.sub(lambda found: found[1] + render[found[2]](found[3].split()) + found[4], page)


def _table(schemas: list[str]) -> str:
    rows = [row for name in schemas for row in _rows(name)]
    return "".join(f"{row}\n" for row in ["| argument | default | per sample | meaning |", "|---|---|---|---|", *rows])


def _names(schemas: list[str]) -> str:
    kinds: dict[str, list[str]] = {"per sample": [], "for all samples": []}
    for name in schemas:
        schema = _schema(name)
        for argument in _own(name):
            kinds["per sample" if schema.IsTensorArgument(argument) else "for all samples"].append(f"`{argument}`")
    return "".join(f"- {kind}: {', '.join(names)}\n" for kind, names in kinds.items() if names)


def _own(name: str) -> list[str]:
    """A schema's own arguments; those without a default value first."""
    schema = _schema(name)
    inherited = {argument for parent in _PARENTS.get(name, ()) for argument in _schema(parent).GetArgumentNames()}
    own = set(schema.GetArgumentNames()) - inherited - _OF_DALI
    return sorted(own, key=lambda argument: (schema.IsArgumentOptional(argument), argument))


def _rows(name: str) -> list[str]:
    schema = _schema(name)
    rows = []
    for argument in _own(name):
        per_sample = "yes" if schema.IsTensorArgument(argument) else ""
        text = schema.GetArgumentDox(argument).strip().replace("``", "`").replace("|", "\\|")
        cells = [f"`{argument}`", _default(schema, argument), per_sample, re.sub(r"\s+", " ", text)]
        rows.append(re.sub(r" +", " ", f"| {' | '.join(cells)} |"))
    return rows


def _default(schema: Any, argument: str) -> str:
    if not schema.IsArgumentOptional(argument):
        return "required"
    if not schema.HasArgumentDefaultValue(argument):
        return ""
    value = schema.GetArgumentDefaultValueString(argument)
    if argument in _DEFAULTS:
        return _DEFAULTS[argument]
    value = re.sub(r"^\[(-?[\d.]+), \]$", r"\1", value)  # a list of one number
    if re.fullmatch(r"-?\d+\.0*", value):
        value = value.split(".")[0]
    quoted = value.replace("'", '"')
    return "" if quoted == '""' else f"`{quoted}`"


def _schema(name: str) -> Any:
    import tricodec.dali  # noqa: F401  (registers the operators)
    from nvidia.dali import backend

    return backend.GetSchema(f"tricodec__{name}")


if __name__ == "__main__":
    for path in PAGES:
        path.write_text(updated(path.read_text()))
