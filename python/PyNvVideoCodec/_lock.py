# SPDX-License-Identifier: Apache-2.0
"""Locks that a forked child finds free."""

from __future__ import annotations

import os
import threading
import weakref

_LOCKS: weakref.WeakSet[threading.RLock] = weakref.WeakSet()


def make_lock() -> threading.RLock:
    """A lock for an object. In a child made by fork() the thread that may hold it does not exist: there it is free."""
    lock = threading.RLock()
    _LOCKS.add(lock)
    return lock


def _free_all() -> None:
    for lock in _LOCKS:
        lock._at_fork_reinit()  # type: ignore[attr-defined]  # as the standard library's logging does


os.register_at_fork(after_in_child=_free_all)
