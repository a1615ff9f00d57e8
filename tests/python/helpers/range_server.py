# SPDX-License-Identifier: Apache-2.0
"""A web server on this machine that gives ranges of bytes as object stores do, with faults on demand."""

from __future__ import annotations

import dataclasses
import hashlib
import re
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import unquote


@dataclasses.dataclass
class RangeServer:
    """Its files, faults, and what it gave."""

    url: str
    files: dict[str, bytes] = dataclasses.field(default_factory=dict)
    tags: dict[str, str] = dataclasses.field(default_factory=dict)
    #: Where requests for a path are led.
    redirects: dict[str, str] = dataclasses.field(default_factory=dict)
    latency_s: float = 0.0
    #: How many of the next requests get 503, and how many get half of their body.
    num_unavailable: int = 0
    num_cut: int = 0
    ignores_ranges: bool = False
    weak_tags: bool = False
    bytes_sent: int = 0
    num_connections: int = 0
    paths: list[str] = dataclasses.field(default_factory=list)
    most_at_once: int = 0
    _at_once: int = 0
    _lock: threading.Lock = dataclasses.field(default_factory=threading.Lock)

    def put(self, name: str, data: bytes) -> str:
        """Serves data under a name; gives its URL."""
        self.files[f"/{name}"] = data
        self.tags[f"/{name}"] = f'"{hashlib.md5(data).hexdigest()}"'
        return f"{self.url}/{name}"

    def redirect(self, name: str, target: str) -> str:
        """Leads requests for a name to another address; gives the URL of the name."""
        self.redirects[f"/{name}"] = target
        return f"{self.url}/{name}"

    def forget(self) -> None:
        """Counts from 0 again."""
        with self._lock:
            self.bytes_sent = self.most_at_once = self.num_connections = 0
            self.paths.clear()

    @contextmanager
    def _counted(self, path: str) -> Iterator[None]:
        with self._lock:
            self.paths.append(path)
            self._at_once += 1
            self.most_at_once = max(self.most_at_once, self._at_once)
        try:
            yield
        finally:
            with self._lock:
                self._at_once -= 1

    def _take(self, name: str) -> bool:
        with self._lock:
            left = getattr(self, name)
            setattr(self, name, max(0, left - 1))
            return left > 0


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    state: RangeServer

    def log_message(self, *_: object) -> None:
        pass

    def setup(self) -> None:
        super().setup()
        with self.state._lock:
            self.state.num_connections += 1

    def do_HEAD(self) -> None:
        self._answer(body=False)

    def do_GET(self) -> None:
        self._answer(body=True)

    def _answer(self, *, body: bool) -> None:
        state = self.state
        with state._counted(self.path):
            time.sleep(state.latency_s)
            name = unquote(self.path.split("?")[0])
            data = state.files.get(name)
            tag = ("W/" if state.weak_tags else "") + state.tags.get(name, '""')
            begin, end = self._range(len(data or b""))
            if self.path in state.redirects:
                self._head(302, {"Location": state.redirects[self.path]})
            elif data is None:
                self._head(404)
            elif state._take("num_unavailable"):
                self._head(503)
            elif self.headers.get("If-Match", tag) != tag:
                self._head(412)
            elif begin > 0 and begin >= len(data):
                self._head(416, {"Content-Range": f"bytes */{len(data)}"})
            else:
                facts = {"ETag": tag, "Last-Modified": "Wed, 21 Oct 2026 07:28:00 GMT"}
                if "Range" in self.headers and not state.ignores_ranges:
                    self._head(206, facts | {"Content-Range": f"bytes {begin}-{end - 1}/{len(data)}"}, end - begin)
                else:
                    self._head(200, facts, end - begin)
                if body:
                    self._send(memoryview(data)[begin:end])

    def _range(self, size: int) -> tuple[int, int]:
        asked = re.fullmatch(r"bytes=(\d*)-(\d*)", self.headers.get("Range", ""))
        if asked is None or self.state.ignores_ranges:
            return 0, size
        first, last = asked.groups()
        if not first:
            return max(0, size - int(last)), size
        return int(first), min(int(last) + 1, size) if last else size

    def _send(self, data: memoryview) -> None:
        if self.state._take("num_cut"):
            self.wfile.write(data[: len(data) // 2])
            self.wfile.flush()
            self.connection.shutdown(socket.SHUT_RDWR)
            self.close_connection = True
            return
        with self.state._lock:  # before the client has them, and asks
            self.state.bytes_sent += len(data)
        self.wfile.write(data)

    def _head(self, status: int, facts: dict[str, str] | None = None, length: int = 0) -> None:
        self.send_response(status)
        for name, value in (facts or {}).items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(length))
        self.end_headers()


_Server = type("_Server", (ThreadingHTTPServer,), {"request_queue_size": 64})  # of 5, some of 8 clients wait for 1 s


@contextmanager
def range_server() -> Iterator[RangeServer]:
    """A running server."""
    server = _Server(("127.0.0.1", 0), _Handler)
    server.daemon_threads = True
    state = RangeServer(f"http://127.0.0.1:{server.server_address[1]}")
    server.RequestHandlerClass = type("Handler", (_Handler,), {"state": state})
    thread = threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True)
    thread.start()
    try:
        yield state
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
