# SPDX-License-Identifier: Apache-2.0
"""The errors of a server, as the exceptions that the same calls raise without one."""

from __future__ import annotations

import builtins
import re

from tritonclient.utils import InferenceServerException

import tricodec
from tricodec.client._memory import unanswered


class BusyError(ConnectionError):
    """The server answers, and has no room for this request now."""


class FilesRefusedError(Exception):
    """The server cannot open memory files of this process, or does not know them."""


_NO_FILES = ("MemoryFileError: ", "unexpected inference input 'VIDEO_FILE'", "unexpected inference input 'FRAMES_FILE'")
LOST_REGION = "Unable to find shared memory region"
_FULL_POOL = "Failed to increase the shared memory pool"
_NO_ANSWER = "expected a single response, got 0"
_BUILTIN_ERRORS = ("ValueError", "TypeError", "IndexError", "TimeoutError")


def translate(error: InferenceServerException, url: str) -> Exception:
    """The exception that the same call raises without a server, if the server's text names one."""
    message, status = error.message() or str(error), str(error.status() or "")
    if any(text in message for text in _NO_FILES):
        return FilesRefusedError(message)
    named = re.match(r"([A-Za-z]+): (.*)", message, re.DOTALL)
    if named:
        name, text = named.groups()
        if name == BusyError.__name__:
            return BusyError(f"{url} cannot answer: {message}")
        kind = getattr(builtins, name) if name in _BUILTIN_ERRORS else getattr(tricodec, name, None)
        if isinstance(kind, type) and issubclass(kind, Exception):
            return kind(text)
    if "is not healthy" in message or "no stream has the name" in message or "has no available versions" in message:
        return ConnectionError(f"{url} has lost the process of the model: {message}")
    if "must specify the START flag" in message:
        return ConnectionError(f"{url} does not have this session any more; open it again")
    if named and named[1] in ("BusyError", "UnavailableError"):
        return ConnectionError(f"{url} cannot answer: {message}")
    if _NO_ANSWER in message or _FULL_POOL in message:  # the model could neither send its answer nor the reason
        return tricodec.OutOfMemoryError(
            f"{url} has no shared memory left for this request or its answer; request less, or give the server more "
            "(--shm-size)"
        )
    if LOST_REGION in message:
        return ConnectionError(
            f"{url} has lost the shared memory of this request, because a client unregistered it; pass "
            "shared_memory=False, or let trusted clients alone reach the server"
        )
    if status.endswith("INVALID_ARGUMENT"):
        return ValueError(message)  # Triton's own check, for instance a request without VIDEO
    if status.endswith("DEADLINE_EXCEEDED"):
        return unanswered(TimeoutError(f"{url} did not answer in time: {message}"))
    if status.endswith("UNAVAILABLE"):
        remedy = "leave out http:// from the URL" if "://" in url else "start a server, or check host and gRPC port"
        return unanswered(ConnectionError(f"{url} cannot answer: {message}; {remedy}"))
    if "unknown model" in message:
        unknown: Exception = InferenceServerException(
            f"{url} does not serve this model: {message}; start the server with it (tricodec serve --model NAME)",
            status=status or None,
        )
        return unknown
    unchanged: Exception = error
    return unchanged
