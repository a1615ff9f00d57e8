# SPDX-License-Identifier: Apache-2.0
"""Parts of a page of HTML that needs no other file."""

from __future__ import annotations

import base64
import html
from collections.abc import Iterable, Sequence

_STYLE = """
body { font: 15px/1.5 system-ui, sans-serif; max-width: 62rem; margin: 2rem auto; padding: 0 1rem; color: #222; }
table { border-collapse: collapse; margin: 1rem 0; }
th, td { padding: .25rem .7rem; border-bottom: 1px solid #ddd; text-align: left; vertical-align: top; }
td.n { text-align: right; font-variant-numeric: tabular-nums; }
img { max-width: 100%; }
"""


def head(title: str, heading: str) -> str:
    """The start of a page."""
    return (
        f"<!DOCTYPE html><html lang='en'><meta charset='utf-8'><title>{html.escape(title)}</title>\n"
        f"<style>{_STYLE}</style><h1>{html.escape(heading)}</h1>"
    )


def table(headings: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table; the last cell of a row that is too short spans the rest."""
    lines = ["<table><tr>" + "".join(f"<th>{html.escape(each)}</th>" for each in headings) + "</tr>"]
    for row in rows:
        cells = []
        for number, cell in enumerate(row):
            attributes = " class='n'" if cell.replace(".", "", 1).isdigit() else ""
            if number == len(row) - 1 and len(row) < len(headings):  # a reason instead of figures
                attributes += f" colspan='{len(headings) - number}'"
            cells.append(f"<td{attributes}>{html.escape(cell)}</td>")
        lines.append("<tr>" + "".join(cells) + "</tr>")
    return "\n".join([*lines, "</table>"])


def heading(text: str) -> str:
    """A heading of a part of the page."""
    return f"<h2>{html.escape(text)}</h2>"


def paragraph(text: str) -> str:
    """Some text."""
    return f"<p>{html.escape(text)}</p>"


def picture(png: bytes, title: str) -> str:
    """A heading and a picture that is a part of the page."""
    data = base64.b64encode(png).decode()
    return f'<h2>{html.escape(title)}</h2>\n<img alt="{html.escape(title)}" src="data:image/png;base64,{data}">'
