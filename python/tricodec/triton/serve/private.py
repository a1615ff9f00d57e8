# SPDX-License-Identifier: Apache-2.0
"""The private folder of a server, and the removal of what servers left that were killed."""

from __future__ import annotations

import contextlib
import fcntl
import os
import shutil
import tempfile
from pathlib import Path

_PREFIX = "tricodec-serve-"
_LOCK = "owner"


class PrivateFolder:
    """A temporary folder of one server, locked for as long as a process of that server lives.

    The server inherits the lock's descriptor. So the lock ends with the last of its processes, however they end, and
    numbers of processes that the kernel gives out again mislead no check.

    Attributes:
        path: the folder.
        lock: the descriptor to pass on to the server.
    """

    def __init__(self, identity: str) -> None:
        """Create the folder.

        Args:
            identity: prefix of the names of the server's shared memory, which goes with the folder.
        """
        self.path = Path(tempfile.mkdtemp(prefix=_PREFIX))
        unlocked = self.path / f"{_LOCK}.new"
        self.lock = os.open(unlocked, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
        self._identity = identity
        os.write(self.lock, identity.encode())
        fcntl.flock(self.lock, fcntl.LOCK_EX)
        unlocked.rename(self.path / _LOCK)  # under this name the lock is always held while its owner lives

    def close(self) -> None:
        """Delete the folder and the shared memory of its server."""
        shutil.rmtree(self.path, ignore_errors=True)
        os.close(self.lock)
        _remove_shared_memory(self._identity)


def remove_abandoned() -> list[Path]:
    """Delete the folders and the shared memory of this user's servers that were killed.

    Returns:
        The folders that were deleted.
    """
    removed = []
    for folder in Path(tempfile.gettempdir()).glob(f"{_PREFIX}*"):
        with contextlib.suppress(OSError):  # gone, not ours, or still owned
            if folder.is_symlink() or folder.stat().st_uid != os.geteuid():
                continue
            lock = os.open(folder / _LOCK, os.O_RDWR | os.O_CLOEXEC | os.O_NOFOLLOW)
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                identity = os.read(lock, 256).decode()
                shutil.rmtree(folder, ignore_errors=True)
            finally:
                os.close(lock)
            _remove_shared_memory(identity)
            removed.append(folder)
    return removed


def _remove_shared_memory(identity: str) -> None:
    for region in Path("/dev/shm").glob(f"{identity}_*") if identity.startswith("tricodec_") else ():
        with contextlib.suppress(OSError):
            region.unlink()
