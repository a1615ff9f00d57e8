# SPDX-License-Identifier: Apache-2.0
"""The programs of docs/notebooks run as notebooks."""

from __future__ import annotations

import importlib.util
import re
from pathlib import Path

import media
import pytest

# Not imported here: they take longer than all that most workers collect.
if any(importlib.util.find_spec(name) is None for name in ("jupytext", "nbclient", "ipykernel")):
    pytest.skip("jupytext, nbclient or ipykernel is not installed", allow_module_level=True)

PROGRAMS = sorted((media.REPOSITORY / "docs/notebooks").glob("*.py"))
MARKS = {
    "torch": pytest.mark.needs_torch,
    "nvidia.dali": pytest.mark.needs_dali,
    "pytriton": pytest.mark.needs_triton,
    "rapidocr_onnxruntime": pytest.mark.needs_onnx,
}
"""Of the tests of notebooks that need a package; `make notebooks` has the others."""


def _marks(program: Path) -> list[pytest.MarkDecorator]:
    """The second line names the packages that a program needs beside tricodec's own."""
    needed = re.findall(r"; needs: (.*) -->", program.read_text())
    return [pytest.mark.slow, *(MARKS[package] for package in " ".join(needed).split() if package in MARKS)]


@pytest.mark.parametrize("program", [pytest.param(path, id=path.stem, marks=_marks(path)) for path in PROGRAMS])
def test_a_notebook_runs(program: Path, tmp_path: Path) -> None:
    import jupytext
    import nbclient

    notebook = jupytext.read(program, fmt="py:percent")
    resources = {"metadata": {"path": tmp_path}}
    # A cell that raises, or an assertion in it, raises here.
    nbclient.NotebookClient(notebook, timeout=300, kernel_name="python3", resources=resources).execute()

    outputs = [output for cell in notebook.cells for output in cell.get("outputs", [])]
    assert len(outputs) >= 3
