# SPDX-License-Identifier: Apache-2.0
"""House rules for the pages of docs/ and the documents beside it.

python tools/check_documents.py            1 if a page breaks a rule
python tools/check_documents.py --format   wraps paragraphs that have a line of more than 120 characters

A page has at most 250 lines, README.md 120 and CONTRIBUTING.md 80. A line has at most 120 characters and a paragraph at
most 6 lines. Rows of tables and blocks that a program writes are as long as their contents. docs/index.md links to
every page. A translation has the headings, in number and level, and the code blocks of its original.
"""

from __future__ import annotations

import re
import sys
import textwrap
from collections.abc import Iterator
from pathlib import Path

from check_sources import ROOT

DOCS = ROOT / "docs"
MAX_LINES = {"README.md": 120, "README.zh-CN.md": 120, "CONTRIBUTING.md": 80}
MAX_LINES_OF_PAGE, MAX_LINE, MAX_PARAGRAPH = 250, 120, 6
_ITEM = re.compile(r"(?P<indent> *)(?:[-*+]|\d+[.)]) ")
_NO_PROSE = re.compile(r"\s*$|\||#|    |<!--|!\[|</?\w+[ >]")
_CODE_SPAN = re.compile(r"`[^`\n]+`")


def pages() -> list[Path]:
    """The documents that the rules hold for."""
    return [path for name in MAX_LINES if (path := ROOT / name).is_file()] + sorted(DOCS.rglob("*.md"))


def paragraphs(lines: list[str]) -> Iterator[tuple[int, int]]:
    """Begin and end of each paragraph or item of a list, without tables, code, and what a program writes."""
    begin, fenced, generated = None, False, False
    for number, line in enumerate([*lines, ""]):
        fence = line.lstrip().startswith("```")
        fenced ^= fence
        if line.startswith("<!-- "):
            generated = not line.startswith("<!-- end")
        in_item = begin is not None and _ITEM.match(lines[begin]) and line.strip() and line.startswith(" ")
        prose = not (fenced or fence or generated) and (in_item or not _NO_PROSE.match(line))
        if begin is not None and (not prose or _ITEM.match(line)):
            yield begin, number
            begin = None
        if prose and begin is None:
            begin = number


def wrapped(lines: list[str]) -> list[str]:
    """A paragraph in lines of at most 120 characters; a span of code stays in one line."""
    item = _ITEM.match(lines[0])
    indent = " " * len(item[0]) if item else " " * (len(lines[0]) - len(lines[0].lstrip()))
    text = " ".join(line.strip() for line in lines)
    text = _CODE_SPAN.sub(lambda span: span[0].replace(" ", "\0"), text)
    # A line must not begin with what would make it an item of a list or a heading.
    text = re.sub(r" (?=(?:[-+*#|]|\d+[.)])( |$))", "\1", text[len(item[0]) if item else 0 :].strip())
    first = item[0] if item else indent
    made = textwrap.wrap(
        text, MAX_LINE, initial_indent=first, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False
    )
    return [line.replace("\0", " ").replace("\1", " ") for line in made]


def formatted(text: str) -> str:
    """The page with its long paragraphs wrapped."""
    lines = text.split("\n")
    for begin, end in reversed(list(paragraphs(lines))):
        if any(len(line) > MAX_LINE for line in lines[begin:end]):
            lines[begin:end] = wrapped(lines[begin:end])
    return "\n".join(lines)


def problems(path: Path) -> Iterator[str]:
    name = path.relative_to(ROOT).as_posix()
    lines = path.read_text().rstrip("\n").split("\n")
    most = MAX_LINES.get(name, MAX_LINES_OF_PAGE)
    if len(lines) > most:
        yield f"{name}: {len(lines)} lines; a reader's page has at most {most}: split it by purpose"
    fenced = False
    for number, line in enumerate(lines, 1):
        fenced ^= line.startswith("```")
        if len(line) > MAX_LINE and (fenced or line.startswith("    ")):
            yield f"{name}:{number}: {len(line)} characters of code; at most {MAX_LINE}"
    for begin, end in paragraphs(lines):
        if end - begin > MAX_PARAGRAPH:
            yield f"{name}:{begin + 1}: a paragraph of {end - begin} lines; at most {MAX_PARAGRAPH}: divide it"
        for number in range(begin, end):
            if len(lines[number]) > MAX_LINE:
                yield f"{name}:{number + 1}: {len(lines[number])} characters; run tools/check_documents.py --format"


def unlisted() -> Iterator[str]:
    """Pages that docs/index.md does not link to."""
    linked = set(re.findall(r"\]\(([^)#]+\.md)", (DOCS / "index.md").read_text()))
    for path in sorted(DOCS.rglob("*.md")):
        name = path.relative_to(DOCS).as_posix()
        if name not in linked | {"index.md"}:
            yield f"docs/{name}: docs/index.md does not link to it"


def _shape(text: str) -> tuple[list[int], list[str]]:
    """Levels of the headings, and the code blocks without their comments."""
    blocks = re.findall(r"^```\w*\n.*?^```", text, re.MULTILINE | re.DOTALL)
    prose = re.sub(r"^```\w*\n.*?^```", "", text, flags=re.MULTILINE | re.DOTALL)
    blocks += re.findall(r"^    \S.*$", prose, re.MULTILINE)
    return [len(level) for level in re.findall(r"^(#+) ", prose, re.MULTILINE)], [
        re.sub(r"\s*#.*$", "", block, flags=re.MULTILINE) for block in blocks
    ]


def untranslated() -> Iterator[str]:
    """Translations that differ from their originals in headings or code."""
    pairs = [(ROOT / "README.zh-CN.md", ROOT / "README.md")]
    pairs += [(path, DOCS / path.relative_to(DOCS / "zh")) for path in sorted((DOCS / "zh").rglob("*.md"))]
    for translation, original in pairs:
        if not translation.is_file():
            continue
        (levels, blocks), (expected, code) = _shape(translation.read_text()), _shape(original.read_text())
        name = translation.relative_to(ROOT)
        if levels != expected:
            yield f"{name}: headings of levels {levels}; {original.name} has {expected}"
        for mine, theirs in zip(blocks, code, strict=False):
            if mine != theirs:
                yield f"{name}: a block of code differs from {original.name}:\n{mine}\n--- there:\n{theirs}"
        if len(blocks) != len(code):
            yield f"{name}: {len(blocks)} blocks of code; {original.name} has {len(code)}"


def main() -> int:
    if sys.argv[1:] == ["--format"]:
        for path in pages():
            text = path.read_text()
            if (new := formatted(text)) != text:
                path.write_text(new)
        return 0
    found = [problem for path in pages() for problem in problems(path)] + [*unlisted(), *untranslated()]
    print("\n".join(found))
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
