# SPDX-License-Identifier: Apache-2.0
"""Workflows, hooks and documents name commands that exist."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from media import REPOSITORY

TARGETS = set(re.findall(r"^([a-z-]+):", (REPOSITORY / "Makefile").read_text(), re.MULTILINE))
FILES = [
    *sorted((REPOSITORY / ".github" / "workflows").glob("*.yml")),
    REPOSITORY / ".pre-commit-config.yaml",
    REPOSITORY / ".devcontainer" / "devcontainer.json",
    *(REPOSITORY / name for name in ("README.md", "README.zh-CN.md", "CONTRIBUTING.md")),
]


@pytest.mark.parametrize("file", FILES, ids=lambda path: path.name)
def test_commands_of_make_are_targets(file: Path) -> None:
    text = file.read_text()
    commands = re.findall(r"(?:^ {4}|[:`] ?\"?|&& |entry: )make ([a-z-]+)\b", text, re.MULTILINE)

    assert set(commands) <= TARGETS
    assert commands or ".ci/run" in text


def test_the_workflow_of_changes_runs_what_a_contributor_runs() -> None:
    workflow = (REPOSITORY / ".github" / "workflows" / "ci.yml").read_text()

    assert re.search(r"^ +- run: \.ci/run$", workflow, re.MULTILINE)
    assert (REPOSITORY / ".ci" / "run").stat().st_mode & 0o100


def test_the_container_for_development_opens_the_environment_of_the_build() -> None:
    container = json.loads((REPOSITORY / ".devcontainer" / "devcontainer.json").read_text())
    presets = json.loads((REPOSITORY / "CMakePresets.json").read_text())
    settings = container["customizations"]["vscode"]["settings"]

    assert settings["cmake.configurePreset"] in {preset["name"] for preset in presets["configurePresets"]}
    assert settings["python.defaultInterpreterPath"].endswith("/.venv/bin/python")


def test_the_map_of_the_tree_names_what_exists() -> None:
    page = (REPOSITORY / "docs" / "explanation" / "where_to_change.md").read_text()
    named = set(re.findall(r"`((?:core|python|plugin|triton_backend|tests|benchmarks|docs)/[\w./]*)`", page))

    assert len(named) >= 20
    assert [name for name in named if not (REPOSITORY / name).exists()] == []
