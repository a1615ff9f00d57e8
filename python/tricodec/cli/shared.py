# SPDX-License-Identifier: Apache-2.0
"""What sub-commands share: parsers, options, numbers as text, results for people or as JSON, files that they write."""

from __future__ import annotations

import argparse
import json
import re
import sys
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NoReturn, TextIO

import tricodec
from tricodec.options import meant

DOCUMENTATION = "https://github.com/tricodec/tricodec/blob/main/docs"
PAGE = "reference/command_line.md"
STDIO = "-"
"""The name of standard input and of standard output."""


class _Formatter(argparse.HelpFormatter):
    """argparse's, except that examples keep their lines, and that the usage has the required arguments alone."""

    def add_argument(self, action: argparse.Action) -> None:
        super().add_argument(action)
        if isinstance(action, argparse._SubParsersAction):  # argparse does not count that their names are indented
            self._action_max_length += self._indent_increment

    def _fill_text(self, text: str, width: int, indent: str) -> str:
        return text if "\n" in text else super()._fill_text(text, width, indent)

    def _format_usage(self, usage: Any, actions: Iterable[argparse.Action], groups: Any, prefix: Any) -> str:
        if usage:
            return super()._format_usage(usage, actions, groups, prefix)
        short = super()._format_usage(None, [each for each in actions if each.required], [], prefix)
        return f"{short.rstrip()} [options]\n\n"


class Parser(argparse.ArgumentParser):
    """A parser with errors of one line: an unknown command, choice or option gets the nearest one."""

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **{"formatter_class": _Formatter, **options})
        self._negative_number_matcher = re.compile(r"-\.?\d")  # "-2x720" is a value too

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> Any:
        """Refuses what it does not know here, where the options of the sub-command are known."""
        found, unknown = super().parse_known_args(args, namespace)
        if unknown:
            near = meant(unknown[0].partition("=")[0], self._option_string_actions)
            self._refuse(f"unrecognized arguments: {' '.join(unknown)}", near)
        return found, unknown

    def error(self, message: str) -> NoReturn:
        """Prints the message in one line, and exits with 2."""
        self._refuse(message, "")

    def _check_value(self, action: argparse.Action, value: Any) -> None:
        if action.choices is not None and value not in action.choices:
            names = [str(each) for each in action.choices]
            text = f"invalid choice: {value!r} (choose from {', '.join(map(repr, names))})"
            self._refuse(str(argparse.ArgumentError(action, text)), meant(str(value), names))

    def _refuse(self, message: str, remedy: str) -> NoReturn:
        remedy = remedy or f"; `{self.prog} --help` explains the usage"
        self.exit(2, f"{self.prog}: error: {message}{remedy}\n")


def add_command(
    commands: Any, parents: Sequence[Any], name: str, run: Any, text: str, examples: Sequence[str], page: str = PAGE
) -> Any:
    """Adds a sub-command. Its help ends with examples that run, and with its page of the documentation."""
    epilog = "\n  ".join(["examples:", *examples]) + f"\n\ndocumentation: {DOCUMENTATION}/{page}"
    parser = commands.add_parser(name, parents=parents, help=text.partition(".")[0], description=text, epilog=epilog)
    parser.set_defaults(run=run, parser=parser)
    return parser


def parse_size(text: str) -> tuple[int, int]:
    """(height, width) of "1280x720"; one of them may be -1 or -2. An argparse type."""
    width, _, height = text.lower().partition("x")
    sides = [int(side) for side in (height, width) if side.isdecimal() or side in ("-1", "-2")]
    if len(sides) != 2 or 0 in sides or max(sides) < 0:
        message = f"{text!r} is not a size; write WIDTHxHEIGHT, such as 1280x720, or 1280x-2, which keeps the shape"
        raise argparse.ArgumentTypeError(message)
    return sides[0], sides[1]


def parse_time(text: str) -> float:
    """Seconds of "62.5", "1:02.5" or "0:01:02.5". An argparse type."""
    found = re.fullmatch(r"(-?)(?:(?:(\d+):(?=\d\d:))?(\d+):(?=\d\d(?!\d)))?(\d+\.?\d*|\.\d+)", text.strip())
    if found is None:
        message = f"{text!r} is not a time; write seconds, such as 62.5, or MINUTES:SECONDS, such as 1:02.5"
        raise argparse.ArgumentTypeError(message)
    sign, hours, minutes, seconds = found.groups()
    value = 3600 * int(hours or 0) + 60 * int(minutes or 0) + float(seconds)
    return -value if sign else value


def parse_pair(text: str) -> tuple[str, str]:
    """Name and value of "preset=fast". An argparse type."""
    name, separator, value = text.partition("=")
    if not (name and separator):
        raise argparse.ArgumentTypeError(f"{text!r} is not NAME=VALUE, such as preset=fast")
    return name, value


def list_of(kind: Any) -> Any:
    """An argparse type: values with commas between."""

    def convert(text: str) -> list[Any]:
        try:
            return [kind(part) for part in text.split(",") if part.strip()]
        except ValueError:
            raise argparse.ArgumentTypeError(f"{text!r} is not a list of numbers with commas between") from None

    return convert


OPTIONS: dict[str, dict[str, Any]] = {
    "files": {"metavar": "FILE", "nargs": "+", "help": "a video, a folder of videos, - for standard input, or a URL"},
    "--device": {"default": "auto", "help": "auto (default), cpu, cuda, cuda:N"},
    "--stream": {
        "dest": "stream_index", "type": int, "default": -1, "metavar": "N",
        "help": "number of the stream (default: the best one)",
    },
    "--size": {
        "type": parse_size, "metavar": "WIDTHxHEIGHT",
        "help": "resize to this width and height; -1 or -2 (even) for one of them keeps the shape",
    },
    "--crop": {
        "type": int, "nargs": 4, "metavar": ("TOP", "LEFT", "HEIGHT", "WIDTH"),
        "help": "keep this part of the upright picture, in pixels",
    },
    "--start": {"type": parse_time, "metavar": "TIME", "help": "leave out what is before: 62.5 or 1:02.5"},
    "--end": {"type": parse_time, "metavar": "TIME", "help": "leave out what starts here or later: 62.5 or 1:02.5"},
    "--codec": {"default": "h264", "help": "h264 (default), hevc, av1, or an encoder of libavcodec"},
    "--option": {
        "dest": "options", "type": parse_pair, "action": "append", "default": [], "metavar": "NAME=VALUE",
        "help": "an option of the encoder, such as tune=film; repeatable",
    },
    "--level": {"type": int, "metavar": "N", "help": "level of LZ4 (3 to 12) and Zstd (-7 to 22)"},
}  # fmt: skip


def add_options(parser: Any, *names: str, table: Mapping[str, Any] = OPTIONS) -> None:
    """Adds options that several commands have."""
    for name in names:
        parser.add_argument(name, **table[name])


def full_size(size: tuple[int, int] | None, width: int, height: int) -> tuple[int, int] | None:
    """(height, width) without -1 or -2, which follow from the shape of the picture as ffmpeg's ``scale`` says."""
    if size is None or min(size) > 0:
        return size
    step, side = -min(size), max(size)
    this, other = (height, width) if size[0] < 0 else (width, height)  # `this` side is looked for
    found = max(1, (2 * side * this + other * step) // (2 * other * step)) * step
    return (found, side) if size[0] < 0 else (side, found)


def to_source(text: str) -> Any:
    """A path as it is, a URL of an object store or a web server as a remote source, "-" as standard input."""
    if text == STDIO:
        if sys.stdin is None:
            raise ValueError("standard input is closed; name a file in place of -")
        return sys.stdin.buffer
    return tricodec.open_remote(text) if tricodec.remote.is_remote_url(text) else text


def option_names(parser: argparse.ArgumentParser) -> dict[str, str]:
    """The options of a command by the names that the library has for them."""
    return {each.dest: each.option_strings[-1] for each in parser._actions if each.option_strings}


def in_options(text: str, names: Mapping[str, str]) -> str:
    """An error of the library with the options of the command line in place of the library's names."""
    if not names:
        return text
    if "--container" not in names.values():
        text = re.sub(r",? or name the format \(format=[^)]*\)", "", text)
    known = "|".join(sorted(map(re.escape, names), key=len, reverse=True))
    value = r"""(?:'([^']*)'|"([^"]*)"|([\w.]+))?"""
    text = re.sub(
        rf"(?<![\w-])({known})={value}",
        lambda found: " ".join([names[found[1]], *(v for v in found.groups()[1:] if v and v != "True")]),
        text,
    )
    text = re.sub(rf"^({known})(?= (?:is|are|was|must|does|goes|has|['\"]))", lambda found: names[found[1]], text)
    return re.sub(
        rf"(?<![\w.'/-])({known})(?![\w'(])", lambda found: names[found[1]] if "_" in found[1] else found[0], text
    )


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
    text = f"{counted(num_packets, 'packet')} damaged" + (f"; first: {first}" if first else "")
    print(f"tricodec: warning: {name}: {text}", file=sys.stderr)


def add_force(parser: Any) -> None:
    """Adds the options without which no command replaces a file."""
    choice = parser.add_mutually_exclusive_group()
    choice.add_argument("-f", "--force", action="store_true", help="replace files that are there")
    choice.add_argument("--resume", action="store_true", help="keep results that are there, and make the others")
