# SPDX-License-Identifier: Apache-2.0
"""House rules for English: words that readers stumble over, in comments, documents, help and errors.

Name the subject of a sentence: the thread, the decoder, the caller. If such a word is right, because it is about
people or quotes a message, tools/words_exceptions.txt lists the line: `path: text of the line`.
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
    "tools/words_exceptions.txt",
]
EXCEPTIONS = ROOT / "tools" / "words_exceptions.txt"

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


def exceptions(text: str) -> set[tuple[str, str]]:
    """(path, text of the line) of each exception; lines that begin with # are comments."""
    lines = [line for line in text.splitlines() if line.strip() and not line.startswith("#")]
    return {(path, rest.strip()) for path, _, rest in (line.partition(": ") for line in lines)}


def find(text: str) -> Iterator[tuple[int, str, str]]:
    """(line number, word, line without its indentation) of each word that is refused in a text."""
    for number, line in enumerate(text.splitlines(), 1):
        for found in _WORDS.finditer(line):
            yield number, found[1].lower(), line.strip()


def check(texts: Iterable[tuple[str, str]], allowed: set[tuple[str, str]]) -> list[str]:
    """Problems of files, each a path and a text, and of exceptions that no line needs."""
    problems = []
    used = set()
    for name, text in texts:
        for number, word, line in find(text):
            if (name, line) in allowed:
                used.add((name, line))
            else:
                remedy = f"write {INSTEAD[word]}, or add the line to tools/{EXCEPTIONS.name}"
                problems.append(f"{name}:{number}: '{word}': {remedy}")
    unused = sorted(allowed - used)
    return problems + [f"tools/{EXCEPTIONS.name}: no such line any more: {name}: {line}" for name, line in unused]


def checked_texts() -> Iterator[tuple[str, str]]:
    for path in files():
        name = path.relative_to(ROOT).as_posix()
        if path.suffix not in BINARY and _is_below(name, CHECKED) and not _is_below(name, LEFT_OUT):
            yield name, path.read_text(errors="replace")


def main() -> int:
    problems = check(checked_texts(), exceptions(EXCEPTIONS.read_text()))
    print("\n".join(problems))
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
