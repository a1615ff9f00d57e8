# SPDX-License-Identifier: Apache-2.0
"""Models of a server that come back: a model with a dead process is unloaded and loaded again.

Triton does not restart the process of a Python model (its stub), and up to release 25.11 it does not report that the
process is dead: every request fails while the model says READY. The one cure is to unload the model and to load it.
"""

from __future__ import annotations

import collections
import contextlib
import os
import re
import select
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator
from pathlib import Path

from tricodec.triton.serve.control import ControlError, ModelControl
from tricodec.triton.serve.left_memory import LeftMemory

_STUB = "triton_python_backend_stub"
_MODEL_FILE = re.compile(r"/([^/]+)/\d+/[^/]+$")
_LOOK_SECONDS = 5.0
"""How often new stubs are looked for; the watcher itself looks after each reload."""
_RETRY_SECONDS = (0.5, 1, 2, 5, 10, 30)
_OFTEN = 5
_OFTEN_SECONDS = 60.0

Report = Callable[[str], None]


class Reloader:
    """Loads models again, and waits if one dies again and again."""

    def __init__(self, control: ModelControl, report: Report, ended: threading.Event) -> None:
        """Args: report takes a line for people; ended stops attempts."""
        self._control = control
        self._report = report
        self._ended = ended
        self._times: dict[str, deque[float]] = {}

    def reload(self, model: str, reason: str) -> bool:
        """Unload a model at once, so that it is not ready any more, and load it. False if the watch ended before.

        Raises:
            ControlError: the server does not let its models be loaded, or is gone.
        """
        began = time.monotonic()
        self._control.unload(model)
        times = self._times.setdefault(model, deque(maxlen=_OFTEN))
        if len(times) == _OFTEN and began - times[0] < _OFTEN_SECONDS:
            self._report(f"{model}: {reason}; it died {_OFTEN + 1} times in {began - times[0]:.0f} s and waits 10 s")
            if self._ended.wait(10):
                return False
        times.append(began)
        for attempt in range(1000):
            try:
                self._control.load(model)
            except ControlError as error:
                if not self._control.is_live():
                    raise
                delay = _RETRY_SECONDS[min(attempt, len(_RETRY_SECONDS) - 1)]
                self._report(f"{model}: {reason}; loading it failed ({error}); next attempt in {delay:g} s")
                if self._ended.wait(delay):
                    return False
            else:
                self._report(f"{model}: {reason}; loaded again in {time.monotonic() - began:.1f} s")
                return True
        return False


class StubWatcher:
    """Watches the stubs of a server on this machine by the kernel's notice, and reloads the model of one that dies."""

    def __init__(self, server_pid: int, control: ModelControl, report: Report) -> None:
        """Begin to watch; the server is ready.

        Args:
            server_pid: process id of the tritonserver.
            control: of the same server, which must run with --model-control-mode=explicit.
            report: takes a line for people about each reload; called from the watcher's thread.
        """
        self._server_pid = server_pid
        self._control = control
        self._report = report
        self._ended = threading.Event()
        self._reloader = Reloader(control, report, self._ended)
        self._poll = select.poll()
        self._stubs: dict[int, tuple[int, str]] = {}  # by the descriptor of the process
        self._regions: dict[int, str] = {}  # of shared memory, by pid
        self._left = LeftMemory()
        self._reloading = threading.Lock()
        self._known: set[int] = set()  # pids that are watched, or belong to models that were unloaded
        self._wanted: dict[str, int] = {}  # how many stubs a model has, one for each instance
        self._wake_read, self._wake_write = os.pipe2(os.O_CLOEXEC)
        self._poll.register(self._wake_read, select.POLLIN)
        self._look()
        self._thread = threading.Thread(target=self._run, name="tricodec-serve-watch", daemon=True)
        self._thread.start()

    def close(self) -> None:
        """End the watch."""
        self._ended.set()
        os.write(self._wake_write, b"x")
        self._thread.join(_LOOK_SECONDS)
        if not self._thread.is_alive():  # else it still waits for a load, and uses them
            for descriptor in (self._wake_read, self._wake_write, *self._stubs):
                os.close(descriptor)

    def _run(self) -> None:
        while not self._ended.is_set():
            ready = [descriptor for descriptor, _ in self._poll.poll(_LOOK_SECONDS * 1000)]
            for descriptor in ready:
                self._forget(descriptor)
            self._look()
            running = self._count()
            # A model that was loaded again on purpose has new stubs before the old ones end.
            for model in sorted(model for model, wanted in self._wanted.items() if running[model] < wanted):
                if self._ended.is_set():
                    return
                self._bring_back(model)

    @contextlib.contextmanager
    def reloading(self) -> Iterator[None]:
        """While another thread unloads and loads a model, this one does not."""
        with self._reloading:
            yield

    def _bring_back(self, model: str) -> None:
        with self._reloading:
            self._look()
            if self._count()[model] < self._wanted.get(model, 0):  # no other thread has loaded it again
                self._reload(model)

    def _reload(self, model: str) -> None:
        try:
            if self._control.states().get(model) != "READY":
                return  # it was unloaded on purpose, or the server ends
            for descriptor, (_, other) in list(self._stubs.items()):
                if other == model:
                    self._forget(descriptor)  # they end with the model
            self._reloader.reload(model, "its process died")
            del self._wanted[model]  # another configuration may have come with it
            self._look()
        except ControlError as error:
            if not self._ended.is_set() and self._control.is_live():
                self._report(f"{model}: its process died, and the server does not load it again: {error}")

    def _look(self) -> None:
        """Adds the stubs that are not known yet."""
        running = dict(find_stubs(self._server_pid))
        for pid, model in running.items():
            if pid not in self._known:
                with contextlib.suppress(ProcessLookupError):
                    descriptor = os.pidfd_open(pid)
                    self._stubs[descriptor] = (pid, model)
                    self._poll.register(descriptor, select.POLLIN)
        self._known = set(running)
        for pid in [pid for pid in self._regions if pid not in running]:
            self._left.add(self._regions.pop(pid))
        self._regions |= {pid: _region_of(pid) for pid in running if pid not in self._regions}
        self._left.release(self._regions.values())
        for model, count in self._count().items():
            self._wanted.setdefault(model, count)

    def _count(self) -> collections.Counter[str]:
        """How many stubs run, by model."""
        return collections.Counter(model for _, model in self._stubs.values())

    def _forget(self, descriptor: int) -> None:
        if descriptor in self._stubs:
            self._poll.unregister(descriptor)
            os.close(descriptor)
            del self._stubs[descriptor]


def find_stubs(server_pid: int) -> Iterator[tuple[int, str]]:
    """The process id and the model of each stub of a server."""
    for pid in _children(server_pid):
        with contextlib.suppress(OSError):
            arguments = Path(f"/proc/{pid}/cmdline").read_bytes().decode(errors="replace").split("\0")
            if Path(arguments[0]).name == _STUB and (named := _MODEL_FILE.search(arguments[1])):
                yield pid, named[1]


def _region_of(stub: int) -> str:
    """The name of the memory that a stub shares with its server, or nothing if it has ended."""
    with contextlib.suppress(OSError, IndexError):
        return Path(f"/proc/{stub}/cmdline").read_bytes().decode(errors="replace").split("\0")[2]
    return ""


def _children(pid: int) -> Iterator[int]:
    for process in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            if int((process / "stat").read_text().rpartition(")")[2].split()[1]) == pid:
                yield int(process.name)
