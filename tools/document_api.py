# SPDX-License-Identifier: Apache-2.0
"""Copies docstrings of the Python API into the documents, between two markers, so that each sentence is written once.

python tools/document_api.py           rewrites the blocks
python tools/document_api.py --check   1 if a block differs from its docstrings

A block begins with `<!-- KIND NAME: written by tools/document_api.py -->` and ends with `<!-- end of KIND NAME -->`:

arguments NAME    a table of the arguments of a function, method or class, with their defaults; what an earlier table of
                  the document says of an argument is not said again
attributes NAME   a table of the documented attributes of a class
errors NAME       a table of the exceptions of a module, with their base classes
text NAME         the paragraphs of a docstring before its sections and examples

NAME is `function`, `Class` or `Class.method` of tricodec or PyNvVideoCodec, or `ray.function`. "as `NAME` takes it" in
a docstring becomes the sentence of NAME, of NAME.__call__, or of an option in a table of the core. Docstrings of native
classes are read from python/bindings, their signatures from the stub.
"""

from __future__ import annotations

import ast
import dataclasses
import re
import sys
from collections.abc import Iterator

from check_sources import ROOT
from options import table

PYTHON = ROOT / "python"
STUB = PYTHON / "tricodec" / "_tricodec.pyi"
SECTIONS = ("Args:", "Keyword Args:", "Attributes:", "Returns:", "Raises:", "Thread safety:")
BLOCK = re.compile(
    r"(<!-- (\w+) ([\w.]+): written by tools/document_api\.py -->\n).*?(<!-- end of \2 \3 -->)", re.DOTALL
)
_ENTRY = re.compile(r"(\*{0,2}\w+(?:, \*{0,2}\w+)*): (.*)", re.DOTALL)
_ATTACHED = re.compile(r"(\w+)\(self: (\w+)[^\n]*\n\s*")
_SENTENCE = re.compile(
    r"(?=\S+\s)(?!\w+\(self)[\w\"'`(\[].*[.):\"'`\]]\s*\Z", re.DOTALL
)  # a docstring, not a part of a message
#: Callables that take the options of a table of the core.
_TAKES = {"Transform": "transform", "FrameReader.select": "selection", "decode_video": "selection"}
_REFERENCE = re.compile(r"as `{1,2}([\w.]+)`{1,2} takes (?:it|them)\.")
_ONE = r'R"\((?:.|\n)*?\)"|"(?:[^"\\\n]|\\.)*"'  # a literal of C++, raw or not
_LITERAL = re.compile(rf"(?:{_ONE})(?:\s*(?:{_ONE}))*")

Node = ast.FunctionDef | ast.ClassDef


@dataclasses.dataclass
class Entity:
    """A function, a method or a class: its docstring, and its node in the source or the stub."""

    doc: str
    node: Node | None = None


def _python_entities(package: str) -> Iterator[tuple[str, Entity]]:
    for path in sorted((PYTHON / package).rglob("*.py")):
        prefix = "ray." if path.name == "ray.py" else ""  # its functions have names of the package's own
        for node in ast.parse(path.read_text()).body:
            if not isinstance(node, Node):
                continue
            yield prefix + node.name, Entity(ast.get_docstring(node) or "", node)
            if isinstance(node, ast.ClassDef):
                for member in node.body:
                    if isinstance(member, ast.FunctionDef):
                        yield f"{node.name}.{member.name}", Entity(ast.get_docstring(member) or "", member)


def _stub_nodes() -> dict[str, Node]:
    nodes: dict[str, Node] = {}
    for node in ast.parse(STUB.read_text()).body:
        if isinstance(node, Node):
            nodes[node.name] = node
            for member in node.body if isinstance(node, ast.ClassDef) else ():
                if isinstance(member, ast.FunctionDef):
                    nodes[f"{node.name}.{member.name}"] = member
    return nodes


def _native_docs(source: str) -> Iterator[tuple[str, str]]:
    """(name, docstring) of each definition in a file of the bindings: a literal with spaces documents the last name."""
    cls = name = ""
    free = False  # a function of the module, not of the class before it
    classes = dict(re.findall(r'class_<([\w:]+)[^(;]*\(\s*module,\s*"(\w+)"', source))
    start = 0
    for found in _LITERAL.finditer(source):
        between, start = source[start : found.start()], found.end()
        text = "".join(
            part[3:-2] if part.startswith("R") else ast.literal_eval(part) for part in re.findall(_ONE, found[0])
        )
        if owner := re.findall(r"class_<([\w:]+)", between):
            cls = classes.get(owner[-1], "")
        if "py::init" in between:
            name = "__init__"
        elif re.search(r"(class_<[^;]*\(\s*module|\bdef\w*\(),?\s*$", between):
            name = "" if "class_<" in between else text
            free = re.search(r"\b(?:module\.def\w*|define)\(\s*$", between) is not None
            continue
        if _SENTENCE.match(text):
            yield ".".join(part for part in ("" if free else cls, name) if part), text
            name, free = "", False


def entities() -> dict[str, Entity]:
    """Everything that a block can name."""
    found: dict[str, Entity] = {}
    nodes = _stub_nodes()
    for path in sorted((PYTHON / "bindings").rglob("*.cpp")):
        for name, doc in _native_docs(path.read_text()):
            if name in nodes:
                found[name] = Entity(doc, nodes[name])
    for path in sorted((PYTHON / "bindings").rglob("*.h")):  # members that several classes share
        shared = dict(_native_docs(path.read_text()))
        for name, node in nodes.items():
            cls, _, member = name.rpartition(".")
            if cls and member in shared and name not in found:
                found[name] = Entity(shared[member], node)
    for package in ("PyNvVideoCodec", "tricodec"):
        for name, entity in _python_entities(package):
            if attached := _ATTACHED.match(entity.doc):  # a method of a native class that Python defines
                found[f"{attached[2]}.{attached[1]}"] = Entity(entity.doc[attached.end() :], entity.node)
            elif entity.doc:
                found[name] = entity
    return found


def _paragraphs(doc: str) -> list[str]:
    """The paragraphs before the first section, without examples."""
    kept = []
    for paragraph in re.split(r"\n\s*\n", doc):
        if paragraph.startswith(SECTIONS):
            break
        if not paragraph.startswith((" ", "::")):
            kept.append(paragraph.removesuffix("::").rstrip())
    return [paragraph for paragraph in kept if paragraph]


def _section(doc: str, title: str) -> dict[str, str]:
    """The entries of a section by name; names with the same text share it."""
    found = re.search(rf"^{title}\n((?:[ ].*\n?|\n(?=[ ]))*)", doc, re.MULTILINE)
    entries: dict[str, str] = {}
    for text in re.split(r"\n(?=    \S)", found[1].rstrip()) if found else ():
        entry = _ENTRY.match(" ".join(text.split()))
        if entry:
            entries.update((name.lstrip("*"), entry[2]) for name in entry[1].split(", "))
    return entries


def _entity(known: dict[str, Entity], name: str) -> Entity:
    entity = known.get(f"{name}.__init__", known.get(name)) if "." not in name else known.get(name)
    if entity is None or not entity.doc:
        message = f"no docstring of {name!r} was found in python/"
        raise ValueError(message)
    return entity


def _described(known: dict[str, Entity], name: str) -> dict[str, str]:
    """The text of each argument as its docstring has it."""
    entity = _entity(known, name)
    for doc in (entity.doc, known.get(name, entity).doc):
        if entries := _section(doc, "Args:") | _section(doc, "Keyword Args:"):
            return entries
    return {}


def _sentence(known: dict[str, Entity], name: str, argument: str) -> str:
    """The text of an argument, with a reference replaced by the sentence that it names."""
    text = _described(known, name)[argument]
    reference = _REFERENCE.match(text)
    if reference is None:
        return text
    target = reference[1].removeprefix("tricodec.")
    target = target if target in known or target in _TAKES else f"{name.split('.', maxsplit=1)[0]}.{target}"
    if target in _TAKES:
        for option in table(_TAKES[target]):
            if option.name == argument:
                return option.sentence + text[reference.end() :]
    for place in (target, f"{target}.__call__"):
        if place in known and argument in _described(known, place):
            return _sentence(known, place, argument) + text[reference.end() :]
    message = f"{name} refers to {argument!r} of {reference[1]}, which does not describe it"
    raise ValueError(message)


def arguments_of(known: dict[str, Entity], name: str) -> dict[str, str]:
    """The sentence of each argument, with references replaced."""
    return {argument: _sentence(known, name, argument) for argument in _described(known, name)}


def _defaults(node: Node | None) -> dict[str, str]:
    """The default of each argument as source text; "" for required ones."""
    if isinstance(node, ast.ClassDef):
        node = next((each for each in node.body if isinstance(each, ast.FunctionDef) and each.name == "__init__"), None)
    if not isinstance(node, ast.FunctionDef):
        return {}
    plain = [argument.arg for argument in [*node.args.posonlyargs, *node.args.args]]
    values = ["", *map(ast.unparse, node.args.defaults)]
    defaults = {argument: values[max(0, i - len(plain) + len(values))] for i, argument in enumerate(plain)}
    for argument, value in zip(node.args.kwonlyargs, node.args.kw_defaults, strict=True):
        defaults[argument.arg] = ast.unparse(value) if value else ""
    return defaults


def _cell(text: str) -> str:
    return text.replace("``", "`").replace("|", "\\|")


def _table(headings: list[str], rows: list[list[str]]) -> str:
    lines = [headings, *([_cell(cell) for cell in row] for row in rows)]
    shown = ["| " + " | ".join(line) + " |\n" for line in lines]
    return "".join([shown[0], "|---" * len(headings) + "|\n", *shown[1:]]).replace("|  |", "| |")


def render_arguments(known: dict[str, Entity], name: str, shown: dict[tuple[str, str], str]) -> str:
    """The table. `shown` has the arguments of the tables before it in the document, each with the name of its table."""
    defaults = _defaults(_entity(known, name).node)
    rows: list[tuple[list[str], list[str], str]] = []  # arguments, their defaults, what both mean
    for argument, text in arguments_of(known, name).items():
        default = defaults.get(argument)
        cell = {None: "", "": "required"}.get(default, f"``{default}``".replace("'", '"'))
        earlier = shown.setdefault((argument, text), name)
        meaning = text if earlier == name else f"as for ``{earlier.rpartition('.')[2]}``"
        if not rows or rows[-1][2] != meaning or not cell:
            rows.append(([], [], meaning))
        rows[-1][0].append(f"``{argument}``")
        rows[-1][1].append(cell)
    return _table(
        ["argument", "default", "meaning"],
        [[", ".join(names), ", ".join(cells if len({*cells}) > 1 else cells[:1]), text] for names, cells, text in rows],
    )


def render_attributes(known: dict[str, Entity], name: str) -> str:
    node = known[name].node
    assert isinstance(node, ast.ClassDef)
    rows = [[f"``{key}``", text] for key, text in _section(known[name].doc, "Attributes:").items()]
    for attribute, after in zip(node.body, node.body[1:], strict=False):
        documented = isinstance(after, ast.Expr) and isinstance(after.value, ast.Constant)
        if isinstance(attribute, ast.AnnAssign) and documented:
            assert isinstance(after, ast.Expr)
            rows.append([f"``{ast.unparse(attribute.target)}``", " ".join(ast.literal_eval(after.value).split())])
    return _table(["attribute", "meaning"], rows)


def render_errors(_: dict[str, Entity], name: str) -> str:
    module = ast.parse((PYTHON / "tricodec" / f"{name}.py").read_text())
    rows = []
    for node in module.body:
        if isinstance(node, ast.ClassDef):
            bases = [f"``{base.id}``" for base in node.bases if isinstance(base, ast.Name) and base.id != "Error"]
            summary = " ".join((ast.get_docstring(node) or "").split())
            rows.append([f"``tricodec.{node.name}``", ", ".join(bases), summary])
    return _table(["class", "also a", "raised when"], rows)


def render_text(known: dict[str, Entity], name: str) -> str:
    return _cell("\n\n".join(_paragraphs(_entity(known, name).doc))).replace("\\|", "|") + "\n"


RENDER = {
    "attributes": render_attributes,
    "errors": render_errors,
    "text": render_text,
}


def rendered(document: str, known: dict[str, Entity]) -> str:
    """A document with its blocks written again."""
    shown: dict[tuple[str, str], str] = {}

    def block(found: re.Match[str]) -> str:
        kind, name = found[2], found[3]
        text = render_arguments(known, name, shown) if kind == "arguments" else RENDER[kind](known, name)
        return found[1] + text + found[4]

    return BLOCK.sub(block, document)


def main() -> int:
    known = entities()
    stale = []
    for path in sorted((ROOT / "docs").rglob("*.md")):
        text = path.read_text()
        wanted = rendered(text, known)
        if text.count("written by tools/document_api.py") != len(BLOCK.findall(text)):
            stale.append(f"{path.name}: a block has no end")
        elif wanted != text and sys.argv[1:] == ["--check"]:
            stale.append(f"{path.name}: a block differs from its docstring; run python tools/document_api.py")
        elif wanted != text:
            path.write_text(wanted)
    print("\n".join(stale))
    return 1 if stale else 0


if __name__ == "__main__":
    sys.exit(main())
