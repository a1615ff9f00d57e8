# SPDX-License-Identifier: Apache-2.0
"""Which request gets memory for its result, within the share of each client."""

from __future__ import annotations

import time
from typing import Any

from tricodec.errors import RefusedError
from tricodec.node._arena import Arena, Leases, Slab
from tricodec.node._queue import Queue, Request
from tricodec.node._start import Settings

_MIB = 1 << 20
_GPU_CONTEXT = 512 * _MIB
_LEAST_FOR_DECODERS = 1536 * _MIB
"""Of a GPU, where a quarter of it is not more: 20 decoders for 1920x1080, and frames that they decode ahead."""
_LEFT = 0.25
"""The part of the memory for results that clients which pass theirs on leave to others at least."""
_ACTIVE_SECONDS = 60.0
KEPT = 0.5
"""The part of the memory for results and kept frames that the kept frames may have."""


class Memory:
    """The memory of all devices. The caller has the node's lock.

    Memory counts to the client that asked for it, also when it has passed its array on. Such a client leaves some for
    those that have none: the consumer of a DataLoader takes results in their order, so it would wait forever for one
    worker if the others, which are ahead, took all.
    """

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self.arenas: dict[str, Arena] = {}  # by device
        self.leases = Leases()  # what clients hold
        self.waiting: list[Request] = []  # tasks that wait for memory with their workers, in their order
        self._needs: dict[tuple[Any, str], tuple[int, float]] = {}  # by client and device: bytes of the last one, when

    def fits(self, request: Request, arena: Arena) -> bool:
        """Whether a request can have its memory now, and its client hold it."""
        assert request.need is not None
        need, now = arena.rounded(request.need), time.monotonic()
        self._needs[request.client, arena.device] = need, now
        if not arena.fits(need) or self.leases.held(request.client, arena) + need > self._most(arena):
            return False
        if not self.leases.has_passed_on(request.client, arena):
            return True
        others = sum(
            size
            for (client, device), (size, when) in self._needs.items()
            if device == arena.device and now < when + _ACTIVE_SECONDS and not self.leases.held(client, arena)
        )
        return arena.leased + need + max(others, int(_LEFT * arena.total)) <= arena.total

    def take(self, request: Request, arena: Arena) -> None:
        """Gives a request its memory.

        Raises:
            MemoryError: the machine has less memory than the node may use.
        """
        assert request.need is not None
        request.arena, request.slab = arena, arena.take(request.need)
        self.leases.count(request.client, arena, request.slab.size)

    def forget(self, client: Any) -> None:
        """A client is gone."""
        self._needs = {key: need for key, need in self._needs.items() if key[0] is not client}
        self.leases.drop(client)

    def is_overtaking(self, request: Request, arena: Arena, queue: Queue) -> bool:
        """Whether another request waits for memory of the device that this one would take first."""
        waiting = [each for each in queue if each.need is not None]
        waiting += [each for each in self.waiting if each.arena is arena]
        return any(not arena.fits(each.need) and each.priority <= request.priority for each in waiting)

    def expect_ever(self, request: Request, arena: Arena) -> None:
        """Raises RefusedError for a request that needs more memory than one client may have."""
        assert request.need is not None
        most = self._most(arena)
        if arena.rounded(request.need) > most:
            raise RefusedError(
                f"the {_what(request)} {request.need} bytes, and this node gives a client at most {most} bytes of "
                f"{arena.device}; ask for fewer frames or a smaller size, or start the node with more memory"
            )

    def why_it_waits(self, request: Request, arena: Arena) -> str:
        """For a request that has waited for too long."""
        return (
            f"the {_what(request)} {request.need} bytes, and for {self._settings.wait_s:g} s there was no room on "
            f"{arena.device}: arrays hold {arena.leased} of {arena.total} bytes, those of this client "
            f"{self.leases.held(request.client, arena)} of {self._most(arena)}; drop arrays that are not needed any "
            "more, or give the node more memory"
        )

    def hand_over(self, request: Request, answer: dict[str, Any], files: list[int]) -> tuple[dict[str, Any], list[int]]:
        """Leases the memory of a result to the client; returns the answer with the lease, and the file for it."""
        assert request.slab is not None
        assert request.arena is not None
        take_file(request, files)
        slab, request.slab = request.slab, None
        self.leases.count(request.client, request.arena, -slab.size)
        slab.event = answer["event"]
        return {**answer, **self.leases.add(request.client, request.arena, slab, answer)}, [slab.file]

    def give_back(self, request: Request) -> None:
        """Takes the memory of a request that has no use for it, or does not wait for it any more."""
        for arena, slab in ((request.arena, request.slab), request.on_gpu or (None, None)):
            if arena is not None and slab is not None:
                self.leases.count(request.client, arena, -slab.size)
                arena.give_back(slab)
        request.slab = request.arena = request.on_gpu = None
        if request in self.waiting:
            self.waiting.remove(request)

    def _most(self, arena: Arena) -> int:
        return int(self._settings.client_share * arena.total)


def parts_of_gpu(settings: Settings) -> tuple[int, int, int]:
    """Bytes of a GPU for results, for kept frames, and for decoders, which may decode as much ahead.

    Raises:
        RuntimeError: there is not so much.
    """
    for_decoders = max(_LEAST_FOR_DECODERS, settings.gpu_memory // 4)
    rest = settings.gpu_memory - _GPU_CONTEXT - for_decoders
    if rest <= 0:
        raise RuntimeError(
            f"gpu_memory is {settings.gpu_memory} bytes, and the context and the decoders of a GPU take "
            f"{_GPU_CONTEXT + for_decoders}; give a node more than that, such as 4 GiB"
        )
    kept = int(rest * KEPT)
    return rest - kept, kept, for_decoders // 2


def _what(request: Request) -> str:
    return "result takes" if request.is_task else "frames take"


def take_file(request: Request, files: list[int]) -> None:
    """Takes the file of memory that the worker of a GPU has made."""
    if request.slab is not None and files:
        request.slab.file, request.slab.is_new = files[0], False


def described_slab(slab: Slab) -> tuple[dict[str, Any], list[int]]:
    """What a worker needs of a slab, and the file that goes with it."""
    described = {"number": slab.number, "size": slab.size, "new": slab.is_new}
    return described, [slab.file] if slab.file >= 0 else []
