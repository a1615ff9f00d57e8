# SPDX-License-Identifier: Apache-2.0
"""The diagrams of the documents are flowcharts that the site can draw."""

from __future__ import annotations

import re
import sys

import pytest
from media import REPOSITORY

sys.path.insert(0, str(REPOSITORY / "tools" / "site"))

import diagrams

BLOCKS = [
    pytest.param(block, id=f"{path.stem}-{number}")
    for path in sorted((REPOSITORY / "docs").rglob("*.md"))
    for number, block in enumerate(re.findall(r"^```mermaid\n(.*?)^```", path.read_text(), re.MULTILINE | re.DOTALL), 1)
]


@pytest.mark.parametrize("block", BLOCKS)
def test_each_diagram_of_the_documents_is_translated(block: str) -> None:
    dot = diagrams.dot_of(block)

    assert len(re.findall(r" -> ", dot)) == len(re.findall(r"->", block))
    for label in re.findall(r"\w\[(.*?)\]", block):
        assert f'label="{label}"' in dot


def test_edges_have_their_texts_and_groups_their_borders() -> None:
    dot = diagrams.dot_of("graph LR\nsubgraph a[The core]\nb --> c -->|one| d\nend\na -. two .-> e[End]\ne -.-> a")

    assert 'b -> c [label="  " style=solid]' in dot
    assert 'c -> d [label=" one " style=solid]' in dot
    assert 'subgraph cluster_a { label="The core"' in dot
    assert 'a -> e [label=" two " style=dashed ltail=cluster_a]' in dot
    assert 'e -> a [label="  " style=dashed lhead=cluster_a]' in dot


@pytest.mark.parametrize("text", ["sequenceDiagram\na->>b: x", "graph LR\na --> b & c", "graph XX\na --> b"])
def test_what_is_no_such_flowchart_stays_text(text: str) -> None:
    page = f"# Title\n\n```mermaid\n{text}\n```\n"

    assert diagrams.drawn(page) == page
