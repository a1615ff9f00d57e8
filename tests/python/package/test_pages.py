# SPDX-License-Identifier: Apache-2.0
"""The documentation's examples run as they stand."""

from __future__ import annotations

import functools
import os
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import media
import pytest
import tricodec
from preloaded import Preloaded

DOCUMENTS = [media.REPOSITORY / "README.md", *sorted((media.REPOSITORY / "docs").rglob("*.md"))]
_BLOCK = re.compile(r"^```python\n(.*?)^```", re.MULTILINE | re.DOTALL)


def _blocks() -> list[tuple[str, str]]:
    """(document and number, code) of each Python block."""
    found = []
    for document in DOCUMENTS:
        for number, block in enumerate(_BLOCK.findall(document.read_text()), 1):
            found.append((f"{document.relative_to(media.REPOSITORY).as_posix()}-{number}", block))
    return found


def _needs(code: str) -> list[pytest.MarkDecorator]:
    marks = []
    if "dali" in code:
        marks.append(pytest.mark.needs_dali)
    if "tricodec.triton.serve" in code or "tricodec.triton.client" in code:
        marks.append(pytest.mark.needs_triton)
    if "video_text" in code:
        marks.append(pytest.mark.needs_onnx)
    if "torch" in code:
        marks.append(pytest.mark.needs_torch)
    return marks


@pytest.fixture(scope="module")
def with_packages() -> Iterator[Callable[[str], Preloaded]]:
    """Where programs run that import a package: it takes longer than most of them."""
    started: list[Preloaded] = []

    @functools.cache
    def start(package: str) -> Preloaded:
        cores = os.sched_getaffinity(0)
        if package == "tricodec.triton.client":  # servers start a process a model and core
            os.sched_setaffinity(0, {sorted(cores)[os.getpid() % len(cores)]})
        started.append(Preloaded(["numpy", package]))
        os.sched_setaffinity(0, cores)
        return started[-1]

    yield start
    for each in started:
        each.close()


def _heaviest_of(code: str) -> str:
    """A package that the code imports."""
    if "tricodec.triton.serve" in code and "torch" not in code:
        return "tricodec.triton.client"  # with the packages of Triton's client
    return next((package for package in ("torch", "nvidia.dali") if package in code), "tricodec")


@pytest.mark.parametrize("code", [pytest.param(code, id=name, marks=_needs(code)) for name, code in _blocks()])
def test_code_block_runs_as_it_stands(code: str, tmp_path: Path, with_packages: Callable[[str], Preloaded]) -> None:
    """In a folder with the files that the examples name: the sample clip under the names they use."""
    for name in set(re.findall(r"[\"']([\w-]+\.mp4)[\"']", code)):
        (tmp_path / name).symlink_to(tricodec.sample_video())
    script = tmp_path / "example.py"
    script.write_text(code)

    result = with_packages(_heaviest_of(code)).run(script, cwd=tmp_path)

    assert result.returncode == 0, f"{code}\n{result.stdout}{result.stderr}"
    for promised in re.findall(r"^ *print\(.*\)  # (\S.*)$", code, re.MULTILINE):
        assert promised in result.stdout


def test_blocks_of_the_first_pages_have_the_types_that_a_checker_expects(tmp_path: Path) -> None:
    """README's, the landing page's and those of Start, with mypy as a program of a user has it."""
    first = [name for name in _blocks() if name[0].startswith(("README", "docs/start/", "docs/index"))]
    for number, (_, code) in enumerate(first):
        (tmp_path / f"block_{number}.py").write_text(code)
    skipped = "[mypy-nvidia.*,torch.*,tritonclient.*]\nfollow_imports = skip\nfollow_imports_for_stubs = True\n"
    (tmp_path / "mypy.ini").write_text(f"[mypy]\nignore_missing_imports = True\n{skipped}")  # DALI's lack its plugins

    result = subprocess.run(
        [sys.executable, "-m", "mypy", "--config-file", "mypy.ini", "."], cwd=tmp_path, capture_output=True, text=True,
        check=False, env=os.environ | {"MYPYPATH": str(media.REPOSITORY / "python")},
    )  # fmt: skip

    assert first
    assert result.returncode == 0, result.stdout + result.stderr


def _anchors(document: Path) -> set[str]:
    headings = re.findall(r"^#+ (.*)$", _BLOCK.sub("", document.read_text()), re.MULTILINE)
    return {re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-") for heading in headings}


def test_documents_link_to_files_and_headings_that_exist() -> None:
    broken = []
    others = [media.REPOSITORY / name for name in ("README.zh-CN.md", "CONTRIBUTING.md", "SECURITY.md", "CHANGELOG.md")]
    for document in [*DOCUMENTS, *others]:
        for target, anchor in re.findall(r"\]\(([^)#:]*)(?:#([^)]*))?\)", document.read_text()):
            path = document.parent / target if target else document
            if not path.exists() or (anchor and anchor not in _anchors(path)):
                broken.append(f"{document.relative_to(media.REPOSITORY)}: {target}#{anchor}")

    assert broken == []
