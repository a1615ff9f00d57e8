# SPDX-License-Identifier: Apache-2.0
"""The memory of a device that a node hands out for results, and the leases by which processes hold it."""

from __future__ import annotations

import dataclasses
import itertools
import os
import secrets
import time
from collections.abc import Callable
from typing import Any

from tricodec.node import _channel

_MIB = 1 << 20
_WASTE = 2
"""A slab is used again for a result of at least this part of its size."""
_MOST_FREE = 1024
_LOST_SECONDS = 600.0
"""A result that a process passed on before it ended waits so long for its receiver."""
_LOST_SECONDS_IF_NEEDED = 10.0
"""The same while requests wait for memory. A DataLoader that is left early ends its workers, and reads no more."""


@dataclasses.dataclass(eq=False)
class Slab:
    """Memory for one result, used again and again: fresh pages cost as much as decoding into them."""

    number: int  # its name between node and worker
    size: int  # in bytes
    file: int = -1  # by which processes map it; -1 until the worker of a GPU has made it
    event: str | None = None  # hexadecimal; of the last write on a GPU, or None if the worker waited for it
    is_new: bool = True  # the worker of a GPU must make it
    generation: int = 0  # of the arena; an older one is of a worker that has ended


class Arena:
    """Slabs of one device within one number of bytes. The caller has the node's lock."""

    def __init__(self, device: str, total: int, on_drop: Callable[[Slab], None]) -> None:
        """Args: on_drop is called with a slab that goes, as the worker of a GPU must end its mapping."""
        self.device, self.total = device, total  # bytes of all slabs, at most
        self.used = self.peak = 0  # bytes of those that there are, and the most that there were
        self._least, self._round = (_MIB >> 4, _MIB) if device == "cpu" else (2 * _MIB, 2 * _MIB)
        self._free: list[Slab] = []  # the one that was used last is at the end
        self._numbers = itertools.count(1)
        self._on_drop = on_drop
        self._generation = 0

    @property
    def leased(self) -> int:
        """Bytes of the slabs that are in use."""
        return self.used - sum(slab.size for slab in self._free)

    def rounded(self, size: int) -> int:
        """What a result of `size` bytes takes: of less than 1 MiB a power of two, so that others can use it again."""
        step = min(self._round, max(self._least, 1 << max(0, size - 1).bit_length()))
        return -(-max(1, size) // step) * step

    def fits(self, size: int) -> bool:
        """Whether a result has room now."""
        return self.leased + self.rounded(size) <= self.total

    def take(self, size: int) -> Slab:
        """A slab of at least `size` bytes, for which there is room.

        Raises:
            MemoryError: the machine has less memory than the node may use.
        """
        wanted = self.rounded(size)
        fitting = [slab for slab in self._free if wanted <= slab.size <= _WASTE * wanted]
        if fitting:
            slab = min(reversed(fitting), key=lambda each: each.size)
            self._free.remove(slab)
            if self.used <= self.total:
                return slab
            self.drop(slab)
        while self._free and self.used + wanted > self.total:
            self.drop(self._free.pop(0))
        slab = Slab(next(self._numbers), wanted, generation=self._generation)
        if self.device == "cpu":
            slab.file, slab.is_new = _channel.empty_file("tricodec-result", wanted), False
        self.used += wanted
        self.peak = max(self.peak, self.used)
        return slab

    def give_back(self, slab: Slab) -> None:
        """Takes a slab that has no holder any more."""
        if slab.is_new or slab.generation != self._generation:
            self.forget(slab)
        else:
            self._free.append(slab)
            if len(self._free) > _MOST_FREE:
                self.drop(self._free.pop(0))

    def forget(self, slab: Slab) -> None:
        """Takes a slab that does not exist any more, or never did: its worker has ended."""
        self.used -= slab.size
        if slab.file >= 0:
            os.close(slab.file)
            slab.file = -1

    def restart(self) -> None:
        """Forgets the free slabs, and later those in use: the worker that made them has ended."""
        self._generation += 1
        while self._free:
            self.forget(self._free.pop())

    def drop(self, slab: Slab) -> None:
        """Takes a slab out of use. Its memory is free when no process reads it any more."""
        self._on_drop(slab)
        self.forget(slab)


@dataclasses.dataclass(eq=False)
class Lease:
    """A slab with a result, and its holders."""

    number: int  # its name between node and client
    arena: Arena
    slab: Slab
    described: dict[str, Any]  # the shape, dtype and more that a client needs
    owner: Any  # the client to which the memory counts: that asked for it, then one that holds it, or None
    holders: list[Any]  # clients, once for each array, and tokens on their way; the slab is free when there is none
    is_left: bool = False  # a holder has closed its connection, and may still read its array


@dataclasses.dataclass(eq=False)
class _Token:
    """A lease on its way to another process."""

    lease: Lease
    sender: Any  # a client
    parent: int  # process of the sender's parent, which most likely receives it
    lost_at: float | None = None  # when the sender ended


class Leases:
    """All leases of a node. The caller has the node's lock."""

    def __init__(self) -> None:
        self._leases: dict[int, Lease] = {}
        self._tokens: dict[str, _Token] = {}
        self._held: dict[tuple[Any, str], int] = {}
        self._numbers = itertools.count(1)

    def __len__(self) -> int:
        return len(self._leases)

    def held(self, client: Any, arena: Arena) -> int:
        """Bytes of a device that a client has asked for, and that are in use."""
        return self._held.get((client, arena.device), 0)

    def has_passed_on(self, client: Any, arena: Arena) -> bool:
        """Whether other processes have results that a client has asked for."""
        return any(
            lease.owner is client and lease.arena is arena and client not in lease.holders
            for lease in self._leases.values()
        )

    def count(self, client: Any, arena: Arena, size: int) -> None:
        """Changes what a client holds: memory of a request that is at work counts, too."""
        if client is not None:
            self._held[client, arena.device] = self._held.get((client, arena.device), 0) + size

    def add(self, client: Any, arena: Arena, slab: Slab, answer: dict[str, Any]) -> dict[str, Any]:
        """A lease of a client; returns what describes it."""
        described = {"shape": answer["shape"], "dtype": answer["dtype"], "event": answer["event"]}
        lease = Lease(next(self._numbers), arena, slab, described, None, [client])
        self._leases[lease.number] = lease
        self._own(lease, client)
        return self._description(lease)

    def release(self, client: Any, number: int) -> Arena | None:
        """Takes back a lease; returns the arena in which a slab is free now."""
        lease = self._leases.get(number)
        if lease is None or client not in lease.holders:
            return None
        return self._let_go(lease, client)

    def share(self, client: Any, number: int, parent: int) -> str:
        """A token by which another process claims a lease, once.

        Raises:
            ValueError: the client does not hold it.
        """
        lease = self._leases.get(number)
        if lease is None or client not in lease.holders:
            raise ValueError(f"this process holds no lease {number}")
        token = secrets.token_hex(16)
        self._tokens[token] = _Token(lease, client, parent)
        lease.holders.append(token)
        return token

    def claim(self, client: Any, token: str) -> tuple[dict[str, Any], list[int]]:
        """What describes the lease of a token, which the client then holds, and its file.

        Raises:
            ValueError: the token is unknown or was used before.
        """
        if token not in self._tokens:
            raise ValueError("this array was pickled by another process and read before, or its node is gone")
        lease = self._tokens.pop(token).lease
        lease.holders.remove(token)
        lease.holders.append(client)
        if lease.owner is None:
            self._own(lease, client)
        return self._description(lease), [lease.slab.file]

    def drop(self, client: Any) -> None:
        """Takes back all leases of a client that is gone. What it passed on can still be claimed."""
        now = time.monotonic()
        for lease in list(self._leases.values()):
            while client in lease.holders:
                lease.is_left = True
                self._let_go(lease, client)
        for lease in self._leases.values():
            if lease.owner is client:
                self._own(lease, next((each for each in lease.holders if not isinstance(each, str)), None))
        for token in self._tokens.values():
            if token.sender is client:
                token.lost_at = now
        for key in [key for key in self._held if key[0] is client]:
            del self._held[key]

    def drop_lost_tokens(self, *, is_needed: bool) -> bool:
        """Takes back what no process can claim any more; returns whether a slab is free now."""
        since = time.monotonic() - (_LOST_SECONDS_IF_NEEDED if is_needed else _LOST_SECONDS)
        lost = [
            name
            for name, token in self._tokens.items()
            if token.lost_at is not None and (token.lost_at < since or not _is_alive(token.parent))
        ]
        for name in lost:
            self._let_go(self._tokens.pop(name).lease, name)
        return bool(lost)

    def _let_go(self, lease: Lease, holder: Any) -> Arena | None:
        lease.holders.remove(holder)
        if lease.holders:
            return None
        self._own(lease, None)
        del self._leases[lease.number]
        (lease.arena.drop if lease.is_left else lease.arena.give_back)(lease.slab)
        return lease.arena

    def _own(self, lease: Lease, client: Any) -> None:
        for owner, sign in ((lease.owner, -1), (client, 1)):
            self.count(owner, lease.arena, sign * lease.slab.size)
        lease.owner = client

    def _description(self, lease: Lease) -> dict[str, Any]:
        return {"lease": lease.number, "device": lease.arena.device, "size": lease.slab.size, **lease.described}


def _is_alive(process: int) -> bool:
    return process > 1 and os.path.exists(f"/proc/{process}")  # noqa: PTH110  (of a process, not a path of a user)
