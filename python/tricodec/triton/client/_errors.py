# SPDX-License-Identifier: Apache-2.0
"""The errors of a server, as the exceptions that the same calls raise without one."""

from __future__ import annotations

import builtins
import re

from tritonclient.utils import InferenceServerException

from tricodec import errors


class BusyError(ConnectionError):
    """The server answers, and has no room for this request now."""


#: Texts of Triton itself, where it has one code for several causes.
_LOST_PROCESS = ("is not healthy", "has no available versions")
_FULL_POOL = "Failed to increase the shared memory pool"
_NO_ANSWER = "expected a single response, got 0"
_BUILTIN_ERRORS = ("ValueError", "TypeError", "IndexError", "TimeoutError")


def translate(error: InferenceServerException, url: str, *, in_session: bool = False) -> Exception:
    """The exception that the same call raises without a server: models write its name before its text.

    A request `in_session` continues a session, which Triton refuses if the session is gone.
    """
    message = error.message() or str(error)
    named = re.match(r"([A-Za-z]+): (.*)", message, re.DOTALL)
    if named:
        name, text = named.groups()
        if name == BusyError.__name__:
            return BusyError(f"{url} cannot answer: {message}")
        if name == "UnavailableError":
            return ConnectionError(f"{url} has lost the process of the model: {text}")
        kind = getattr(builtins, name) if name in _BUILTIN_ERRORS else getattr(errors, name, None)
        if isinstance(kind, type) and issubclass(kind, Exception):
            return kind(text)
    if any(text in message for text in _LOST_PROCESS):
        return ConnectionError(f"{url} has lost the process of the model: {message}")
    if _NO_ANSWER in message or _FULL_POOL in message:  # the model could neither send its answer nor the reason
        return errors.OutOfMemoryError(
            f"{url} has no shared memory left for this request or its answer; request less, or give the server more "
            "(--shm-size)"
        )
    return _of_status(error, message, url, in_session=in_session)


def _of_status(error: InferenceServerException, message: str, url: str, *, in_session: bool) -> Exception:
    """The exception for an error of gRPC or of Triton's own checks."""
    status = str(error.status() or "").rpartition(".")[2]
    if status == "INVALID_ARGUMENT":  # for instance of a request without VIDEO
        if in_session:
            return ConnectionError(f"{url} does not have this session any more; open it again")
        return ValueError(message)
    if status == "DEADLINE_EXCEEDED":
        return TimeoutError(f"{url} did not answer in time: {message}")
    if status == "UNAVAILABLE":
        remedy = "leave out http:// from the URL" if "://" in url else "start a server, or check host and gRPC port"
        return ConnectionError(f"{url} cannot answer: {message}; {remedy}")
    found: Exception = error
    if status == "NOT_FOUND":
        text = f"{url} does not serve this model: {message}; start the server with it (tricodec serve --model NAME)"
        found = InferenceServerException(text, status=error.status())
    return found
