# SPDX-License-Identifier: Apache-2.0
"""The process of a node: its socket, and the connections of its clients."""

from __future__ import annotations

import contextlib
import dataclasses
import fcntl
import json
import os
import resource
import signal
import socket
import struct
import sys
import threading
import time
from pathlib import Path
from typing import IO, Any

from tricodec._tricodec import __version__
from tricodec.errors import RefusedError
from tricodec.node import _channel
from tricodec.node._schedule import Scheduler
from tricodec.node._start import RunsAlreadyError, Settings, checked_path, lock_file, settings_of, usable_gpus

_MOST_REQUESTS = 64
"""Of a client at a time: what the node has to say fits into the socket, so a client that does not read is found out."""
_IDLE_LOOK_SECONDS = 0.5
_ACCEPT_SECONDS = 0.1


class Client:
    """A connection of a process."""

    def __init__(self, server: Server, channel: socket.socket, process: int) -> None:
        self._server, self._channel, self.process = server, channel, process
        self._lock = threading.Lock()
        self._num_requests = 0

    def answer(self, number: int, answer: dict[str, Any], files: list[int]) -> None:
        """Sends what became of a request. A client that does not read is dropped."""
        with self._lock:
            self._num_requests -= not answer.get("more", False)
        try:
            _channel.send(self._channel, {"number": number, **answer}, files, wait=False)
        except OSError:
            with contextlib.suppress(OSError):
                self._channel.shutdown(socket.SHUT_RDWR)  # serve() ends

    def serve(self) -> None:
        """Receives requests until the client is gone."""
        scheduler = self._server.scheduler
        try:
            while True:
                message, files = _channel.receive(self._channel)
                number = message.get("number", 0)
                try:
                    self._do(message, number, files)
                except Exception as error:  # the request's own
                    _channel.close(files)
                    self.answer(number, {"failure": _channel.failure_of(error)}, [])
        except (OSError, ValueError, RecursionError):  # it is gone, or not to be trusted
            pass
        finally:
            scheduler.drop(self)
            self._server.forget(self)
            self._channel.close()

    def _do(self, message: dict[str, Any], number: int, files: list[int]) -> None:
        scheduler, what = self._server.scheduler, message["do"]
        if what == "release":
            scheduler.release(self, int(message["lease"]))
            return
        if what == "cancel":
            scheduler.cancel(self, int(message["request"]))
            return
        if what in ("next", "enough"):
            scheduler.tell(self, int(message["request"]), stop=what == "enough")
            return
        if what == "forget":
            scheduler.forget(self, str(message["pin"]))
            return
        with self._lock:
            self._num_requests += 1
            if self._num_requests > _MOST_REQUESTS:
                raise RefusedError(
                    f"a client may have {_MOST_REQUESTS} requests at a time; wait for some of their answers"
                )
        if "failure" in message:  # its files did not arrive
            raise _channel.error_of(message["failure"])
        if what in ("decode", "facts", "task"):
            scheduler.submit(self, number, message, files)
            return
        sent: list[int] = []
        if what == "share":
            with scheduler.lock:
                answer: dict[str, Any] = {
                    "token": scheduler.leases.share(self, message["lease"], _parent_of(self.process))
                }
        elif what == "claim":
            with scheduler.lock:
                answer, sent = scheduler.leases.claim(self, str(message["token"]))
        elif what == "status":
            answer = self._server.status()
        elif what == "stop":
            self.answer(number, {}, [])
            self._server.stop()
            return
        else:
            raise ValueError(f"the request {what!r} is unknown; the client is of another version of tricodec")
        self.answer(number, answer, sent)


class Server:
    """A node at its socket."""

    def __init__(self, settings: Settings) -> None:
        """Takes the socket, and starts the processes that decode.

        Raises:
            RunsAlreadyError: another node has the socket.
            RuntimeError: a process does not start.
        """
        path = checked_path(settings.socket)
        self._started = time.time()
        self._lock = threading.Lock()
        self._clients: set[Client] = set()
        self._stopped = threading.Event()
        self._file = _locked(path)
        if path.exists() and not path.is_socket():
            raise RuntimeError(f"{str(path)!r} is there and no socket; name another path")
        path.unlink(missing_ok=True)  # of a node that was killed
        self._listener = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        old = os.umask(0o177)
        try:
            self._listener.bind(str(path))
        finally:
            os.umask(old)
        gpus = usable_gpus() if settings.gpus is None else list(settings.gpus)
        self._settings, self._path = settings, path
        self._file.truncate(0)
        self._file.write(json.dumps(dataclasses.asdict(settings)))
        self._file.flush()
        self.scheduler = Scheduler(settings, gpus)
        self._listener.listen(128)

    def run(self) -> None:
        """Takes clients until stop(), or until there was none for `idle_s`."""
        threading.Thread(target=self._accept, name="tricodec-clients", daemon=True).start()
        last = time.monotonic()
        while not self._stopped.wait(_IDLE_LOOK_SECONDS):
            now = time.monotonic()
            last = now if self._clients else last
            if self._settings.idle_s and now > last + self._settings.idle_s:
                break
        self._path.unlink(missing_ok=True)
        self._listener.close()
        self.scheduler.close()
        log = Path(f"{self._path}.log")
        if log.exists() and not log.stat().st_size:
            log.unlink()
        lock_file(self._path).unlink(missing_ok=True)

    def stop(self) -> None:
        """Ends run()."""
        self._stopped.set()

    def forget(self, client: Client) -> None:
        """A client is gone."""
        with self._lock:
            self._clients.discard(client)

    def status(self) -> dict[str, Any]:
        """What `Node.status` returns."""
        with self._lock:
            clients = [each.process for each in self._clients]
        return {
            "version": __version__, "process": os.getpid(), "socket": str(self._path),
            "seconds": round(time.time() - self._started, 1), "clients": clients, **self.scheduler.status(),
        }  # fmt: skip

    def _accept(self) -> None:
        while True:
            try:
                channel, _ = self._listener.accept()
            except OSError:
                if self._stopped.wait(_ACCEPT_SECONDS):
                    return
                continue  # the node has as many files open as it may; clients that end leave some
            process, user, _ = struct.unpack("3i", channel.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12))
            if user != os.getuid():
                channel.close()
                continue
            client = Client(self, channel, process)
            with self._lock:
                self._clients.add(client)
            threading.Thread(target=client.serve, name=f"tricodec-client-{process}", daemon=True).start()


def _locked(path: Path) -> IO[str]:
    """The lock file of a socket, which the node keeps open.

    Raises:
        RunsAlreadyError: another node has it.
    """
    name = lock_file(path)
    while True:
        file = name.open("a")
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            file.close()
            raise RunsAlreadyError from error
        if name.exists() and name.stat().st_ino == os.fstat(file.fileno()).st_ino:
            return file
        file.close()  # a node that ended meanwhile has removed it


def _parent_of(process: int) -> int:
    """The process that started another one, to which a worker of a DataLoader passes results; 0 if it is not known."""
    try:
        return int(Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[1])
    except (OSError, ValueError, IndexError):
        return 0


def main() -> None:
    """Runs a node: its arguments are the settings as JSON and the number of a pipe for "ready", "runs", or why not."""
    settings = settings_of(json.loads(sys.argv[1]))
    most_files = resource.getrlimit(resource.RLIMIT_NOFILE)[1]  # a result is an open file
    resource.setrlimit(resource.RLIMIT_NOFILE, (most_files, most_files))
    with os.fdopen(int(sys.argv[2]), "w") as starter:
        try:
            server = Server(settings)
        except RunsAlreadyError:
            starter.write("runs")
            sys.exit(1)
        except (RuntimeError, OSError, ValueError) as error:
            starter.write(str(error))
            sys.exit(1)
        starter.write("ready")
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: server.stop())
    server.run()
    os._exit(0)  # threads of clients may wait for messages
