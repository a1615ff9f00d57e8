# SPDX-License-Identifier: Apache-2.0
"""What mkdocs adds to docs/: the entries of the Python API, CONTRIBUTING.md, and addresses for links that leave docs/.

A line `<!-- api: NAME ... -->` in a page becomes the entries of these names of tricodec, with their members. A module
stands for its names that no such line has.
"""

from __future__ import annotations

import importlib
import inspect
import posixpath
import re
from pathlib import Path
from typing import Any

import tricodec
from mkdocs.exceptions import PluginError
from mkdocs.plugins import event_priority
from mkdocs.structure.files import File, Files

ROOT = Path(__file__).resolve().parents[2]
REPOSITORY = "https://github.com/tricodec/tricodec/blob/main"
_LINE = re.compile(r"^<!-- api: (.*) -->$", re.MULTILINE)
_SHOWN = re.compile(r"^::: tricodec\.(\S+)$", re.MULTILINE)
_LINK = re.compile(r"(?<!!)\[([^\]]*)\]\(([^)#:\s]+)(#[^)\s]*)?\)")
_PICTURE = re.compile(r"\((?:\.\./)+(benchmarks/results/)([\w.]+)\)")  # assets/ of the site has a copy
_documented: dict[str, list[str]] = {}  # by page: the names of its line
_shown: set[str] = set()  # names that a page has in its text, at a line `::: tricodec.NAME`


def _named(name: str) -> Any:
    """What a name of tricodec stands for, such as FrameReader or data.torch."""
    try:
        return importlib.import_module(f"tricodec.{name}")
    except ImportError:
        owner, _, last = name.rpartition(".")
        module = importlib.import_module(f"tricodec.{owner}") if owner else tricodec
        if not hasattr(module, last):
            raise PluginError(f"a page has <!-- api: {name} -->, which tricodec does not have") from None
        return getattr(module, last)


def _public(names: Any, owner: Any) -> list[str]:
    """Classes and functions among the names of a module."""
    kinds = (inspect.isclass, inspect.isroutine)
    return [name for name in names if any(kind(getattr(owner, name)) for kind in kinds)]


@event_priority(-200)  # the plugin i18n knows only files of docs/
def on_files(files: Files, config: Any) -> Files:
    """Adds CONTRIBUTING.md and the notebook, and reads which page has which names.

    Raises:
        PluginError: a name of tricodec is on no page.
    """
    for plot in (ROOT / "benchmarks" / "results").glob("*.svg"):
        files.append(File.generated(config, f"assets/{plot.name}", content=plot.read_bytes()))
    if files.src_uris.get("index.md") is None:  # a translation
        for picture in (ROOT / "docs" / "images").iterdir():
            files.append(File.generated(config, f"images/{picture.name}", content=picture.read_bytes()))
        return files
    files.src_uris["notebooks/first_look.py"].is_documentation_page = lambda: True  # i18n forgets it
    text = re.sub(r"\]\((?!\w+:|#)", "](../", (ROOT / "CONTRIBUTING.md").read_text()).replace("](../docs/", "](")
    files.append(File.generated(config, "contributing.md", content=text))
    lines = {}
    for page in files.documentation_pages():
        if page.src_uri.endswith(".md"):
            _shown.update(_SHOWN.findall(page.content_string))
            if found := _LINE.search(page.content_string):
                lines[page.src_uri] = found[1].split()
    listed = {name for names in lines.values() for name in names}
    there = {_named(name) for name in listed if not inspect.ismodule(_named(name))}
    for page, names in lines.items():
        each = _documented[page] = []
        for name in names:
            owner = _named(name)
            if not inspect.ismodule(owner):
                each.append(name)
                continue
            again = [last for last in _public(owner.__all__, owner) if getattr(owner, last) not in there]
            each += [f"{name}.{last}" for last in again if not hasattr(tricodec, last)]
    missing = set(_public(tricodec.__all__, tricodec)) - listed - _shown
    if missing:
        raise PluginError(f"no page has a line <!-- api: NAME --> with {sorted(missing)}")
    return files


def _entry(name: str) -> str:
    """The entry of a name, with all its members; without those that a page shows in its text, if it shows one."""
    members = [shown for shown in _shown if shown.startswith(f"{name}.")]
    if name not in _shown and not members:
        return f"::: tricodec.{name}\n    options: {{heading_level: 3, members: null, filters: public}}\n"
    parts = [] if name in _shown else [name]
    owner = _named(name)
    if inspect.isclass(owner):
        public = [member for member in vars(owner) if not member.startswith("_")]
        parts += [f"{name}.{member}" for member in public if f"{name}.{member}" not in _shown]
    return "\n".join(f"::: tricodec.{part}\n    options: {{heading_level: 3}}\n" for part in parts)


def on_page_markdown(markdown: str, page: Any, config: Any, **_: Any) -> str:
    """Writes the entries of the API; links that leave docs/ lead to the repository, those of a translation to English.

    Raises:
        PluginError: a link leads nowhere.
    """
    here = posixpath.dirname(page.file.src_uri)
    at = posixpath.dirname(page.file.dest_uri)

    def replaced(found: re.Match[str]) -> str:
        path = posixpath.normpath(posixpath.join("docs", here, found[2]))
        if path.startswith("docs/") and not path.startswith("docs/notebooks/"):
            if not page.file.src_uri.endswith(".zh.md") or (
                (ROOT / path).with_suffix(".zh.md").exists() and not found[3]
            ):
                return found[0]
            english = posixpath.relpath(path.removeprefix("docs/").replace(".md", ".html"), at)
            return f'<a href="{english}{found[3] or ""}">{found[1]}</a>'
        if not (ROOT / path).exists():
            raise PluginError(f"{page.file.src_uri} links to {path}, which does not exist")
        return found[0] if path.endswith("first_look.py") else f"[{found[1]}]({REPOSITORY}/{path}{found[3] or ''})"

    if keywords := config.extra["keywords"].get(page.file.src_uri):
        page.meta["tags"] = keywords  # the search prefers them to a title
    markdown = _LINK.sub(replaced, markdown)
    markdown = _PICTURE.sub(rf"({posixpath.relpath('assets', here or '.')}/\2)", markdown)
    if page.file.src_uri in _documented:
        entries = "\n".join(_entry(name) for name in _documented[page.file.src_uri])
        markdown = _LINE.sub(lambda _: f"## Classes and functions\n\n{entries}", markdown)
    return markdown
