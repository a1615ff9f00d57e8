# SPDX-License-Identifier: Apache-2.0
"""The `tricodec` command."""

from __future__ import annotations

import sys
from collections.abc import Sequence

try:
    from tricodec.cli.signals import exit_of, exits, raised, reader_may_end
except KeyboardInterrupt:  # before there is what handles it
    print("tricodec: interrupted", file=sys.stderr)
    raise SystemExit(130) from None

__all__ = ["main"]


@reader_may_end()
def main(argv: Sequence[str] | None = None) -> int:
    """Runs the `tricodec` command with the arguments of sys.argv, or those that are given, and returns the exit status.

    It is 0, 1 after a failure (one line on standard error), 130 after Ctrl-C, 143 after SIGTERM, 129 after SIGHUP; of
    `bench` 2 for figures that are not stable. Wrong usage exits with 2, of `bench` with 3.
    """
    with raised():
        try:
            with exits():  # it takes a moment, in which a signal may come
                from tricodec.cli.command import run

            return run(argv)
        except KeyboardInterrupt as ended:
            return exit_of(ended)
