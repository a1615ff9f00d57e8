# SPDX-License-Identifier: Apache-2.0
"""The notebooks of docs/notebooks run, and are those of the programs in examples/notebooks."""

from __future__ import annotations

import importlib.util
import json
import sys
from pathlib import Path

import media
import pytest

# Not imported here: they take longer than all that most workers collect.
if any(importlib.util.find_spec(name) is None for name in ("nbclient", "ipykernel")):
    pytest.skip("nbclient or ipykernel is not installed", allow_module_level=True)
sys.path.insert(0, str(media.REPOSITORY / "tools"))

import notebooks

NAMES = [path.stem for path in sorted(notebooks.SOURCES.glob("*.py"))]
MARKS = {
    "torch": pytest.mark.needs_torch,
    "nvidia.dali": pytest.mark.needs_dali,
    "pytriton": pytest.mark.needs_triton,
    "rapidocr_onnxruntime": pytest.mark.needs_onnx,
}
"""Of the tests of notebooks that need a package; `make notebooks` has the others."""


def _marks(name: str) -> list[pytest.MarkDecorator]:
    needed = notebooks.needs(notebooks.SOURCES / f"{name}.py")
    return [pytest.mark.slow, *(MARKS[package] for package in needed if package in MARKS)]


def test_notebooks_are_those_of_the_programs_and_small() -> None:
    assert notebooks.differences() == []
    assert len(NAMES) == len(list(notebooks.NOTEBOOKS.glob("*.ipynb"))) >= 6
    for path in notebooks.NOTEBOOKS.glob("*.ipynb"):
        assert path.stat().st_size < 100_000, path
        assert str(media.REPOSITORY) not in path.read_text()


def test_a_notebook_that_was_changed_alone_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for folder in ("SOURCES", "NOTEBOOKS"):
        monkeypatch.setattr(notebooks, folder, tmp_path)
    monkeypatch.setattr(notebooks, "ROOT", tmp_path)
    (tmp_path / "a.py").write_text("# license\n# %% [markdown]\n# # Title\n# %%\nprint(1)\n")
    cells = [
        {"cell_type": "markdown", "source": ["# Title"]},
        {"cell_type": "code", "source": ["print(2)"], "outputs": []},
    ]
    (tmp_path / "a.ipynb").write_text(json.dumps({"cells": cells}))

    assert notebooks.cells(tmp_path / "a.py") == [("markdown", "# Title"), ("code", "print(1)")]
    (difference,) = notebooks.differences()
    assert difference.startswith("a.ipynb: its cells are not those of a.py")


@pytest.mark.parametrize("name", [pytest.param(name, marks=_marks(name)) for name in NAMES])
def test_a_notebook_runs(name: str) -> None:
    notebook = notebooks.run(notebooks.SOURCES / f"{name}.py")  # a cell that raises, or an assertion in it, raises here

    outputs = [output for cell in notebook.cells for output in cell.get("outputs", [])]
    assert len(outputs) >= 3
