# SPDX-License-Identifier: Apache-2.0
"""What ends the `tricodec` command: Ctrl-C, SIGTERM and SIGHUP in one line, and the end of its output's reader."""

from __future__ import annotations

import contextlib
import os
import signal
import sys
import threading
from collections.abc import Iterator
from typing import NoReturn

_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class Ended(KeyboardInterrupt):
    """A signal asks the program to end. What handles Ctrl-C handles it: unfinished files are removed."""

    def __init__(self, number: int) -> None:
        super().__init__()
        self.number = number


def exit_of(error: KeyboardInterrupt) -> int:
    """Prints the line, and returns the exit status that a shell expects of a program that a signal ended."""
    number = error.number if isinstance(error, Ended) else signal.SIGINT
    text = "interrupted" if number == signal.SIGINT else f"ended by {signal.Signals(number).name}"
    print("; ".join([f"tricodec: {text}", *map(str, error.args)]), file=sys.stderr)
    return 128 + number


@contextlib.contextmanager
def raised() -> Iterator[None]:
    """In the block a signal raises `Ended`. Signals that the process ignores, as below nohup, are ignored still."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def end(number: int, _frame: object) -> NoReturn:
        raise Ended(number)

    before = {number: signal.getsignal(number) for number in _SIGNALS}
    before = {number: handler for number, handler in before.items() if handler not in (signal.SIG_IGN, None)}
    try:
        for number in before:
            signal.signal(number, end)
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


@contextlib.contextmanager
def reader_may_end() -> Iterator[None]:
    """`tricodec COMMAND | head`: when the reader of its output ends, a command ends silently, with status 1."""
    try:
        try:
            yield
        finally:
            sys.stdout.flush()
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        raise SystemExit(1) from None
