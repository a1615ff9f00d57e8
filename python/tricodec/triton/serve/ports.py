# SPDX-License-Identifier: Apache-2.0
"""The ports of a server: free ones, and a check of those that the caller chose."""

from __future__ import annotations

import contextlib
import errno
import socket
from collections.abc import Sequence

INTERFACES = ("http", "grpc", "metrics")


def choose_ports(host: str, fixed: Sequence[int]) -> tuple[int, ...]:
    """The ports of the interfaces, `fixed` with a different free port instead of each 0."""
    with contextlib.ExitStack() as stack:
        # All ports stay open until the last one is chosen, so that they differ.
        return tuple(_open(stack, interface, host, port) for interface, port in zip(INTERFACES, fixed, strict=True))


def _open(stack: contextlib.ExitStack, interface: str, host: str, port: int) -> int:
    remedy = f"choose another one with --{interface}-port, or 0 for a free one"
    if not 0 <= port < 65536:
        raise RuntimeError(f"port {port} for {interface} is out of range, which is 1 to 65535; {remedy}")
    probe = stack.enter_context(socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET))
    probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)  # connections that have ended are not in the way
    try:
        probe.bind((host, port))
        probe.listen()
    except OSError as error:
        reasons = {errno.EADDRINUSE: "is already in use", errno.EACCES: "is reserved for the superuser"}
        if error.errno not in reasons:
            raise RuntimeError(f"cannot listen on {host!r}: {error.strerror or error}; check --host") from error
        raise RuntimeError(f"port {port} of {host}, for {interface}, {reasons[error.errno]}; {remedy}") from error
    return int(probe.getsockname()[1])
