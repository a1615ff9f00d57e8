# SPDX-License-Identifier: Apache-2.0
"""The documentation's examples run as they stand."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import media
import pytest
from tricodec.cli import main

DOCUMENTS = [media.REPOSITORY / "README.md", *sorted((media.REPOSITORY / "docs").rglob("*.md"))]
_BLOCK = re.compile(r"^```python\n(.*?)^```", re.MULTILINE | re.DOTALL)


def _blocks() -> list[tuple[str, str]]:
    """(document and number, code) of each Python block."""
    found = []
    for document in DOCUMENTS:
        for number, block in enumerate(_BLOCK.findall(document.read_text()), 1):
            found.append((f"{document.name}-{number}", block))
    return found


def _needs(code: str) -> list[pytest.MarkDecorator]:
    marks = []
    if "dali" in code:
        marks.append(pytest.mark.needs_dali)
    if "tricodec.serve" in code or "tricodec.client" in code:
        marks.append(pytest.mark.needs_triton)
    if "torch" in code:
        marks.append(pytest.mark.needs_torch)
    return marks


def test_readme_has_an_example() -> None:
    assert any(name.startswith("README.md") for name, _ in _blocks())


@pytest.mark.parametrize("code", [pytest.param(code, id=name, marks=_needs(code)) for name, code in _blocks()])
def test_code_block_runs_as_it_stands(code: str, tmp_path: Path) -> None:
    """In a folder with the files that the examples name: the demo clip under the names they use."""
    for name in set(re.findall(r"[\"']([\w-]+\.mp4)[\"']", code)):
        (tmp_path / name).symlink_to(media.bigbuckbunny())
    script = tmp_path / "example.py"
    script.write_text(code)

    result = subprocess.run([sys.executable, script], cwd=tmp_path, capture_output=True, text=True, check=False)

    assert result.returncode == 0, f"{code}\n{result.stdout}{result.stderr}"
    for promised in re.findall(r"^ *print\(.*\)  # (\S.*)$", code, re.MULTILINE):
        assert promised in result.stdout


def test_readme_commands_exist(capsys: pytest.CaptureFixture[str]) -> None:
    """Each `tricodec COMMAND` that the README names has a help text."""
    commands = set(re.findall(r"\btricodec (probe|frames|demo|serve|info)\b", DOCUMENTS[0].read_text()))
    assert commands

    for command in sorted(commands):
        with pytest.raises(SystemExit) as exit_info:
            main([command, "--help"])

        assert exit_info.value.code == 0
        assert f"tricodec {command}" in capsys.readouterr().out


def test_readme_make_targets_exist() -> None:
    targets = set(re.findall(r"`make ([a-z-]+)`", DOCUMENTS[0].read_text()))
    makefile = (media.REPOSITORY / "Makefile").read_text()

    assert targets
    assert [target for target in targets if not re.search(rf"^{target}:", makefile, re.MULTILINE)] == []


def test_documents_link_to_files_that_exist() -> None:
    broken = []
    for document in [*DOCUMENTS, media.REPOSITORY / "CONTRIBUTING.md", media.REPOSITORY / "CHANGELOG.md"]:
        for target in re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", document.read_text()):
            if not (document.parent / target).exists():
                broken.append(f"{document.name}: {target}")

    assert broken == []
