# SPDX-License-Identifier: Apache-2.0
"""Writes the tables of arguments in docs/dali.md from the schemas of the DALI operators.

python tools/dali_arguments.py   rewrites the tables; the package and DALI must be installed

A table is between `<!-- arguments: SCHEMA ... -->` and `<!-- end -->`. It has the arguments that these schemas
themselves define. The texts are those of the schemas, in plugin/.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

PAGE = Path(__file__).resolve().parents[1] / "docs" / "dali.md"
_TABLE = re.compile(r"(<!-- arguments: ([\w ]+) -->\n).*?(<!-- end -->)", re.DOTALL)
_PARENTS = {
    "DecodingArguments": ("TransformArguments",),
    "ReadVideoArguments": ("DecodingArguments",),
    "DecodeVideo": ("DecodingArguments",),
    "Transform": ("TransformArguments",),
    "Compress": ("CodecArguments",),
    "Decompress": ("CodecArguments",),
}
_EVERY_OPERATOR = {"bytes_per_sample_hint", "preserve"}


def updated(page: str) -> str:
    """The page with the tables as the installed operators have them."""
    return _TABLE.sub(lambda found: found[1] + _table(found[2].split()) + found[3], page)


def _table(schemas: list[str]) -> str:
    rows = [row for name in schemas for row in _rows(name)]
    return "".join(f"{row}\n" for row in ["| argument | default | per sample | meaning |", "|---|---|---|---|", *rows])


def _rows(name: str) -> list[str]:
    """The rows of a schema's own arguments; those without a default value first."""
    schema = _schema(name)
    inherited = {argument for parent in _PARENTS.get(name, ()) for argument in _schema(parent).GetArgumentNames()}
    own = set(schema.GetArgumentNames()) - inherited - _EVERY_OPERATOR
    rows = []
    for argument in sorted(own, key=lambda argument: (schema.IsArgumentOptional(argument), argument)):
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
    if argument == "dtype":
        return "`types.UINT8`"
    if re.fullmatch(r"-?\d+\.0*", value):
        value = value.split(".")[0]
    quoted = value.replace("'", '"')
    return "" if quoted == '""' else f"`{quoted}`"


def _schema(name: str) -> Any:
    import tricodec.dali  # noqa: F401  (registers the operators)
    from nvidia.dali import backend

    return backend.GetSchema(f"tricodec__{name}")


if __name__ == "__main__":
    PAGE.write_text(updated(PAGE.read_text()))
