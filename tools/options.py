# SPDX-License-Identifier: Apache-2.0
"""Copies the core's tables of options to where a program does not read them: types of Python, Triton's models.

python tools/options.py           rewrites the blocks
python tools/options.py --check   1 if a block differs from the tables

A block begins with `options KIND TABLE: written by tools/options.py` in a comment and ends with `end of options`:

types TABLE   a TypedDict
inputs TABLE  inputs in a config.pbtxt

The tables are `option<...>(name, meaning, accepted)` in the C++ sources; types and defaults are those of the fields.
"""

from __future__ import annotations

import ast
import dataclasses
import re
import sys
from collections.abc import Iterator
from pathlib import Path

from check_sources import ROOT, files

#: Of each table: its source below core/, and the header below core/include/tricodec/ with the fields.
TABLES = {
    "selection": ("selection/selection_options.cpp", "selection/frame_selection.h"),
    "transform": ("image/option_table.cpp", "image/transform.h"),
}
#: By the type of a field: the type in Python, and the input of a model.
_FIELDS = {
    "std::int64_t": ("int", "INT64"),
    "double": ("Number", "FP64"),
    "float": ("Number", "FP64"),
    "bool": ("bool", "BOOL"),
    "std::vector<std::int64_t>": ("IndexList", "INT64"),
    "std::vector<double>": ("Times", "FP64"),
    "std::vector<float>": ("Numbers", "FP64"),
    "Crop": ("Sequence[int]", "INT64"),
    "Size": ("Sequence[int]", "INT64"),
    "enum": ("", "STRING"),
}
#: Options with a type by name, which has usual spellings that the tables leave out, or is that of other calls too.
_NAMED_TYPES = {
    "indices": "IndexList", "policy": "Policy", "sampling": "Rule", "resize": "Resize", "chroma": "Chroma",
    "color": "Color", "matrix": "Matrix", "range": "Range", "unspecified": "Unspecified", "dtype": "DType",
    "layout": "Layout",
}  # fmt: skip
_LITERALS = r'"(?:[^"\\]|\\.)*"(?:\s*"(?:[^"\\]|\\.)*")*'
_ENTRY = re.compile(
    rf"option<&\w+::(\w+)[^(]*\(\s*({_LITERALS}),\s*({_LITERALS})(?:,\s*(?:(\w+)\.names\(\)|({_LITERALS})))?\)"
)
_BLOCK = re.compile(
    r"([^\n]*options (\w+) (\w+): written by tools/options\.py[^\n]*\n).*?(\n[^\n]*end of options)", re.DOTALL
)


@dataclasses.dataclass(frozen=True, slots=True)
class Option:
    """An entry of a table."""

    name: str
    meaning: str
    accepted: tuple[str, ...]
    field: str
    """The type of the field in C++, without std::optional; "enum" for enumerations."""
    default: str
    """As Python writes it."""


def _text(literals: str) -> str:
    return "".join(ast.literal_eval(each) for each in re.findall(r'"(?:[^"\\]|\\.)*"', literals))


def table(name: str) -> list[Option]:
    """The options of a table, in its order."""
    source, header = ((ROOT / "core" / TABLES[name][0]), (ROOT / "core/include/tricodec" / TABLES[name][1]))
    text, fields = source.read_text(), header.read_text()
    options = []
    for field, literal, meaning, values, accepted in _ENTRY.findall(text):
        declared = re.search(rf"^    (\S[^;(=\n]*?) {field}(?:\{{\}})?(?: = ([\w:-]+))?;", fields, re.MULTILINE)
        assert declared is not None, f"{header.name} has no field {field}"
        kind = re.sub(r"^std::optional<(.*)>$", r"\1", declared[1])
        names = _value_names(text, values) if values else _text(accepted).split(", ") if accepted else []
        is_list = declared[1].startswith("std::vector")
        value = "None" if declared[1] != kind or is_list else _default(declared[2], names)
        kind = kind if kind in _FIELDS else "enum"
        options.append(Option(_text(literal), _text(meaning), tuple(names), kind, value))
    assert len(options) == text.count("option<&"), f"an entry of {source.name} is not understood"
    return options


def _value_names(text: str, values: str) -> list[str]:
    """The first name of each value in a list of NamedValue."""
    block = re.search(rf" {values} = (.*?);", text, re.DOTALL)
    assert block is not None, values
    names: dict[str, str] = {}
    for found, value in re.findall(r'\{"([^"]+)",\s*([\w:]+)\}', block[1]):
        names.setdefault(value, found)
    return list(names.values())


def _default(value: str, accepted: list[str]) -> str:
    if "::" not in value:
        return {"true": "True", "false": "False"}.get(value, value)
    name = value.rpartition("::")[2]
    if name == "none":
        return "None"
    return repr(next((each for each in accepted if each.lower() == name), name))


def _types(name: str) -> Iterator[str]:
    yield f"class {name.capitalize()}Options(TypedDict, total=False):"
    yield f'    """Options of the table `{name}`."""'
    yield ""
    for option in table(name):
        if option.name == "indices":  # an argument of its own of batch()
            continue
        kind = _NAMED_TYPES.get(option.name) or _FIELDS[option.field][0]
        if not kind:
            kind = f"Literal[{', '.join(map(repr, option.accepted))}]" if option.accepted else "str"
        yield f"    {option.name}: {kind}" + (" | None" if option.default == "None" else "")
    yield from ("", "")


def _inputs(name: str) -> Iterator[str]:
    for option in table(name):
        if option.name == "dtype":  # the output decides it
            continue
        datatype = _FIELDS[option.field][1]
        yield f'  {{ name: "{option.name.upper()}" data_type: TYPE_{datatype} dims: [ -1 ] optional: true }},'


_KINDS = {"types": _types, "inputs": _inputs}


def rendered(text: str) -> str:
    """A file with its blocks written again."""
    return _BLOCK.sub(lambda found: found[1] + "\n".join(_KINDS[found[2]](found[3])) + found[4], text)


def places() -> Iterator[Path]:
    """The files that have blocks."""
    candidates = [path for path in files() if path.suffix in {".py", ".pbtxt"}]
    for path in candidates:
        if path != Path(__file__).resolve() and "written by tools/options.py" in path.read_text():
            yield path


def main() -> int:
    stale = []
    for path in places():
        text = path.read_text()
        wanted = rendered(text)
        if wanted == text:
            continue
        if sys.argv[1:] == ["--check"]:
            stale.append(f"{path.relative_to(ROOT)}: a block differs from the tables; run python tools/options.py")
        else:
            path.write_text(wanted)
    print("\n".join(stale))
    return 1 if stale else 0


if __name__ == "__main__":
    sys.exit(main())
