# SPDX-License-Identifier: Apache-2.0
"""The tables of the documents that name tests: each test is there."""

from __future__ import annotations

import re
from pathlib import Path

import media
import pytest

DOCS = ["compress.md", "encoding_items.md"]
TESTS = media.REPOSITORY / "tests/python"


def functions() -> set[str]:
    names: set[str] = set()
    for path in TESTS.rglob("test_*.py"):
        names |= set(re.findall(r"^def (test_\w+)\(", path.read_text(), re.MULTILINE))
    return names


@pytest.mark.parametrize("document", DOCS)
def test_every_test_that_a_table_names_is_there(document: str) -> None:
    text = (media.REPOSITORY / "docs" / document).read_text()
    files = {Path(name) for name in re.findall(r"`((?:gpu/)?test_\w+\.py)`", text)}
    names = re.findall(r"`(test_\w+?(?:\.\.\.)?)`", text)
    known = functions()

    missing = [name for name in files if not (TESTS / name).is_file()]
    for name in names:
        stem = name.removesuffix("...")
        there = any(each.startswith(stem) for each in known) if stem != name else name in known
        missing += [] if there else [Path(name)]

    assert len(names) > 10
    assert missing == []
