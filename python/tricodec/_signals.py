# SPDX-License-Identifier: Apache-2.0
"""Ctrl-C, SIGTERM and SIGHUP end the `tricodec` command in one line, at any time."""

from __future__ import annotations

import contextlib
import os
import signal
import sys
import threading
from collections.abc import Iterator
from typing import Any, NoReturn

_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class Ended(KeyboardInterrupt):
    """A signal asks the program to end. What handles Ctrl-C handles it: unfinished files are removed."""

    def __init__(self, number: int) -> None:
        super().__init__()
        self.number = number


def exit_of(error: KeyboardInterrupt) -> int:
    """Prints the line, and returns the exit status that a shell expects of a program that a signal ended."""
    number = error.number if isinstance(error, Ended) else signal.SIGINT
    print(f"tricodec: {_words(number)}{''.join(f'; {text}' for text in error.args)}", file=sys.stderr)
    return 128 + number


def end_quietly_while_importing() -> None:
    """In the command's process, a signal ends it without a traceback until `raised` begins. Nothing is written yet."""
    if _is_command():
        _handle(_end)


@contextlib.contextmanager
def raised() -> Iterator[None]:
    """In the block a signal raises `Ended`. Signals that the process ignores, as below nohup, are ignored still."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = _handle(_raise)
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _handle(handler: Any) -> dict[signal.Signals, Any]:
    before = {number: signal.getsignal(number) for number in _SIGNALS}
    known = {number: old for number, old in before.items() if old not in (signal.SIG_IGN, None)}
    for number in known:
        signal.signal(number, handler)
    return known


def _raise(number: int, _frame: object) -> NoReturn:
    raise Ended(number)


def _end(number: int, _frame: object) -> NoReturn:
    os.write(2, f"tricodec: {_words(number)}\n".encode())
    os._exit(128 + number)


def _words(number: int) -> str:
    return "interrupted" if number == signal.SIGINT else f"ended by {signal.Signals(number).name}"


def _is_command() -> bool:
    """Whether this process is `tricodec` or `python -m tricodec`, which imports the package before the command."""
    program = str((getattr(sys, "argv", None) or [""])[0])
    if program != "-m":
        return os.path.basename(program) == "tricodec"  # noqa: PTH119
    names = ("tricodec", "tricodec.cli")
    given: list[str] = sys.orig_argv
    return any(f"-m{name}" in given for name in names) or ("-m" in given[:-1] and given[given.index("-m") + 1] in names)
