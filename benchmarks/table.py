# SPDX-License-Identifier: Apache-2.0
"""Writes what README.md and docs/benchmarks.md show of the results files: tables between two markers, and the plot.

python -m benchmarks.table           rewrites them
python -m benchmarks.table --check   1 if one of them is not what its results file says
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

from benchmarks import page, plot, readme
from benchmarks.results import FOLDER, ROOT

_PAGE = "docs/benchmarks.md"
# Document, marker, and what belongs there.
BLOCKS: list[tuple[str, str, Callable[[], str]]] = [
    ("README.md", "performance", lambda: readme.performance(0)),
    ("README.zh-CN.md", "performance", lambda: readme.performance(1)),
    (_PAGE, "decoding", page.decoding),
    (_PAGE, "programs", page.programs),
    (_PAGE, "decoding on a GPU", page.decoding_on_a_gpu),
    (_PAGE, "encoding", page.encoding),
    (_PAGE, "compression", page.compression),
    (_PAGE, "compression on a GPU", page.compression_on_a_gpu),
    (_PAGE, "node", page.node),
]


def replaced(document: str, name: str, block: str) -> str:
    """The document with another block between its markers.

    Raises:
        ValueError: the document does not have the markers once.
    """
    marked = re.compile(rf"(<!-- {name}: written by benchmarks/table.py -->\n).*?(<!-- end of {name} -->)", re.DOTALL)
    text, count = marked.subn(lambda found: found[1] + block + found[2], document)
    if count != 1:
        message = f"{count} blocks are marked as {name}; there must be one"
        raise ValueError(message)
    return text


def rendered() -> Iterator[tuple[Path, str]]:
    """Each generated file with the text that it should have."""
    texts: dict[Path, str] = {}
    for document, name, render in BLOCKS:
        path = ROOT / document
        texts[path] = replaced(texts.get(path) or path.read_text(), name, render())
    yield from texts.items()
    yield FOLDER / "decode.svg", plot.draw()


def rewrite() -> None:
    """Writes the generated files."""
    for path, text in rendered():
        path.write_text(text)


def main() -> int:
    if sys.argv[1:] != ["--check"]:
        rewrite()
        return 0
    stale = [path.name for path, text in rendered() if not path.is_file() or path.read_text() != text]
    if stale:
        print(f"not what the results say: {', '.join(stale)}; run python -m benchmarks.table", file=sys.stderr)
    return int(bool(stale))


if __name__ == "__main__":
    sys.exit(main())
