# SPDX-License-Identifier: Apache-2.0
"""Workflows, hooks and documents name commands that exist."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
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


@pytest.mark.parametrize("name", ["README.md", "README.zh-CN.md"])
def test_readme_has_both_commands_and_the_packages_of_a_build(name: str) -> None:
    text = (REPOSITORY / name).read_text()
    listed = (REPOSITORY / "cmake/packages.txt").read_text().splitlines()
    packages = [line.split()[0] for line in listed if not line.startswith("#")]

    assert re.findall(r"^ {4}(make (?:demo|test))  +#", text, re.MULTILINE) == ["make demo", "make test"]
    (install,) = re.findall(r"^ {4}(apt-get install (?:.*\\\n)*.*)$", text, re.MULTILINE)
    assert install.replace("\\", " ").split() == ["apt-get", "install", *packages]


@pytest.mark.parametrize("absent", ["libhwy", "libswscale", "ffnvcodec", "libavformat", "libzstd"])
def test_a_build_without_a_library_names_the_packages(tmp_path: Path, absent: str) -> None:
    """CMake with a pkg-config that does not know a library."""
    real = shutil.which("pkg-config")
    program = tmp_path / "pkg-config"
    program.write_text(f'#!/bin/sh\ncase "$*" in *{absent}*) exit 1;; esac\nexec {real} "$@"\n')
    program.chmod(0o755)
    cmake = Path(sys.executable).with_name("cmake")
    configure = [
        str(cmake if cmake.exists() else "cmake"), "-S", REPOSITORY, "-B", tmp_path / "build",
        f"-DPKG_CONFIG_EXECUTABLE={program}", "-DCMAKE_DISABLE_FIND_PACKAGE_hwy=ON", "-DTRICODEC_BUILD_PYTHON=OFF",
        "-DTRICODEC_BUILD_DALI=OFF",
    ]  # fmt: skip
    listed = (REPOSITORY / "cmake/packages.txt").read_text().splitlines()
    line = " ".join(["apt-get install", *(line.split()[0] for line in listed if not line.startswith("#"))])

    refused = subprocess.run(configure, capture_output=True, text=True, check=False)

    assert refused.returncode != 0
    assert line in refused.stderr


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
