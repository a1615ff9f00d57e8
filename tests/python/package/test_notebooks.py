# SPDX-License-Identifier: Apache-2.0
"""The programs of examples/notebooks run as notebooks."""

from __future__ import annotations

import importlib.util
import sys

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


@pytest.mark.parametrize("name", [pytest.param(name, marks=_marks(name)) for name in NAMES])
def test_a_notebook_runs(name: str) -> None:
    notebook = notebooks.run(notebooks.SOURCES / f"{name}.py")  # a cell that raises, or an assertion in it, raises here

    outputs = [output for cell in notebook.cells for output in cell.get("outputs", [])]
    assert len(outputs) >= 3
