# SPDX-License-Identifier: Apache-2.0
"""Errors of arguments, for programs that expect torchaudio's class and for those that expect Python's."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager


class StreamArgumentError(ValueError, RuntimeError):
    """An argument of a stream that is not accepted.

    A `ValueError`, as everywhere in tricodec, and a `RuntimeError`, which torchaudio raised.
    """


@contextmanager
def argument_errors() -> Iterator[None]:
    """Raises what the core says of arguments as `StreamArgumentError`."""
    try:
        yield
    except (StreamArgumentError, UnicodeError):
        raise
    except (ValueError, IndexError) as error:
        raise StreamArgumentError(str(error)) from None
