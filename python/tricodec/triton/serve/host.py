# SPDX-License-Identifier: Apache-2.0
"""What a server has on this machine: its ports, its private folder, and its log, which says why it did not start."""

from __future__ import annotations

import contextlib
import errno
import fcntl
import os
import re
import shutil
import socket
import tempfile
from collections.abc import Sequence
from pathlib import Path

INTERFACES = ("http", "grpc", "metrics")
_PREFIX = "tricodec-serve-"
_TAIL_CHARACTERS = 6000
_NOISE = re.compile(r"[|+]|[IW]\d{4} ")
"""Rows and rules of tables, notes and warnings."""
_FAILED = re.compile(r"failed to load '([^']+)' version \d+: \w+(?: \w+)?: (.*?)\"?$", re.MULTILINE)
_POLL_FAILED = re.compile(r"Poll failed for model directory '([^']+)': (.*?)\"?$", re.MULTILINE)
_SYNTAX = re.compile(r"Error parsing text-format inference\.ModelConfig: (\d+:\d+: .*)$", re.MULTILINE)


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


class PrivateFolder:
    """A temporary folder of one server, locked until the last process that inherits the descriptor `lock` ends.

    Names of the server's shared memory begin with the name of the folder.
    """

    def __init__(self) -> None:
        """Create the folder, and delete those of this user's servers that were killed, with their shared memory."""
        for folder in Path(tempfile.gettempdir()).glob(f"{_PREFIX}*"):
            with contextlib.suppress(OSError):  # of another user, or locked
                lock = os.open(folder, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_DIRECTORY)
                try:
                    fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                    if os.fstat(lock).st_uid == os.geteuid():
                        _delete(folder)
                finally:
                    os.close(lock)
        unlocked = Path(tempfile.mkdtemp(prefix="tricodec-new-"))
        self.lock = os.open(unlocked, os.O_RDONLY | os.O_CLOEXEC)
        fcntl.flock(self.lock, fcntl.LOCK_EX)
        self.path = unlocked.with_name(_PREFIX + unlocked.name.rpartition("-")[2])
        unlocked.rename(self.path)  # under this name it is always locked while its owner lives

    def close(self) -> None:
        """Delete the folder and the shared memory of its server."""
        _delete(self.path)
        os.close(self.lock)


def _delete(folder: Path) -> None:
    shutil.rmtree(folder, ignore_errors=True)
    for region in Path("/dev/shm").glob(f"{folder.name}_*"):
        with contextlib.suppress(OSError):
            region.unlink()


def log_tail(path: Path) -> str:
    """The last errors of a log."""
    lines = path.read_text(errors="replace").splitlines() if path.is_file() else []
    return "\n".join(line for line in lines if line.strip() and not _NOISE.match(line))[-_TAIL_CHARACTERS:]


def load_failures(path: Path) -> list[str]:
    """Why models did not load: a line for each reason, with its models."""
    text = path.read_text(errors="replace") if path.is_file() else ""
    models: dict[str, list[str]] = {}
    for model, reason in dict(_FAILED.findall(text) + _POLL_FAILED.findall(text)).items():
        models.setdefault(_one_line(reason), []).append(model)
    places = [f"config.pbtxt:{place}" for place in _SYNTAX.findall(text)]
    found = [
        f"model{'s' if len(names) > 1 else ''} {', '.join(sorted(names))} did not load: {reason}"
        for reason, names in models.items()
    ]
    return [*found, *places]


def _one_line(reason: str) -> str:
    """The message of an exception in Triton's log, without places in the code; the last line of a traceback."""
    lines = [line for line in reason.partition("\\n\\nAt:")[0].split("\\n") if line.strip()] or [reason]
    first, traceback, _ = lines[0].partition("Traceback (most recent call last)")
    return (first + lines[-1] if traceback else first).removeprefix("ValueError: ")
