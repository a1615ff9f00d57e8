# SPDX-License-Identifier: Apache-2.0
"""tools/document_api.py: blocks of documents that come from docstrings."""

from __future__ import annotations

import ast
import sys

import media
import pytest

sys.path.insert(0, str(media.REPOSITORY / "tools"))
import document_api

SOURCE = '''
def read(source, *, count=-1, **options):
    """Read frames.

    They are in order
    of presentation.

    ::

        read("a.mp4")

    Args:
        source: a path, or
            bytes.
        count, stride: number of frames | packets.
        **options: of `Transform`.

    Returns:
        frames: not an argument.
    """


class Reader:
    """Reads."""

    def more(self, source, count):
        """Read more.

        Args:
            source, count: as `read` takes them. Twice.
        """

    def unknown(self, other):
        """Read.

        Args:
            other: as `read` takes it.
        """

    def __call__(self, place):
        """Read at once.

        Args:
            place: a place in memory.
        """

    def back(self, place, **options):
        """Refer to a method that refers here.

        Args:
            place: as `Reader` takes it.

        Keyword Args:
            speed: as `again` takes it.
        """


def again(place, speed):
    """Read again.

    Args:
        place: as `Reader.back` takes it.
        speed: frames a second.
    """
'''


def entities_of(source: str) -> dict[str, document_api.Entity]:
    found = {}
    for node in ast.parse(source).body:
        assert isinstance(node, document_api.Node)
        found[node.name] = document_api.Entity(ast.get_docstring(node) or "", node)
        for member in node.body if isinstance(node, ast.ClassDef) else ():
            if isinstance(member, ast.FunctionDef):
                entity = document_api.Entity(ast.get_docstring(member) or "", member)
                found[f"{node.name}.{member.name}"] = entity
    return found


KNOWN = entities_of(SOURCE)


def block(kind: str, name: str, text: str = "") -> str:
    return f"<!-- {kind} {name}: written by tools/document_api.py -->\n{text}<!-- end of {kind} {name} -->\n"


def test_arguments_become_a_table_with_their_defaults() -> None:
    assert document_api.render_arguments(KNOWN, "read", {}).splitlines() == [
        "| argument | default | meaning |",
        "|---|---|---|",
        "| `source` | required | a path, or bytes. |",
        "| `count` | `-1` | number of frames \\| packets. |",
        "| `stride` | | number of frames \\| packets. |",
        "| `options` | | of `Transform`. |",
    ]


def test_a_table_refers_to_what_an_earlier_table_of_the_document_says() -> None:
    document = block("arguments", "Reader.__call__") + block("arguments", "Reader.back")

    assert document_api.rendered(document, KNOWN).splitlines()[2:-1] == [
        "|---|---|---|",
        "| `place` | required | a place in memory. |",
        "<!-- end of arguments Reader.__call__ -->",
        "<!-- arguments Reader.back: written by tools/document_api.py -->",
        "| argument | default | meaning |",
        "|---|---|---|",
        "| `place` | required | as for `__call__` |",
        "| `speed` | | frames a second. |",
    ]


def test_a_reference_becomes_the_sentence_that_it_names() -> None:
    assert document_api.arguments_of(KNOWN, "Reader.more") == {
        "source": "a path, or bytes. Twice.",
        "count": "number of frames | packets. Twice.",
    }


def test_a_reference_to_an_argument_that_is_not_described_is_an_error() -> None:
    with pytest.raises(ValueError, match=r"Reader\.unknown refers to 'other' of read, which does not describe it"):
        document_api.arguments_of(KNOWN, "Reader.unknown")


def test_functions_may_refer_to_each_other_and_to_a_call_of_a_class() -> None:
    back = {"place": "a place in memory.", "speed": "frames a second."}

    assert document_api.arguments_of(KNOWN, "Reader.back") == back
    assert document_api.arguments_of(KNOWN, "again") == back


def test_text_is_the_paragraphs_before_examples_and_sections() -> None:
    assert document_api.render_text(KNOWN, "read") == "Read frames.\n\nThey are in order\nof presentation.\n"


def test_a_block_is_replaced_and_the_rest_stays() -> None:
    document = "before\n" + block("text", "Reader", "old\n") + "after\n"

    assert document_api.rendered(document, KNOWN) == "before\n" + block("text", "Reader", "Reads.\n") + "after\n"


def test_a_block_without_a_docstring_is_an_error() -> None:
    with pytest.raises(ValueError, match="no docstring of 'Writer'"):
        document_api.rendered(block("text", "Writer"), KNOWN)


def test_docstrings_of_native_classes_are_read_from_the_bindings() -> None:
    known = document_api.entities()

    assert "a slice, or integers in a list" in document_api.arguments_of(known, "FrameReader.batch")["indices"]
    assert document_api.arguments_of(known, "probe")["source"].startswith("a path")
    assert "| `stream_index` | `-1` |" in document_api.render_arguments(known, "FrameReader", {})
