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


class PrivateFolder:
    """A temporary folder of one server. It is locked until the last process that inherits `lock` ends.

    Attributes:
        path: the folder; names of the server's shared memory begin with its name.
        lock: the descriptor to pass on to the server.
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
