# SPDX-License-Identifier: Apache-2.0
"""House rules for English: words that readers stumble over, in comments, documents, help and errors.

Name the subject of a sentence: the thread, the decoder, the caller. If such a word is right, because it is about
people or quotes a message, add the file to LEFT_OUT.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable, Iterator, Sequence

from check_sources import BINARY, ROOT, files

#: What is checked: folders, or files of the top level.
CHECKED = [
    "README.md",
    "CONTRIBUTING.md",
    "Makefile",
    "benchmarks",
    "cmake",
    "core",
    "docs",
    "examples",
    "model_repository",
    "plugin",
    "python",
    "tests",
    "tools",
    "triton_backend",
]
#: Records, which stay as they were written, and lists of the words themselves.
LEFT_OUT = [
    "benchmarks/results",
    "tools/check_words.py",
]

INSTEAD = {
    "whose": "name the owner: 'the length of the packet', 'with', 'that has'",
    "who": "'that', or the thread, decoder, caller ...",
    "whoever": "'every caller that', 'a program that'",
    "nobody": "'no thread', 'no caller', 'no other reader'",
    "somebody": "'a caller', 'another thread'",
    "anew": "'again'",
    "told of": "'reported'",
    "tells of": "'reports'",
    "stands in": "'replaces', 'is in'",
    "goes on": "'continues'",
    "go on": "'continue'",
    "went on": "'continued'",
    "but for": "'except', 'except for'",
    "what becomes": "'what happens to', 'how ... is handled'",
    "becomes of": "'happens to'",
    "mends": "'fixes', 'corrects'",
    "mended": "'fixed', 'corrected'",
    "spoilt": "'damaged', 'wrong'",
    "for ever": "'forever', 'without end'",
}
_WORDS = re.compile(r"\b(" + "|".join(re.escape(word) for word in INSTEAD) + r")\b", re.IGNORECASE)


def _is_below(name: str, places: Sequence[str]) -> bool:
    return any(name == place or name.startswith(place + "/") for place in places)


def find(text: str) -> Iterator[tuple[int, str, str]]:
    """(line number, word, line without its indentation) of each word that is refused in a text."""
    for number, line in enumerate(text.splitlines(), 1):
        for found in _WORDS.finditer(line):
            yield number, found[1].lower(), line.strip()


def check(texts: Iterable[tuple[str, str]]) -> list[str]:
    """Problems of files, each a path and a text."""
    return [
        f"{name}:{number}: '{word}': write {INSTEAD[word]}: {line}"
        for name, text in texts
        for number, word, line in find(text)
    ]


def checked_texts() -> Iterator[tuple[str, str]]:
    for path in files():
        name = path.relative_to(ROOT).as_posix()
        if path.suffix not in BINARY and _is_below(name, CHECKED) and not _is_below(name, LEFT_OUT):
            yield name, path.read_text(errors="replace")


def main() -> int:
    problems = check(checked_texts())
    print("\n".join(problems))
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
