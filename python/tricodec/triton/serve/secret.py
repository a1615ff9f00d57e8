# SPDX-License-Identifier: Apache-2.0
"""Arguments of a tritonserver that are keys: its process gets them, and no command line or environment shows them."""

from __future__ import annotations

import contextlib
import os
import stat
from collections.abc import Iterator, Sequence
from pathlib import Path

_OPTIONS = ("--http-restricted-api", "--grpc-restricted-protocol")
_HIDDEN = "--tricodec-secret"
_LIBRARY = Path(__file__).parent / "libtricodec_secret_arguments.so"


@contextlib.contextmanager
def hidden(arguments: Sequence[str]) -> Iterator[tuple[list[str], dict[str, str], tuple[int, ...]]]:
    """Hand over the arguments that are keys by a pipe; secret_arguments.cpp puts them into their places.

    Yields:
        The arguments as every user may see them, variables for the program that starts the server, and the descriptors
        that it inherits.
    """
    keys = [
        number
        for number, argument in enumerate(arguments)
        if argument.partition("=")[0] in _OPTIONS or (number > 0 and arguments[number - 1] in _OPTIONS)
    ]
    shown = [_HIDDEN if number in keys else argument for number, argument in enumerate(arguments)]
    with contextlib.ExitStack() as stack:
        if not keys:
            yield shown, {}, ()
            return
        lines, end = os.pipe2(os.O_CLOEXEC)
        stack.callback(os.close, lines)
        with os.fdopen(end, "w") as pipe:
            pipe.writelines(f"{arguments[number]}\n" for number in keys)
        library = os.open(_LIBRARY, os.O_RDONLY | os.O_CLOEXEC)
        stack.callback(os.close, library)
        # By its descriptor, because a path may have a blank or a colon, which separate libraries.
        yield shown, {"TRICODEC_SECRETS": str(lines), "TRICODEC_PRELOAD": f"/proc/self/fd/{library}"}, (lines, library)


def read_headers(path: str) -> dict[str, str]:
    """The headers in a file, a line "KEY=VALUE" each.

    Args:
        path: a file that only its owner can read, or a descriptor, /dev/fd/N.

    Raises:
        OSError: there is no such file.
        ValueError: another user can read it, or a line is no header.
    """
    with Path(path).open() as file:
        facts = os.fstat(file.fileno())
        if stat.S_ISREG(facts.st_mode) and facts.st_mode & 0o077:
            raise ValueError(f"--header @{path}: other users can read the file; run chmod 600 {path}")
        pairs = [line.strip().partition("=") for line in file if line.strip()]
    if not pairs or not all(name and equals for name, equals, _ in pairs):
        raise ValueError(f"--header @{path}: expected lines KEY=VALUE")
    return {name: value for name, _, value in pairs}
