# SPDX-License-Identifier: Apache-2.0
"""What mkdocs adds to docs/: pages of notebooks, of the Python and the C++ interface, and files that pages link to.

A public name of Python without a docstring fails the build. tools/build_docs.py runs doxygen before.
"""

from __future__ import annotations

import os
import posixpath
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import griffe
import nbconvert
import nbformat
from mkdocs.exceptions import PluginError
from mkdocs.structure.files import File, Files

sys.path.insert(0, str(Path(__file__).resolve().parent))
sys.path.insert(1, str(Path(__file__).resolve().parents[1]))
import diagrams
import notebooks
from griffe_native import NativeDocstrings

ROOT = Path(__file__).resolve().parents[2]
CPP = ROOT / "build" / "doxygen" / "html"
#: Public modules, beside tricodec itself. PyNvVideoCodec has the names of its original, which pages of migration list.
MODULES = (
    "arrays audio compress data data.ray data.torch dali encode errors installation io limits measure remote serving "
    "triton.client triton.serve video video.scenes"
).split()
_interface_pages: dict[str, str] = {}
_notebooks: dict[str, str] = {}
_NOTEBOOK = re.compile(r"\]\(((?:\.\./)*)\.\./examples/(notebooks/\w+)\.py\)")
_outside: dict[str, str] = {}
_LINK = re.compile(r"\]\(((?:\.\./)+[^)#\s]+)(#[^)\s]*)?\)")
_PAGES_OF_THE_ROOT = {"README.md": "project/readme.md", "README.zh-CN.md": "project/readme_zh.md"}
_NAMED = re.compile(r"\[[\w.-]+\.md\]\(([^)#\s]+\.md)([^)]*)\)")
_PAGES_OF_THE_ROOT |= {name: f"project/{name.lower()}" for name in ("CONTRIBUTING.md", "SECURITY.md", "CHANGELOG.md")}
_PAGES_OF_THE_ROOT |= {"CODE_OF_CONDUCT.md": "project/code_of_conduct.md"}


def _public(module: griffe.Module) -> list[str]:
    if module.exports:
        return sorted(str(name) for name in module.exports)
    return sorted(name for name, member in module.members.items() if not name.startswith("_") and not member.is_alias)


def _undocumented(module: griffe.Module) -> Iterator[str]:
    """Public classes, functions and methods without a docstring."""
    for name in _public(module):
        if name.startswith("__"):
            continue
        found = module[name]
        member = found.final_target if found.is_alias else found
        if member.is_attribute:
            continue
        if not member.has_docstring:
            yield f"{module.path}.{name}"
        for attribute in member.members.values() if member.is_class else ():
            public = attribute.is_function and not attribute.name.startswith("_")
            if public and not attribute.has_docstring and not attribute.inherited:
                yield f"{module.path}.{name}.{attribute.name}"


def _interface() -> dict[str, str]:
    """Pages of the Python interface: one for each class of tricodec, one for its functions, one for each module."""
    extensions = griffe.load_extensions(NativeDocstrings())
    package = griffe.load("tricodec", search_paths=[ROOT / "python"], extensions=extensions, resolve_aliases=True)
    assert isinstance(package, griffe.Module)
    missing = list(_undocumented(package))
    pages = {}
    functions = []
    for name in _public(package):
        found = package[name]
        member = found.final_target if found.is_alias else found
        if member.is_class:
            pages[f"reference/api/{name}.md"] = (
                f"# {name}\n\n::: tricodec.{name}\n    options: {{show_root_heading: false}}\n"
            )
        elif member.is_function:
            functions.append(name)
    pages["reference/api/functions.md"] = "# Functions of tricodec\n\n" + "".join(
        f"::: tricodec.{name}\n\n" for name in functions
    )
    for name in MODULES:
        module = package[name]
        missing += _undocumented(module)
        parts = [n for n in _public(module) if not module[n].is_module and not n.startswith("__")]
        entries = "".join(f"::: tricodec.{name}.{part}\n\n" for part in parts)
        pages[f"reference/api/tricodec_{name}.md"] = f"# tricodec.{name}\n\n{entries}"
    if missing:
        raise PluginError(f"public names without a docstring: {', '.join(missing)}")
    return pages


def _read_notebooks() -> Iterator[tuple[str, str]]:
    """A page of each notebook, and its file, in the order of index.md."""
    exporter = nbconvert.MarkdownExporter()
    index = (ROOT / "docs/index.md").read_text()
    for path in sorted(notebooks.SOURCES.glob("*.py"), key=lambda path: index.find(path.name)):
        made = notebooks.notebook(path)
        text, _ = exporter.from_notebook_node(made)
        title, rest = text.strip().split("\n", 1)
        yield f"notebooks/{path.stem}.md", f"{title}\n\n[This notebook as a file]({path.stem}.ipynb)\n\n{rest}"
        yield f"notebooks/{path.stem}.ipynb", nbformat.writes(made)


def _unlisted(folder: str, nav: str) -> Iterator[str]:
    """Pages of a folder of docs/ that mkdocs.yml does not list; they get the last places of the folder's menu."""
    for path in (ROOT / "docs" / folder).glob("*.md"):
        if (name := f"{folder}/{path.name}") not in nav:
            yield name


def on_config(config: Any) -> Any:
    """Adds the pages of the interface to the navigation."""
    _interface_pages.update(_interface())
    _notebooks.update(_read_notebooks())
    classes = [p for p in _interface_pages if "functions" not in p and "tricodec_" not in p]
    entries: list[Any] = [{"Functions": "reference/api/functions.md"}]
    entries += [{Path(page).stem: page} for page in classes]
    entries += [{f"tricodec.{name}": f"reference/api/tricodec_{name}.md"} for name in MODULES]
    for section in config.nav:
        ((name, pages),) = section.items()
        if name == "Reference":
            pages += [{"Python API": entries}, {"C++ API": "reference/cpp.md"}]
        if name == "Start":
            pages.append({"Notebooks": [page for page in _notebooks if page.endswith(".md")]})
        if name != "Home":
            pages += sorted(_unlisted(name.lower().replace("-", ""), str(config.nav)))
    titles = ["README", "README (中文)", "Contributing", "Security", "Changelog", "Code of conduct"]
    config.nav.append(
        {"Project": [{title: page} for title, page in zip(titles, _PAGES_OF_THE_ROOT.values(), strict=True)]}
    )
    return config


def on_files(files: Files, config: Any) -> Files:
    """Adds generated pages, the C++ interface, and files outside docs/ that pages link to."""
    for name, content in [*_interface_pages.items(), *_notebooks.items()]:
        files.append(File.generated(config, name, content=content))
    for name, page in _PAGES_OF_THE_ROOT.items():
        text = (ROOT / name).read_text()
        text = re.sub(r"\]\((?!https?:|#|/)", "](../../", text)  # as if the page was two folders below docs/
        files.append(File.generated(config, page, content=text))
    for path in sorted(CPP.rglob("*")):
        if path.is_file():
            name = f"cpp/{path.relative_to(CPP).as_posix()}"
            files.append(File.generated(config, name, abs_src_path=str(path)))
    for file in [*files.documentation_pages()]:
        for target, _ in _LINK.findall(file.content_string):
            path = posixpath.normpath(posixpath.join("docs", posixpath.dirname(file.src_uri), target))
            if path.startswith("docs/") or path in _PAGES_OF_THE_ROOT or not (ROOT / path).suffix:
                continue
            if not (ROOT / path).exists():
                raise PluginError(f"{file.src_uri} links to {path}, which does not exist")
            source = ROOT / path
            if path not in _outside:
                _outside[path] = f"project/files/{path}"
                files.append(File.generated(config, _outside[path], abs_src_path=str(source)))
    return files


def on_page_markdown(markdown: str, page: Any, config: Any, files: Files) -> str:
    """Links that leave docs/ lead to copies in the site, and those to notebooks to their pages.

    A link that is named like its file gets the page's title.
    """
    here = posixpath.dirname(page.file.src_uri)

    def replaced(found: re.Match[str]) -> str:
        path = posixpath.normpath(posixpath.join("docs", here, found[1]))
        if path.startswith("docs/"):
            target = path.removeprefix("docs/")
        else:
            target = _PAGES_OF_THE_ROOT.get(path) or _outside.get(path) or "project/contributing.md"  # of a folder
        return f"]({os.path.relpath(target, here or '.')}{found[2] or ''})"

    def titled(found: re.Match[str]) -> str:
        file = files.get_file_from_path(posixpath.normpath(posixpath.join(here, found[1])))
        title = re.search(r"^# (.*)$", file.content_string, re.MULTILINE) if file else None
        return f"[{title[1]}]({found[1]}{found[2]})" if title else found[0]

    markdown = _NOTEBOOK.sub(r"](\1\2.md)", markdown)
    markdown = diagrams.drawn(_NAMED.sub(titled, _LINK.sub(replaced, markdown)))
    if page.file.src_uri == "reference/cpp.md":
        parts = {"Classes": "annotated", "namespaces": "namespaces", "headers": "files"}
        links = " · ".join(f"[{name}](../cpp/{page}.html)" for name, page in parts.items())
        markdown += f"\n## Headers\n\n{links}\n"
    return markdown
