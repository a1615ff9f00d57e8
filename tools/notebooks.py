# SPDX-License-Identifier: Apache-2.0
"""Makes docs/notebooks/*.ipynb of examples/notebooks/*.py, with the outputs of a run.

python tools/notebooks.py [NAME ...]          runs and writes all of them, or those named
python tools/notebooks.py --check             1 if the cells of a notebook are not those of its program

A program has cells after lines `# %%` and, of text, `# %% [markdown]` with comments. Its first comment is the license.
A line `# needs: NAME ...` there names packages that the notebook needs beside tricodec's own.
"""

from __future__ import annotations

import argparse
import importlib.util
import re
import sys
import tempfile
from pathlib import Path
from typing import Any

from check_sources import ROOT

SOURCES = ROOT / "examples/notebooks"
NOTEBOOKS = ROOT / "docs/notebooks"
_MARK = re.compile(r"^# %%( \[markdown\])?$", re.MULTILINE)
_SECONDS = 300


def needs(path: Path) -> list[str]:
    """The packages that a program needs."""
    found = re.search(r"^# needs: (.*)$", path.read_text(), re.MULTILINE)
    return found[1].split() if found else []


def missing(path: Path) -> list[str]:
    """Those of them that are not installed."""
    return [name for name in needs(path) if importlib.util.find_spec(name) is None]


def cells(path: Path) -> list[tuple[str, str]]:
    """(kind, text) of the cells of a program: "markdown" or "code"."""
    parts = _MARK.split(path.read_text())[1:]
    found = []
    for mark, text in zip(parts[::2], parts[1::2], strict=True):
        if mark:
            lines = [line.removeprefix("#").removeprefix(" ") for line in text.strip().splitlines()]
            found.append(("markdown", "\n".join(lines)))
        else:
            found.append(("code", text.strip()))
    return found


def run(path: Path) -> Any:
    """The notebook of a program, with the outputs of a run in an empty folder.

    Raises:
        nbclient.exceptions.CellExecutionError: a cell raised.
    """
    import nbclient
    import nbformat

    notebook = nbformat.v4.new_notebook()
    make = {"markdown": nbformat.v4.new_markdown_cell, "code": nbformat.v4.new_code_cell}
    notebook.cells = [make[kind](text, id=f"cell-{number}") for number, (kind, text) in enumerate(cells(path))]
    notebook.metadata = {
        "kernelspec": {"name": "python3", "display_name": "Python 3", "language": "python"},
        "language_info": {"name": "python"},
    }
    with tempfile.TemporaryDirectory() as folder:
        client = nbclient.NotebookClient(
            notebook, timeout=_SECONDS, kernel_name="python3", resources={"metadata": {"path": folder}},
            record_timing=False,
        )  # fmt: skip
        client.execute()
        for cell in notebook.cells:
            for output in cell.get("outputs", []):
                for key, value in list(output.get("data", {}).items()):
                    if isinstance(value, str):
                        output["data"][key] = value.replace(folder, "/tmp/notebook")
                if "text" in output:
                    output["text"] = output["text"].replace(folder, "/tmp/notebook")
    return notebook


def differences() -> list[str]:
    """What differs between programs and notebooks."""
    import json

    found = []
    programs = {path.stem: path for path in sorted(SOURCES.glob("*.py"))}
    written = {path.stem: path for path in sorted(NOTEBOOKS.glob("*.ipynb"))}
    for name in sorted(set(programs) ^ set(written)):
        found.append(f"{name}: there is a program or a notebook, and not both")
    for name in sorted(set(programs) & set(written)):
        stored = json.loads(written[name].read_text())["cells"]
        texts = [(cell["cell_type"], "".join(cell["source"])) for cell in stored]
        if texts != cells(programs[name]):
            found.append(f"{written[name].relative_to(ROOT)}: its cells are not those of {programs[name].name}")
        if any(output["output_type"] == "error" for cell in stored for output in cell.get("outputs", [])):
            found.append(f"{written[name].relative_to(ROOT)}: a cell has an error as its output")
    return [f"{line}; run python tools/notebooks.py" for line in found]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", metavar="NAME", help="programs of examples/notebooks, without .py")
    parser.add_argument("--check", action="store_true", help="compare the cells, and run nothing")
    arguments = parser.parse_args()
    if arguments.check:
        found = differences()
        print(*found, sep="\n", end="\n" if found else "")
        return 1 if found else 0
    import nbformat

    NOTEBOOKS.mkdir(exist_ok=True)
    for path in sorted(SOURCES.glob("*.py")):
        if arguments.names and path.stem not in arguments.names:
            continue
        lacking = missing(path)
        if lacking:
            print(f"{path.name}: {', '.join(lacking)} is not installed; the notebook stays as it was")
            continue
        target = NOTEBOOKS / f"{path.stem}.ipynb"
        nbformat.write(run(path), target)
        print(f"{target.relative_to(ROOT)}: {target.stat().st_size / 1e3:.0f} kB")
    return 0


if __name__ == "__main__":
    sys.exit(main())
