# SPDX-License-Identifier: Apache-2.0
"""Diagrams of Mermaid as pictures, drawn by Graphviz: the flowcharts of docs/, of nodes, edges and groups.

Mermaid itself is a program of the browser, which a site without a network cannot load.
"""

from __future__ import annotations

import html
import re
import subprocess

_FENCE = re.compile(r"^```mermaid\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_NODE = re.compile(r"\s*(\w+)(?:\[([^\]]*)\])?\s*")
_EDGE = re.compile(r"(?:(?P<solid>-->)(?:\|(?P<on>[^|]*)\|)?|-\.\s*(?:(?P<text>.*?)\s*\.)?->)")
_DIRECTIONS = {"TB", "TD", "BT", "LR", "RL"}


def _statement(line: str) -> list[str]:
    """The statements of dot for a line of nodes and edges."""
    made, position, before = [], 0, ""
    edge: re.Match[str] | None = None
    while True:
        node = _NODE.match(line, position)
        if node is None:
            raise ValueError(line)
        if node[2]:
            made.append(f'{node[1]} [label="{node[2]}"]')
        if edge:
            label = edge["on"] or edge["text"] or ""
            style = "solid" if edge["solid"] else "dashed"
            made.append(f'{before} -> {node[1]} [label=" {label} " style={style}]')
        before, position = node[1], node.end()
        if position == len(line):
            return made
        edge = _EDGE.match(line, position)
        if edge is None:
            raise ValueError(line)
        position = edge.end()


def dot_of(mermaid: str) -> str:
    """A flowchart in Graphviz's language.

    Raises:
        ValueError: the line that is none of a flowchart of nodes, edges and groups.
    """
    first, *lines = [line.strip() for line in mermaid.strip().splitlines()]
    kind, _, direction = first.partition(" ")
    if kind not in {"graph", "flowchart"} or direction not in _DIRECTIONS:
        raise ValueError(first)
    font = 'fontname="sans-serif" fontsize=11'
    made = [f"rankdir={direction.replace('TD', 'TB')}", "bgcolor=transparent", font, f"edge [{font} color=gray45]"]
    made.append(f'node [{font} shape=box style="rounded,filled" fillcolor="#e0f2f1" color="#00897b"]')
    for line in lines:
        if group := re.fullmatch(r"subgraph (\w+)(?:\[(.*)\])?", line):
            made.append(f'subgraph cluster_{group[1]} {{ label="{group[2] or group[1]}" style=rounded color=gray70')
        elif line == "end":
            made.append("}")
        else:
            made += _statement(line)
    groups = set(re.findall(r"^subgraph cluster_(\w+)", "\n".join(made), re.MULTILINE))
    return "digraph {\n" + "\n".join(made) + "\n}\n" if not groups else _with_groups(made, groups)


def _with_groups(made: list[str], groups: set[str]) -> str:
    """Edges of a group begin or end at its border: dot draws them to a point inside and cuts them off."""
    done = []
    for line in made:
        if begin := re.match(r"subgraph cluster_(\w+)", line):
            done += [line, f'{begin[1]} [shape=point style=invis label=""]']
            continue
        edge = re.match(r"(\w+) -> (\w+) \[", line)
        for end, word in zip(edge.groups() if edge else (), ("ltail", "lhead"), strict=False):
            if end in groups:
                line = line[:-1] + f" {word}=cluster_{end}]"  # noqa: PLW2901
        done.append(line)
    return "digraph {\ncompound=true\n" + "\n".join(done) + "\n}\n"


def drawn(markdown: str) -> str:
    """A page with its diagrams as pictures; one that is no such flowchart stays a block of text."""

    def picture(found: re.Match[str]) -> str:
        try:
            source = dot_of(found[1])
        except ValueError:
            return found[0]
        svg = subprocess.run(["dot", "-Tsvg"], input=source, check=True, capture_output=True, text=True).stdout
        label = html.escape(" ".join(found[1].split()), quote=True)
        return f'<div class="diagram" role="img" aria-label="{label}">{svg[svg.index("<svg") :]}</div>'.replace(
            "\n", " "
        )

    return _FENCE.sub(picture, markdown)
