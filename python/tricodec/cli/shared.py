# SPDX-License-Identifier: Apache-2.0
"""What sub-commands share: options, numbers as text, results for people or as JSON, files that they write."""

from __future__ import annotations

import argparse
import contextlib
import json
import re
import sys
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, NoReturn, TextIO

import tricodec

SIZE = "WIDTHxHEIGHT"
SIZE_HELP = "resize to this width and height; -1 or -2 (even) for one of them keeps the shape"
STDIO = "-"
"""The name of standard input and of standard output."""


class _Formatter(argparse.HelpFormatter):
    """argparse's, which does not count that the names of sub-commands are indented, and breaks their lines."""

    def add_argument(self, action: argparse.Action) -> None:
        super().add_argument(action)
        if isinstance(action, argparse._SubParsersAction):
            self._action_max_length += self._indent_increment


class Parser(argparse.ArgumentParser):
    """A parser with errors of one line: an unknown command, choice or option gets the nearest one."""

    def __init__(self, *args: Any, **words: Any) -> None:
        super().__init__(*args, **{"formatter_class": _Formatter, **words})
        self._negative_number_matcher = re.compile(r"-\.?\d")  # "-2x720" is a value too

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> Any:
        """Refuses what it does not know here, where the options of the sub-command are known."""
        found, unknown = super().parse_known_args(args, namespace)
        if unknown:
            near = nearest(unknown[0], self._option_string_actions)
            self._refuse(f"unrecognized arguments: {' '.join(unknown)}", near)
        return found, unknown

    def error(self, message: str) -> NoReturn:
        """Prints the message in one line, and exits with 2."""
        self._refuse(message, "")

    def _check_value(self, action: argparse.Action, value: Any) -> None:
        if action.choices is not None and value not in action.choices:
            names = [str(each) for each in action.choices]
            text = f"invalid choice: {value!r} (choose from {', '.join(map(repr, names))})"
            self._refuse(str(argparse.ArgumentError(action, text)), nearest(str(value), names))

    def _refuse(self, message: str, remedy: str) -> NoReturn:
        remedy = remedy or f"; `{self.prog} --help` explains the usage"
        self.exit(2, f"{self.prog}: error: {message}{remedy}\n")


def nearest(word: str, known: Iterable[str]) -> str:
    """ "; did you mean 'x'?" for the word that is nearest, or nothing."""
    import difflib

    close = difflib.get_close_matches(word.partition("=")[0], known, 1)
    return f"; did you mean '{close[0]}'?" if close else ""


def parse_size(text: str) -> tuple[int, int]:
    """(height, width) of "1280x720"; one of them may be -1 or -2. An argparse type."""
    width, _, height = text.lower().partition("x")
    sides = [int(side) for side in (height, width) if side.isdecimal() or side in ("-1", "-2")]
    if len(sides) != 2 or 0 in sides or max(sides) < 0:
        message = f"{text!r} is not a size; write {SIZE}, such as 1280x720, or 1280x-2, which keeps the shape"
        raise argparse.ArgumentTypeError(message)
    return sides[0], sides[1]


def full_size(size: tuple[int, int] | None, width: int, height: int) -> tuple[int, int] | None:
    """(height, width) without -1 or -2, which follow from the shape of the picture as ffmpeg's ``scale`` says.

    Args:
        size: of `parse_size`. -1 is the nearest whole number, -2 the nearest even one.
        width, height: of the upright picture, or of its crop.
    """
    if size is None or min(size) > 0:
        return size
    step, side = -min(size), max(size)
    this, other = (height, width) if size[0] < 0 else (width, height)  # `this` side is looked for
    found = max(1, (2 * side * this + other * step) // (2 * other * step)) * step
    return (found, side) if size[0] < 0 else (side, found)


def pairs_of(option: str, entries: Sequence[str]) -> dict[str, str]:
    """The entries NAME=VALUE of an option that may be repeated."""
    pairs = {}
    for entry in entries:
        name, separator, value = entry.partition("=")
        if not (name and separator):
            raise ValueError(f"{option} {entry}: write it as NAME=VALUE")
        pairs[name] = value
    return pairs


def to_source(text: str) -> Any:
    """A path as it is, a URL of an object store or a web server as a remote source, "-" as standard input."""
    if text == STDIO:
        if sys.stdin is None:
            raise ValueError("standard input is closed; name a file in place of -")
        return sys.stdin.buffer
    return tricodec.open_remote(text) if tricodec.remote.is_remote_url(text) else text


#: Names of the library, by the option that has another name.
_OTHER_NAMES = {
    "container": "format", "workers": "num_workers", "threads": "num_threads", "stream": "stream_index",
    "rate": "sample_rate", "channels": "num_channels", "option": "options",
}  # fmt: skip


def option_names(parser: argparse.ArgumentParser) -> dict[str, str]:
    """The options of a command by the names that the library has for them."""
    named = [(action.dest, action.option_strings[-1]) for action in parser._actions if action.option_strings]
    return {name: option for dest, option in named for name in (dest, _OTHER_NAMES.get(dest, dest))}


def in_options(text: str, names: Mapping[str, str]) -> str:
    """An error of the library with the options of the command line in place of the library's names."""
    if not names:
        return text
    if "--container" not in names.values():
        text = re.sub(r",? or name the format \(format=[^)]*\)", "", text)
    words = "|".join(sorted(map(re.escape, names), key=len, reverse=True))
    value = r"""(?:'([^']*)'|"([^"]*)"|([\w.]+))?"""
    text = re.sub(
        rf"(?<![\w-])({words})={value}",
        lambda found: " ".join([names[found[1]], *(v for v in found.groups()[1:] if v and v != "True")]),
        text,
    )
    text = re.sub(rf"^({words})(?= (?:is|are|was|must|does|goes|has|['\"]))", lambda found: names[found[1]], text)
    return re.sub(
        rf"(?<![\w.'-])({words})(?![\w'(])", lambda found: names[found[1]] if "_" in found[1] else found[0], text
    )


def shown_name(text: str) -> str:
    """How messages call a source."""
    return "standard input" if text == STDIO else text


def shown_target(text: str) -> str:
    """How messages call an output."""
    return "standard output" if text == STDIO else text


def counted(number: int, what: str) -> str:
    """ "1 frame", "2 frames"."""
    return f"{number} {what}" + ("" if number == 1 else "s")


def say(options: argparse.Namespace, text: str) -> None:
    """Prints what is for people: nothing with --json, and on standard error if standard output gets the data."""
    if not options.json:
        print(text, file=_messages(options))


def print_facts(options: argparse.Namespace, facts: Any) -> None:
    """Prints what is for programs, with --json."""
    if options.json:
        print(json.dumps(facts, indent=2), file=_messages(options))


def report(options: argparse.Namespace, text: str, facts: Mapping[str, Any]) -> None:
    """Prints a result: as JSON with --json, else as text."""
    say(options, text)
    print_facts(options, facts)


def _messages(options: argparse.Namespace) -> TextIO:
    return sys.stderr if getattr(options, "output", None) == STDIO else sys.stdout


def warn_of_damage(name: str, num_packets: int, first: str = "") -> None:
    """Warns on standard error of packets of `name` that could not be decoded completely, if there are any."""
    if num_packets == 0:
        return
    number = "1 packet" if num_packets == 1 else f"{num_packets} packets"
    print(f"tricodec: warning: {name}: {number} damaged" + (f"; first: {first}" if first else ""), file=sys.stderr)


def refuse_own_source(source: str, target: str) -> None:
    """Raises ValueError if both names are one file, which the command would replace."""
    with contextlib.suppress(OSError):  # in most cases the target does not exist
        if Path(source).samefile(target):
            raise ValueError(f"{target} is the input itself, which would be lost; name another output")


def add_force(parser: Any, *, can_resume: bool = False) -> None:
    """Adds the option without which no command replaces a file, and that of commands that can continue."""
    choice = parser.add_mutually_exclusive_group()
    choice.add_argument("-f", "--force", action="store_true", help="replace files that are there")
    if can_resume:
        choice.add_argument("--resume", action="store_true", help="keep results that are there, and make the others")
