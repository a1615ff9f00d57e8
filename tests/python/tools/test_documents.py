# SPDX-License-Identifier: Apache-2.0
"""The rules for pages find what breaks them, and wrap what is too long."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from media import REPOSITORY

sys.path.insert(0, str(REPOSITORY / "tools"))

import build_docs
import check_documents

LONG = "A sentence with `code that stays whole` and a [link](page.md) " * 3


@pytest.fixture
def page(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(check_documents, "ROOT", tmp_path)
    monkeypatch.setattr(check_documents, "DOCS", tmp_path / "docs")
    (tmp_path / "docs" / "zh").mkdir(parents=True)
    (tmp_path / "docs" / "index.md").write_text("[a](page.md)\n")
    return tmp_path / "docs" / "page.md"


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("# Title\n" * 251, "251 lines"),
        (f"{LONG}\n", "characters; run tools/check_documents.py --format"),
        (f"- An item.\n- {LONG}\n", "docs/page.md:2: "),
        ("One line.\n" * 7, "a paragraph of 7 lines"),
        (f"```python\n{LONG}\n```\n", "characters of code"),
    ],
)
def test_a_page_that_breaks_a_rule_is_named(page: Path, text: str, problem: str) -> None:
    page.write_text(text)

    (found,) = check_documents.problems(page)

    assert problem in found


@pytest.mark.parametrize(
    "text",
    [
        f"| {LONG} |\n",
        f"<!-- x: written by a program -->\n{LONG}\n<!-- end of x -->\n",
        "One line.\n" * 6 + "\n" + "One line.\n" * 6,
    ],
)
def test_tables_and_generated_blocks_may_be_wide(page: Path, text: str) -> None:
    page.write_text(text)

    assert list(check_documents.problems(page)) == []


def test_wrapping_keeps_words_code_and_lists(page: Path) -> None:
    text = f"# Title\n\n{LONG}\n\n1. {LONG} - 2 of it\n2. Short.\n\n```\n{LONG}\n```\n"

    new = check_documents.formatted(text)

    assert new.split() == text.split()
    assert all(len(line) <= 120 for line in new.split("```")[0].splitlines())
    assert new.count("`code that stays whole`") == text.count("`code that stays whole`")
    assert not any(line.lstrip().startswith("- ") for line in new.splitlines())
    assert check_documents.formatted(new) == new


def test_a_page_without_a_link_in_the_index_is_named(page: Path) -> None:
    page.write_text("# A\n")
    page.with_name("other.md").write_text("# B\n")

    assert list(check_documents.unlisted()) == ["docs/other.md: docs/index.md does not link to it"]


def test_a_translation_has_the_headings_and_the_code_of_its_original(page: Path) -> None:
    page.write_text("# A\n\n```python\nx = 1  # one\n```\n\n    make all    # builds\n")
    translation = page.parent / "zh" / "page.md"
    translation.write_text("# B\n\n```python\nx = 1  # eins\n```\n\n    make all    # baut\n")
    assert list(check_documents.untranslated()) == []

    translation.write_text("# B\n\n## C\n\n```python\nx = 2\n```\n\n    make all\n")
    headings, code = check_documents.untranslated()

    assert "headings of levels [1, 2]; page.md has [1]" in headings
    assert "a block of code differs from page.md" in code


def test_undescribed_types_and_functions_of_cpp_fail_the_site() -> None:
    warnings = (
        "a.h:1: warning: Compound tricodec::Size is not documented.\n"
        "a.h:2: warning: Member height (variable) of struct tricodec::Size is not documented.\n"
        "a.h:3: warning: Member pack() (function) of namespace tricodec is not documented.\n"
    )

    assert [line[:5] for line in build_docs.undescribed(warnings)] == ["a.h:1", "a.h:3"]
