# SPDX-License-Identifier: Apache-2.0
"""tools/check_words.py accepts the tree as it is and finds the words that the house rules refuse."""

from __future__ import annotations

import sys

import media
import pytest

sys.path.insert(0, str(media.REPOSITORY / "tools"))

import check_words


@pytest.mark.parametrize(
    "word", ["whose", "Who", "whoever", "nobody", "somebody", "anew", "told of", "tells of", "stands in", "goes on"]
)
def test_a_refused_word_is_reported_with_its_line_and_a_remedy(word: str) -> None:
    (problem,) = check_words.check([("docs/a.md", f"A line.\nThe frame, {word} here.\n")], set())

    assert problem.startswith(f"docs/a.md:2: '{word.lower()}': write ")


def test_parts_of_names_are_no_words() -> None:
    assert check_words.check([("tools/a.py", "test_who_encodes = wholesale + renewal\n")], set()) == []


def test_an_exception_allows_its_line_in_its_file_alone() -> None:
    allowed = check_words.exceptions("# People.\ndocs/a.md: Anyone who may: report.\n")
    text = "  Anyone who may: report.\n"

    assert check_words.check([("docs/a.md", text)], allowed) == []
    assert len(check_words.check([("docs/a.md", text), ("docs/b.md", text)], allowed)) == 1


def test_an_exception_that_no_line_needs_is_reported() -> None:
    (problem,) = check_words.check([("docs/a.md", "Nothing.\n")], {("docs/a.md", "Anyone who may.")})

    assert "no such line any more: docs/a.md: Anyone who may." in problem
