# SPDX-License-Identifier: Apache-2.0
"""Remote sources among the ``filenames`` of ``fn.tricodec.read_video``."""

from __future__ import annotations

import functools
import os
from collections.abc import Callable, Sequence
from typing import Any

from tricodec import RemoteSource

_HELP = """
filenames, continued
    Each is a path or a `tricodec.remote` source. A process beside this one reads the remote ones, as
    `tricodec.dali.source_arguments` says.
"""


def source_arguments(filenames: Sequence[str | os.PathLike[str] | RemoteSource]) -> dict[str, Any]:
    """The arguments of `read_video` that mean files and remote sources.

    ``fn.tricodec.read_video(filenames=[tricodec.remote("s3://..."), "a.mp4"], ...)`` uses them. Classes and dynamic
    mode take them as keywords. DALI's threads read remote sources through a process that this one starts, which has no
    lock in common with them. The pipeline must run in this process or in a child that it forks.

    Args:
        filenames: paths and remote sources, in their order.

    Returns:
        ``filenames``, and ``source_keys`` if one of them is remote.

    Raises:
        TypeError, pickle.PicklingError, UnsupportedError, OSError: as `tricodec.RemoteSource.serve`.
    """
    names = [each.name if isinstance(each, RemoteSource) else os.fspath(each) for each in filenames]
    keys = [each.serve() if isinstance(each, RemoteSource) else "" for each in filenames]
    return {"filenames": names, "source_keys": keys} if any(keys) else {"filenames": names}


def accept_sources(operators: Any) -> None:
    """Let ``filenames`` of ``fn.tricodec.read_video`` have remote sources. A second call does nothing."""
    if not hasattr(operators.read_video, "takes_sources"):
        operators.read_video = _with_sources(operators.read_video)


def _with_sources(function: Callable[..., Any]) -> Callable[..., Any]:
    from nvidia.dali.pipeline import do_not_convert

    @functools.wraps(function)
    def call(*inputs: Any, **arguments: Any) -> Any:
        filenames = arguments.get("filenames")
        if isinstance(filenames, (list, tuple)) and not all(isinstance(each, str) for each in filenames):
            arguments.update(source_arguments(filenames))
        return function(*inputs, **arguments)

    converted: Callable[..., Any] = do_not_convert(call)
    converted.takes_sources = True  # type: ignore[attr-defined]
    converted.__doc__ = f"{function.__doc__ or ''}{_HELP}"
    return converted
