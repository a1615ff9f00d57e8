# SPDX-License-Identifier: Apache-2.0
"""Ranges of bytes by HTTP, from addresses below allowed prefixes.

obstore and fsspec follow redirects wherever they lead. This client follows those that stay below the prefixes.
"""

from __future__ import annotations

import contextlib
import http
import http.client
import random
import ssl
import threading
import time
import weakref
from collections.abc import Iterator
from typing import Any, TypeAlias
from urllib.parse import urljoin, urlsplit

from tricodec._remote._prefixes import AllowedPrefixes
from tricodec._remote._stores import Version, expect_same
from tricodec.errors import MediaIOError, MediaNotFoundError, SourceChangedError

_REDIRECTS = (301, 302, 303, 307, 308)
_REPEATED = (408, 429, 500, 502, 503, 504)
_MOST_REDIRECTS = 5
_FIRST_WAIT_S, _LONGEST_WAIT_S = 0.1, 15.0
_CHUNK_BYTES = 1 << 20
_EXPIRED = (401, 403, 404, 410)

_Place: TypeAlias = "tuple[str, str, int | None]"
"""Scheme, host and port."""


class _RepeatableError(Exception):
    """A request that may succeed when it is repeated.

    Attributes:
        wait_s: what the server asks for, if it does.
    """

    def __init__(self, text: str, wait_s: float = 0.0) -> None:
        super().__init__(text)
        self.wait_s = wait_s


class HttpStore:
    """A file on a web server. Requests go to the server directly, without a proxy, and carry no credentials."""

    def __init__(self, url: str, prefixes: AllowedPrefixes, timeout_s: float, retries: int) -> None:
        prefixes.expect(url)
        self._url, self._prefixes, self._timeout_s, self._retries = url, prefixes, timeout_s, retries
        self._address = url  # where redirects led
        self._lock = threading.Lock()
        self._idle: list[tuple[_Place, http.client.HTTPConnection]] = []
        weakref.finalize(self, _close_all, self._idle)

    def fetch(self, start: int, end: int, known: Version | None) -> tuple[Any, Version]:
        """As `Store.fetch`."""
        wait_s = _FIRST_WAIT_S
        for attempt in range(self._retries + 1):
            try:
                return self._fetch_once(start, end, known)
            except MediaIOError:
                raise
            except (_RepeatableError, http.client.HTTPException, OSError) as error:
                if attempt == self._retries:
                    raise MediaIOError(
                        f"reading bytes {start} to {end} of '{self._url}' failed {attempt + 1} times; the last time: "
                        f"{error or type(error).__name__}"
                    ) from error
                asked = error.wait_s if isinstance(error, _RepeatableError) else 0.0
                time.sleep(min(max(random.uniform(0, wait_s), asked), _LONGEST_WAIT_S))
                wait_s = min(2 * wait_s, _LONGEST_WAIT_S)
        raise AssertionError("unreachable")

    def _fetch_once(self, start: int, end: int, known: Version | None) -> tuple[Any, Version]:
        deadline = time.monotonic() + self._timeout_s
        headers = {"Range": f"bytes={start}-{end - 1}", "Accept-Encoding": "identity", "User-Agent": "tricodec"}
        if known is not None and known.tag is not None and not known.tag.startswith("W/"):
            headers["If-Match"] = known.tag
        address = self._address
        with self._followed(address, headers) as answer:
            if answer.status not in _EXPIRED or address == self._url:
                return self._taken(answer, start, end, known, deadline)
        with self._followed(self._url, headers) as answer:  # the other address was valid for some time
            return self._taken(answer, start, end, known, deadline)

    def _taken(
        self, answer: http.client.HTTPResponse, start: int, end: int, known: Version | None, deadline: float
    ) -> tuple[Any, Version]:
        """What an answer has."""
        if answer.status in _REPEATED:
            raise _RepeatableError(f"the server answers {answer.status}", _seconds(answer.headers.get("Retry-After")))
        if answer.status == http.HTTPStatus.PRECONDITION_FAILED:
            raise SourceChangedError(f"'{self._url}' changed while it was read; open it again")
        if answer.status in (http.HTTPStatus.NOT_FOUND, http.HTTPStatus.GONE):
            raise MediaNotFoundError(f"'{self._url}' does not exist: the server answers {answer.status}")
        version = _version_of(answer, start, end)
        if version is None:
            why = (
                "does not give ranges of bytes; fetch the file, and pass its path"
                if answer.status in (http.HTTPStatus.OK, http.HTTPStatus.PARTIAL_CONTENT)
                else f"answers {answer.status} {answer.reason}"
            )
            raise MediaIOError(f"the server of '{self._url}' {why}")
        expect_same(self._url, known, version)
        wanted = max(0, min(end, version.size_bytes) - start)
        return self._body(answer, wanted, deadline), version

    @contextlib.contextmanager
    def _followed(self, address: str, headers: dict[str, str]) -> Iterator[http.client.HTTPResponse]:
        """The answer at the end of the redirects. Its connection serves other requests if it was read to its end."""
        for _ in range(_MOST_REDIRECTS + 1):
            place = _place_of(address)
            connection = self._take(place)
            keeps = False
            try:
                parts = urlsplit(address)
                target = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
                connection.request("GET", target, headers=headers)
                answer = connection.getresponse()
                if answer.status not in _REDIRECTS:
                    self._address = address
                    yield answer
                    keeps = answer.isclosed()
                    return
                address = self._redirected(address, answer)
            finally:
                if keeps:
                    with self._lock:
                        self._idle.append((place, connection))
                else:
                    connection.close()
        raise MediaIOError(f"'{self._url}' leads to more than {_MOST_REDIRECTS} redirects")

    def _redirected(self, address: str, answer: http.client.HTTPResponse) -> str:
        """Where a redirect leads. Raises RefusedError if that is not allowed."""
        target = urljoin(address, answer.headers.get("Location", ""))
        self._prefixes.expect(target, f"a redirect of '{self._url}' to ")
        if address.lower().startswith("https:") and not target.lower().startswith("https:"):
            raise MediaIOError(f"a redirect of '{self._url}' leads from https to '{target}'")
        return target

    def _take(self, place: _Place) -> http.client.HTTPConnection:
        """An idle connection, or a new one."""
        with self._lock:
            for i, (other, connection) in enumerate(self._idle):
                if other == place:
                    del self._idle[i]
                    return connection
        scheme, host, port = place
        if scheme == "https":
            context = ssl.create_default_context()
            return http.client.HTTPSConnection(host, port, timeout=self._timeout_s, context=context)
        return http.client.HTTPConnection(host, port, timeout=self._timeout_s)

    def _body(self, answer: http.client.HTTPResponse, size: int, deadline: float) -> memoryview:
        data = bytearray(size)
        filled = 0
        while filled < size:
            if time.monotonic() > deadline:
                raise _RepeatableError(f"the answer took longer than {self._timeout_s:g} s")
            count = answer.readinto(memoryview(data)[filled : filled + _CHUNK_BYTES])
            if count == 0:
                raise _RepeatableError(f"the connection ended after {filled} of {size} bytes")
            filled += count
        if answer.status != http.HTTPStatus.REQUESTED_RANGE_NOT_SATISFIABLE:
            answer.read(1)  # notes the end
        return memoryview(data)


def _close_all(connections: list[tuple[_Place, http.client.HTTPConnection]]) -> None:
    for _, connection in connections:
        connection.close()


def _place_of(address: str) -> _Place:
    parts = urlsplit(address)
    return parts.scheme.lower(), str(parts.hostname), parts.port


def _version_of(answer: http.client.HTTPResponse, start: int, end: int) -> Version | None:
    """The version that an answer states; None if it is not the range."""
    headers = answer.headers
    if headers.get("Content-Encoding", "identity").lower() != "identity":
        return None
    unit, _, stated = headers.get("Content-Range", "").partition(" ")
    place, _, total = stated.partition("/")
    if answer.status == 206 and unit == "bytes" and total.isdecimal():
        last = min(end, int(total)) - 1
        if place != f"{start}-{last}":
            return None
        size = int(total)
    elif answer.status == 416 and total.isdecimal():
        size = int(total)
    elif answer.status == 200 and start == 0 and headers.get("Content-Length", "").isdecimal():
        size = int(headers["Content-Length"])
        if size > end:
            return None
    else:
        return None
    return Version(size, headers.get("ETag"), headers.get("Last-Modified"))


def _seconds(text: str | None) -> float:
    return float(text) if text is not None and text.isdecimal() else 0.0
