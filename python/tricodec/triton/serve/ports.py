# SPDX-License-Identifier: Apache-2.0
"""The ports of a server: free ones, and a check of those that the caller chose."""

from __future__ import annotations

import contextlib
import errno
import socket
from collections.abc import Sequence
from pathlib import Path

INTERFACES = ("http", "grpc", "metrics")


def choose_ports(hosts: Sequence[str], fixed: Sequence[int]) -> tuple[int, int, int]:
    """`fixed` with a different free port instead of each 0.

    Args:
        hosts: the address that each interface listens on.
        fixed: the port of each interface; 0 takes a free one.

    Raises:
        RuntimeError: a port is in use or not allowed, or two interfaces have the same one.
    """
    for first, second in ((0, 1), (0, 2), (1, 2)):
        if fixed[first] and fixed[first] == fixed[second]:
            raise RuntimeError(
                f"{INTERFACES[first]} and {INTERFACES[second]} are both to use port {fixed[first]}; choose different "
                f"ones with --{INTERFACES[first]}-port and --{INTERFACES[second]}-port, or 0 for a free one"
            )
    with contextlib.ExitStack() as stack:
        # All ports stay open until the last one is chosen, so that they differ.
        ports = [_open(stack, *each) for each in zip(INTERFACES, hosts, fixed, strict=True)]
    http_port, grpc_port, metrics_port = ports
    return http_port, grpc_port, metrics_port


def _open(stack: contextlib.ExitStack, interface: str, host: str, port: int) -> int:
    option = f"--{interface}-port"
    if not 0 <= port < 65536:
        raise RuntimeError(
            f"port {port} for {interface} is out of range; {option} takes 1 to 65535, or 0 for a free one"
        )
    probe = stack.enter_context(socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET))
    probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)  # connections that have ended are not in the way
    try:
        probe.bind((host, port))
        probe.listen()
    except OSError as error:
        if error.errno == errno.EADDRINUSE:
            reason = f"is already in use{_by(port)}; choose another one with {option}, or 0 for a free one"
        elif error.errno == errno.EACCES:
            reason = f"is reserved for the superuser; choose one from 1024 on with {option}, or 0 for a free one"
        else:
            raise RuntimeError(f"cannot listen on {host!r}: {error.strerror or error}; check --host") from error
        raise RuntimeError(f"port {port} of {host}, for {interface}, {reason}") from error
    return int(probe.getsockname()[1])


def _by(port: int) -> str:
    """ ", by process 123 (python3)" if this user may know the process that listens on a port."""
    inodes = set()
    for table in ("tcp", "tcp6"):
        with contextlib.suppress(OSError):
            for line in Path(f"/proc/net/{table}").read_text().splitlines()[1:]:
                fields = line.split()
                if fields[3] == "0A" and int(fields[1].rpartition(":")[2], 16) == port:
                    inodes.add(f"socket:[{fields[9]}]")
    if not inodes:
        return ""
    for process in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):  # ended meanwhile, or of another user
            if any(_target(file) in inodes for file in (process / "fd").iterdir()):
                return f" by process {process.name} ({(process / 'comm').read_text().strip()})"
    return ""


def _target(file: Path) -> str:
    try:
        return str(file.readlink())
    except OSError:  # closed meanwhile
        return ""
