# SPDX-License-Identifier: Apache-2.0
"""Renders what README.md and the documents show of the results files: tables between two markers, and the plot.

python -m benchmarks.table           rewrites them
python -m benchmarks.table --check   1 if one is not what its results file says
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

from benchmarks import readme_table, results
from benchmarks.compress import goals as compress_goals
from benchmarks.decode import plot
from benchmarks.decode import table as decode_table
from benchmarks.encode import table as encode_table
from benchmarks.environment import ROOT
from benchmarks.gpu import table as gpu_table
from benchmarks.results import Row
from benchmarks.serve import table as serve_table

Render = Callable[[Mapping[str, str], Sequence[Row]], str]


def marked(name: str) -> re.Pattern[str]:
    """What lies between a document's markers of that name."""
    return re.compile(rf"(<!-- {name}: written by benchmarks/table.py -->\n).*?(<!-- end of {name} -->)", re.DOTALL)


def replaced(document: str, name: str, block: str) -> str:
    """The document with another block between its markers.

    Raises:
        ValueError: if it does not have them once.
    """
    text, count = marked(name).subn(lambda found: found[1] + block + found[2], document)
    if count != 1:
        message = f"{count} blocks are marked as {name}; there must be one"
        raise ValueError(message)
    return text


def _compression(facts: Mapping[str, str], rows: Sequence[Row]) -> str:
    where = facts.get("gpu") if any(row.contender == compress_goals.OFFICIAL for row in rows) else None
    machine = where or f"{facts['cores']} cores of an {facts['cpu']}"
    return f"{machine}, {facts['date'][:10]}:\n\n{compress_goals.summary(rows)}"


# Document, marker, what belongs there, and of which results.
BLOCKS: list[tuple[str, str, Render, str]] = [
    ("docs/reference/benchmarks_cpu.md", "performance", decode_table.summary, "cpu.csv"),
    ("docs/reference/benchmarks_cpu.md", "figures", decode_table.everything, "cpu.csv"),
    ("docs/reference/encoding.md", "speeds", encode_table.speeds, "encode.csv"),
    ("docs/reference/benchmarks_compress.md", "compression", _compression, "compress.csv"),
    ("docs/reference/benchmarks_compress.md", "compression on a GPU", _compression, "compress_gpu.csv"),
    ("docs/howto/check_gpu.md", "speeds", gpu_table.speeds, "gpu.csv"),
    ("docs/howto/check_gpu.md", "peers", gpu_table.peers, "gpu.csv"),
    ("docs/howto/check_gpu.md", "goals", gpu_table.goals, "gpu.csv"),
    ("docs/howto/check_gpu.md", "transforms", gpu_table.transforms, "gpu.csv"),
    ("docs/reference/triton_operation.md", "speeds", serve_table.speeds, "serve.csv"),
    ("docs/reference/triton_operation.md", "speeds on a GPU", serve_table.speeds, "serve_gpu.csv"),
]
_PLOT = "benchmarks/results/cpu.svg"


def rendered() -> Iterator[tuple[Path, str]]:
    """Each generated file with the text that it should have."""
    texts: dict[Path, str] = {}
    for document, name, render, source in BLOCKS:
        path = ROOT / document
        text = texts.get(path) or path.read_text()
        texts[path] = replaced(text, name, render(*results.read(results.FOLDER / source)))
    for language, name in enumerate(("README.md", "README.zh-CN.md")):
        texts[ROOT / name] = replaced((ROOT / name).read_text(), "performance", readme_table.summary(language))
    yield from texts.items()
    yield ROOT / _PLOT, plot.draw(results.read(results.FOLDER / "cpu.csv")[1])


def outdated() -> list[str]:
    """Names of the generated files that are not what the results say."""
    return [str(path.relative_to(ROOT)) for path, text in rendered() if not path.is_file() or path.read_text() != text]


def rewrite() -> None:
    """Writes them."""
    for path, text in rendered():
        path.write_text(text)


if __name__ == "__main__":
    if sys.argv[1:] == ["--check"]:
        stale = outdated()
        if stale:
            print(f"not what the results say: {', '.join(stale)}; run python -m benchmarks.table", file=sys.stderr)
        sys.exit(1 if stale else 0)
    rewrite()
