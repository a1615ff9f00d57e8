# SPDX-License-Identifier: Apache-2.0
"""The stub of the native module against the module, and the docstrings of everything public."""

from __future__ import annotations

import ast
import inspect
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import tricodec
from tricodec import _tricodec

STUB = ast.parse(Path(_tricodec.__file__).with_name("_tricodec.pyi").read_text())

# What every class has from object, or what pybind11 gives it.
_COMMON = set(dir(object)) | {"__module__", "__doc__", "__dict__", "__weakref__", "__annotations__", "__slotnames__"}
_COMMON.add("__getattr__")  # an error's hint
_COMMON |= {name for name in dir(_tricodec.Packet) if name.startswith(("_pybind11", "__pybind11"))}


def is_type_checking_only(node: ast.stmt) -> bool:
    decorators = [ast.unparse(d) for d in getattr(node, "decorator_list", [])]
    return "type_check_only" in decorators or (isinstance(node, ast.AnnAssign) and "TypeAlias" in ast.unparse(node))


def declared(body: list[ast.stmt]) -> dict[str, ast.stmt]:
    names: dict[str, ast.stmt] = {}
    for node in body:
        if is_type_checking_only(node):
            continue
        if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
            names[node.name] = node
        elif isinstance(node, ast.AnnAssign):
            names[ast.unparse(node.target)] = node
    return names


def native_classes() -> list[str]:
    return sorted(name for name, value in vars(_tricodec).items() if inspect.isclass(value))


def test_the_stub_declares_the_names_of_the_module_and_no_others() -> None:
    found = {name for name in vars(_tricodec) if not name.startswith("_") or name == "__version__"}

    assert set(declared(STUB.body)) == found


@pytest.mark.parametrize("name", native_classes())
def test_the_stub_declares_the_members_of_each_class_and_no_others(name: str) -> None:
    cls = getattr(_tricodec, name)
    node = declared(STUB.body)[name]
    assert isinstance(node, ast.ClassDef)
    found = {member for member in vars(cls) if member not in _COMMON}
    # Python before 3.12 has no name for the buffer protocol; object's names are declared where they differ.
    listed = set(declared(node.body)) - {"__buffer__"} - _COMMON

    assert listed == {member for member in found if member not in {"__buffer__", "__release_buffer__"}}


@pytest.mark.parametrize("name", native_classes())
def test_the_stub_tells_properties_from_methods(name: str) -> None:
    node = declared(STUB.body)[name]
    assert isinstance(node, ast.ClassDef)

    for member, definition in declared(node.body).items():
        if member in {"__buffer__", "__init__", "__hash__", "__eq__"}:
            continue
        assert isinstance(definition, ast.FunctionDef)
        is_property = any(ast.unparse(d) == "property" for d in definition.decorator_list)
        assert isinstance(inspect.getattr_static(getattr(_tricodec, name), member), property) == is_property, member


def parameters_of(node: ast.FunctionDef) -> dict[str, str]:
    """Names and defaults that the stub gives."""
    args = node.args
    plain = [arg.arg for arg in args.args if arg.arg not in ("self", "cls")]
    defaults = [""] * (len(plain) - len(args.defaults)) + [ast.unparse(d) for d in args.defaults]
    result = dict(zip(plain, defaults, strict=True))
    for arg, default in zip(args.kwonlyargs, args.kw_defaults, strict=True):
        result[arg.arg] = ast.unparse(default) if default else ""
    return result


def parameters_in(doc: str) -> dict[str, str]:
    """Names and defaults in the signature that pybind11 writes into the first line of a docstring."""
    signature = doc.splitlines()[0]
    inside = signature[signature.index("(") + 1 : signature.rindex(") ->")]
    function = ast.parse(f"def f({re.sub(r'<[^>]*>', 'None', inside)}): ...").body[0]
    assert isinstance(function, ast.FunctionDef)
    return parameters_of(function)


def functions() -> Iterator[tuple[str, ast.FunctionDef, Any]]:
    for name, node in declared(STUB.body).items():
        if isinstance(node, ast.FunctionDef):
            yield name, node, getattr(_tricodec, name)
        elif isinstance(node, ast.ClassDef):
            for member, definition in declared(node.body).items():
                value = inspect.getattr_static(getattr(_tricodec, name), member, None)
                if isinstance(definition, ast.FunctionDef) and not isinstance(value, property) and value is not None:
                    yield f"{name}.{member}", definition, getattr(getattr(_tricodec, name), member)


@pytest.mark.parametrize(
    ("node", "function"),
    [
        pytest.param(node, function, id=name)
        for name, node, function in functions()
        if not node.args.kwarg and not node.args.posonlyargs and not name.endswith(("__eq__", "__exit__"))
    ],
)
def test_the_stub_has_the_parameters_and_defaults_of_each_function(node: ast.FunctionDef, function: Any) -> None:
    doc = function.__doc__ or ""
    if not doc.startswith(function.__name__ + "("):
        pytest.fail(f"{function.__name__} has no signature in its docstring: {doc!r}")

    assert parameters_of(node) == parameters_in(doc)


def public_objects() -> Iterator[tuple[str, Any]]:
    for name in tricodec.__all__:
        value = getattr(tricodec, name)
        if name.startswith("__"):
            continue
        yield name, value
        if inspect.isclass(value):
            for member, attribute in vars(value).items():
                public = not member.startswith("_") or member in {"__dlpack__", "__array__", "__call__"}
                if public and (callable(attribute) or isinstance(attribute, (property, staticmethod))):
                    yield f"{name}.{member}", attribute


def test_everything_public_has_a_docstring() -> None:
    silent = []
    for name, value in public_objects():
        # pybind11's signature is no docstring
        text = re.sub(r"^\w+\(.*?\) -> .*$", "", inspect.getdoc(value) or "", count=1, flags=re.MULTILINE)
        if len(text.split()) < 2:
            silent.append(name)

    assert silent == []


@pytest.mark.parametrize(
    ("node", "function"), [pytest.param(n, f, id=name) for name, n, f in functions() if not name.startswith("log")]
)
def test_arguments_that_are_documented_are_there(node: ast.FunctionDef, function: Any) -> None:
    doc = function.__doc__ or ""
    section = re.search(r"^Args:\n((?:    .*\n?)+)", doc, flags=re.MULTILINE)
    if section is None:
        return
    entries = re.findall(r"^    (\w+(?:, \w+)*): ", section[1], flags=re.MULTILINE)  # names with one text share it
    documented = [name for entry in entries for name in entry.split(", ")]

    assert set(documented) == set(parameters_of(node))


def test_all_is_what_the_package_exports() -> None:
    assert sorted(tricodec.__all__) == tricodec.__all__
    assert all(hasattr(tricodec, name) for name in tricodec.__all__)
    assert Path(tricodec.__file__).with_name("py.typed").exists()
