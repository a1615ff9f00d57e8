# SPDX-License-Identifier: Apache-2.0
"""What mkdocs adds to docs/: pages of the Python interface, and addresses for links that leave docs/."""

from __future__ import annotations

import inspect
import posixpath
import re
from pathlib import Path
from typing import Any

import tricodec
from mkdocs.exceptions import PluginError
from mkdocs.structure.files import File, Files

ROOT = Path(__file__).resolve().parents[2]
REPOSITORY = "https://github.com/tricodec/tricodec/blob/main"
#: Public modules, beside tricodec itself. PyNvVideoCodec has the names of its original, which pages of migration list.
MODULES = (
    "arrays audio compress data data.ray data.torch dali encode errors installation io limits measure remote serving "
    "triton.client triton.serve video video.scenes"
).split()
_LINK = re.compile(r"\]\(((?:\.\./)+[^)#\s]+)(#[^)\s]*)?\)")


def _interface() -> dict[str, tuple[str, str]]:
    """Pages of the Python interface, each with its title: of each class, of all functions, of each module."""
    names = sorted(name for name in tricodec.__all__ if not name.startswith("_"))
    classes = [name for name in names if inspect.isclass(getattr(tricodec, name))]
    functions = [name for name in names if inspect.isroutine(getattr(tricodec, name))]
    entries = "".join(f"::: tricodec.{name}\n    options: {{skip_local_inventory: false}}\n\n" for name in functions)
    pages = {"reference/api/functions.md": ("Functions", f"# Functions of tricodec\n\n{entries}")}
    for name in [*classes, *MODULES]:
        title = name if name in classes else f"tricodec.{name}"
        again = str("." in name).lower()  # names of tricodec.data too: links lead to its page
        options = f"show_root_heading: false, members: null, filters: public, skip_local_inventory: {again}"
        text = f"# {title}\n\n::: tricodec.{name}\n    options: {{{options}}}\n"
        pages[f"reference/api/{title}.md"] = (title, text)
    return pages


def on_config(config: Any) -> Any:
    """Adds the pages of the interface to the navigation."""
    entries = [{title: page} for page, (title, _) in _interface().items()]
    (reference,) = (section["Reference"] for section in config.nav if "Reference" in section)
    reference.append({"Python API": entries})
    return config


def on_files(files: Files, config: Any) -> Files:
    """Adds the pages of the interface."""
    for page, (_, content) in _interface().items():
        files.append(File.generated(config, page, content=content))
    return files


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:
    """Links that leave docs/ lead to the repository.

    Raises:
        PluginError: a link leads nowhere.
    """

    def replaced(found: re.Match[str]) -> str:
        path = posixpath.normpath(posixpath.join("docs", posixpath.dirname(page.file.src_uri), found[1]))
        if path.startswith("docs/"):
            return found[0]
        if not (ROOT / path).exists():
            raise PluginError(f"{page.file.src_uri} links to {path}, which does not exist")
        return f"]({REPOSITORY}/{path}{found[2] or ''})"

    return _LINK.sub(replaced, markdown)
