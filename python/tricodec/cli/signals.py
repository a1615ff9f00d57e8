# SPDX-License-Identifier: Apache-2.0
"""What ends the `tricodec` command: Ctrl-C, SIGTERM and SIGHUP in one line, and the end of its output's reader."""

from __future__ import annotations

import contextlib
import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from typing import Any

_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class Ended(KeyboardInterrupt):
    """A signal asks the program to end. What handles Ctrl-C handles it: unfinished files are removed."""

    def __init__(self, number: int) -> None:
        super().__init__()
        self.number = number


def exit_of(error: KeyboardInterrupt) -> int:
    """Prints the line, and returns the exit status that a shell expects of a program that a signal ended."""
    number = error.number if isinstance(error, Ended) else signal.SIGINT
    print("; ".join([_line(number), *map(str, error.args)]), file=sys.stderr)
    return 128 + number


def _line(number: int) -> str:
    return f"tricodec: {'interrupted' if number == signal.SIGINT else f'ended by {signal.Signals(number).name}'}"


@contextlib.contextmanager
def raised() -> Iterator[None]:
    """In the block a signal raises `Ended`. Signals that the process ignores, as below nohup, are ignored still."""

    def end(number: int, _frame: object) -> None:
        raise Ended(number)

    def send_again(lost: sys.UnraisableHookArgs) -> None:
        if isinstance(lost.exc_value, Ended):  # Python ignores what a callback raises
            threading.Timer(0.01, os.kill, (os.getpid(), lost.exc_value.number)).start()
        else:
            hook(lost)

    hook, sys.unraisablehook = sys.unraisablehook, send_again
    try:
        with _handled(end):
            yield
    finally:
        sys.unraisablehook = hook


def exits() -> contextlib.AbstractContextManager[None]:
    """In the block a signal ends the process at once. An import may swallow an exception, as in a callback or NumPy."""

    def end(number: int, _frame: object) -> None:
        os.write(2, f"{_line(number)}\n".encode())
        os._exit(128 + number)

    return _handled(end)


@contextlib.contextmanager
def _handled(handler: Callable[[int, Any], None]) -> Iterator[None]:
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = {number: signal.getsignal(number) for number in _SIGNALS}
    before = {number: old for number, old in before.items() if old not in (signal.SIG_IGN, None)}
    try:
        for number in before:
            signal.signal(number, handler)
        yield
    finally:
        for number, old in before.items():
            signal.signal(number, old)


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
