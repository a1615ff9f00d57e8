# SPDX-License-Identifier: Apache-2.0
"""Remote sources for threads of the core that must not wait for Python's lock, such as DALI's: by a process beside."""

from __future__ import annotations

import atexit
import contextlib
import hashlib
import json
import os
import pickle
import secrets
import socket
import subprocess
import sys
import threading
from typing import TYPE_CHECKING

from tricodec._remote._server import ADD, ANSWER, REQUEST
from tricodec._tricodec import set_source_server
from tricodec.errors import MediaIOError, UnsupportedError

if TYPE_CHECKING:
    from tricodec._remote._source import RemoteSource

# It imports from exactly where this process does, whatever PYTHONPATH and the working directory are.
_BOOTSTRAP = """
import json, socket, sys
sys.path[:] = json.loads(sys.argv[1])
from tricodec._remote._server import run
run(socket.socket(fileno=int(sys.argv[2])))
"""
_STOP_SECONDS = 2.0


class SourceServer:
    """The process that reads remote sources for this one. It starts with the first source. Thread safety: safe."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._first: socket.socket | None = None
        self._process: subprocess.Popen[bytes] | None = None
        self._connection: socket.socket | None = None
        self._pid = 0
        self._secret = secrets.token_bytes(16)
        self._known: set[str] = set()

    def key_of(self, source: RemoteSource) -> str:
        """Hands a source to the process; gives the key by which the core opens it, the same for equal sources.

        Raises:
            As `RemoteSource.serve`.
        """
        pickled = pickle.dumps(source)
        key = hashlib.sha256(self._secret + pickled).hexdigest()
        with self._lock:
            self._connect()
            if key not in self._known:
                self._add(key.encode() + pickled)
                self._known.add(key)
        return key

    def close(self) -> None:
        """Ends the process."""
        with self._lock:
            self._end()

    def _connect(self) -> None:
        """Makes sure that the process runs, and that this process has a connection of its own to it."""
        if self._pid == os.getpid() and self._process is not None and self._process.poll() is not None:
            self._end()  # it was killed
        if self._first is None:
            self._start()
        if self._connection is None or self._pid != os.getpid():  # a forked child uses its parent's process
            ours, theirs = socket.socketpair()
            assert self._first is not None
            with theirs:
                socket.send_fds(self._first, [b"\0"], [theirs.fileno()])
            if self._connection is not None:
                self._connection.close()  # the parent's, which keeps its own
            self._connection, self._pid = ours, os.getpid()

    def _start(self) -> None:
        first, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        paths = json.dumps([path for path in sys.path if path])
        command = [sys.executable, "-I", "-c", _BOOTSTRAP, paths, str(theirs.fileno())]
        try:
            with theirs:
                self._process = subprocess.Popen(command, stdin=subprocess.DEVNULL, pass_fds=(theirs.fileno(),))
        except BaseException:
            first.close()
            raise
        self._first = first
        self._known.clear()
        set_source_server(first.fileno())
        atexit.register(self.close)

    def _add(self, data: bytes) -> None:
        assert self._connection is not None
        self._connection.sendall(REQUEST.pack(ADD, 0, len(data)) + data)
        with self._connection.makefile("rb") as answers:
            answer = answers.read(ANSWER.size)
            if len(answer) < ANSWER.size:
                self._end()
                raise MediaIOError("the process that reads remote sources has ended; its message is on stderr")
            failed, size = ANSWER.unpack(answer)
            text = answers.read(size).decode()
        if failed:
            raise UnsupportedError(f"a remote source cannot be read by another process: {text.partition(chr(10))[2]}")

    def _end(self) -> None:
        if self._first is None or self._pid not in (0, os.getpid()):
            return  # the parent's
        atexit.unregister(self.close)
        set_source_server(-1)
        for each in (self._connection, self._first):
            if each is not None:
                each.close()
        self._connection = self._first = None
        if self._process is not None:
            with contextlib.suppress(subprocess.TimeoutExpired):
                self._process.wait(_STOP_SECONDS)
            self._process.kill()
            self._process.wait()
            self._process = None


SERVER = SourceServer()
