# SPDX-License-Identifier: Apache-2.0
"""`open_remote()`, and the file objects that a RemoteSource opens."""

from __future__ import annotations

import dataclasses
import functools
import io
import os
import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from tricodec.remote._pieces import Pieces
from tricodec.remote._stores import (
    SCHEMES,
    AllowedPrefixes,
    FsspecStore,
    ObstoreStore,
    Store,
    Version,
    is_remote_url,
    made_again,
    open_url,
)

#: What the first request takes: the headers of a container, its table if that is short and in front, and mostly the
#: first picture.
HEAD_BYTES = 256 << 10
#: What a read in a new place fetches.
SMALLEST_WINDOW_BYTES = 64 << 10
#: What reads in order fetch ahead: at first, at first where they were announced, and at most. In between it is twice
#: what they have taken, so that at most two thirds of all bytes are fetched in vain where they stop.
FIRST_WINDOW_BYTES, FIRST_ANNOUNCED_BYTES, LARGEST_WINDOW_BYTES = 256 << 10, 2 << 20, 32 << 20
_WINDOW_REQUESTS, _SMALLEST_PIECE_BYTES = 8, 128 << 10


@dataclasses.dataclass(frozen=True)
class RemoteStats:
    """What a source has cost so far."""

    num_requests: int
    """Sent to the server, those that were repeated not counted."""
    bytes_fetched: int
    """That the server sent."""
    bytes_kept: int
    """In memory, or on their way."""


class _Connection:
    """The store, the version and the pieces of an object in one process."""

    def __init__(self, store: Store, num_threads: int, max_bytes: int) -> None:
        self._store = store
        self._version: Version | None = None
        self._lock = threading.Lock()
        self._num_requests = self._bytes_fetched = 0
        self.pieces = Pieces(self._fetch, num_threads=num_threads, max_bytes=max_bytes)

    def version(self) -> Version:
        """The version, by the first request."""
        if self._version is None:
            self.pieces.request(0, HEAD_BYTES)
            self.pieces.view(0)
        assert self._version is not None
        return self._version

    def _fetch(self, start: int, end: int) -> Any:
        data, version = self._store.fetch(start, end, self._version)
        with self._lock:
            self._version = self._version or version
            self._num_requests += 1
            self._bytes_fetched += len(data)
        return data

    def stats(self) -> RemoteStats:
        with self._lock:
            return RemoteStats(self._num_requests, self._bytes_fetched, self.pieces.held_bytes)


class RemoteSource:
    """An object in a store or on a web server, for every ``source`` argument; made by `open_remote()`.

    Readers of one source share what was fetched. A source can be pickled, without what was fetched. In a child made by
    ``fork()`` it opens a store of its own, which a file system of fsspec always can. obstore raises UnsupportedError
    there if the parent has used it.

    Thread safety: safe.
    """

    def __init__(self, name: str, open_store: Callable[[], Store], num_threads: int, max_bytes: int) -> None:
        self.name = name
        self._arguments = (name, open_store, num_threads, max_bytes)
        self._connections: dict[int, _Connection] = {}  # of this process, and of those that it was forked from

    @property
    def size_bytes(self) -> int:
        """The size of the object. The first use makes a request."""
        return self._connected().version().size_bytes

    @property
    def etag(self) -> str | None:
        """What tells this version of the object from others: its ETag, else its time. The first use makes a request."""
        version = self._connected().version()
        return version.tag or version.modified

    @property
    def stats(self) -> RemoteStats:
        """Requests and bytes of this process so far, and what is kept or on its way."""
        return self._connected().stats()

    def open(self) -> RemoteFile:
        """A file object (binary, seekable, read only) at the first byte."""
        return RemoteFile(self._connected(), self.name)

    _open_reader = open

    def open_part(self, start: int, size: int, name: str) -> RemoteFile:
        """A file object of some bytes of the object."""
        return RemoteFile(self._connected(), name, start, size)

    def close(self) -> None:
        """Forgets what was fetched. The source can be used again."""
        connection = self._connections.pop(os.getpid(), None)
        if connection is not None:
            connection.pieces.close()

    def __reduce__(self) -> tuple[Any, ...]:
        return RemoteSource, self._arguments

    def __repr__(self) -> str:
        return f"<tricodec.remote.RemoteSource '{self.name}'>"

    def _connected(self) -> _Connection:
        connection = self._connections.get(os.getpid())
        if connection is None:
            _, open_store, num_threads, max_bytes = self._arguments
            new = _Connection(open_store(), num_threads, max_bytes)
            connection = self._connections.setdefault(os.getpid(), new)  # another thread may have made one
        return connection


class PlacedFile(io.RawIOBase):
    """A file object (binary, seekable, read only) over the bytes from `start` to `end` of what its subclass reads.

    Thread safety: one thread at a time.
    """

    def __init__(self, name: str, start: int, end: int) -> None:
        super().__init__()
        self.name = name
        self._start, self._end = start, end
        self._position = start  # counted as these

    def readinto(self, buffer: Any) -> int:
        """Fills a prefix of a writable buffer; gives its length."""
        view = memoryview(buffer).cast("B")
        data = self.read(len(view)) or b""
        view[: len(data)] = data
        return len(data)

    def seek(self, offset: int, whence: int = os.SEEK_SET) -> int:
        """Goes to an offset from the start, the place or the end, as files do."""
        base = {os.SEEK_SET: self._start, os.SEEK_CUR: self._position, os.SEEK_END: self._end}[whence]
        place = base + offset - self._start
        if place < 0:
            raise ValueError(f"the place {place} is before the start of '{self.name}'")
        self._position = base + offset
        return place

    def readable(self) -> bool:
        """Always True."""
        return True

    seekable = readable


class RemoteFile(PlacedFile):
    """A place in a RemoteSource. Thread safety: one thread at a time."""

    def __init__(self, connection: _Connection, name: str, start: int = 0, size: int | None = None) -> None:
        super().__init__(name, start, connection.version().size_bytes if size is None else start + size)
        self._pieces = connection.pieces
        self._largest_window = min(LARGEST_WINDOW_BYTES, self._pieces.max_bytes // 4)
        self._run_start = 0  # of the reads in order past what was announced
        self._continues_at = -1
        self._first_window = 0  # what they fetch ahead at least; 0 if there are none

    def read(self, size: int = -1) -> bytes:
        """At most `size` bytes, and fewer where the next ones are not here yet; -1 is all to the end."""
        if size is None or size < 0:
            return self.readall()
        before = self._position
        data = bytes(self.lend(size)[:size])
        self._position = self._continues_at = before + len(data)
        return data

    def lend(self, size: int) -> memoryview:
        """The bytes from here on that were fetched together: `size` of them, fewer, or more. The place is then behind
        them. They are not copied."""
        left = self._end - self._position
        size = min(size, left)
        if size <= 0:
            return memoryview(b"")
        goes_on = 0 <= self._position - self._continues_at <= self._first_window  # it may leave out another stream
        if not goes_on:
            self._first_window = 0
        if self._first_window:
            self._read_ahead(size)
        data = self._pieces.view(self._position)
        while data is None:
            if not self._first_window:
                self._run_start, self._first_window = self._position, FIRST_WINDOW_BYTES if goes_on else 0
            self._read_ahead(size)
            data = self._pieces.view(self._position)
        data = data[:left]
        self._position += len(data)
        self._continues_at = self._position
        return data

    def will_read(self, ranges: Iterable[tuple[int, int]]) -> None:
        """Fetches ranges (offset, size in bytes) ahead, several at once, in their order."""
        self._first_window = 0
        places = ((self._start + offset, size) for offset, size in ranges)
        self._pieces.plan((place, min(size, self._end - place)) for place, size in places)

    def will_read_on(self) -> None:
        """Fetches ahead for reads from here on, in order, to the end unless they are stopped."""
        self._run_start = self._continues_at = self._position
        self._first_window = FIRST_ANNOUNCED_BYTES
        self._read_ahead(0)

    def _read_ahead(self, size: int) -> None:
        """The next bytes are on their way while these ones are read."""
        taken = self._position - self._run_start
        ahead = min(max(self._first_window, 2 * taken), LARGEST_WINDOW_BYTES) if self._first_window else 0
        ahead = min(max(ahead, size, SMALLEST_WINDOW_BYTES), self._largest_window)
        piece = max(ahead // _WINDOW_REQUESTS, _SMALLEST_PIECE_BYTES)
        until = self._pieces.covered_until(self._position)
        wanted = min(self._position + ahead, self._end)
        if until < wanted and (until == self._position or wanted == self._end or wanted - until >= piece):
            num_requests = -(-(wanted - until) // piece)
            self._pieces.request(until, wanted, -(-(wanted - until) // num_requests))


def open_remote(
    url: str,
    *,
    filesystem: Any = None,
    store: Any = None,
    cache_bytes: int = 256 << 20,
    allowed_prefixes: Sequence[str] | None = None,
    max_requests: int = 8,
    timeout_s: float = 30.0,
    retries: int = 5,
    **options: Any,
) -> RemoteSource:
    """Make a source of a video in an object store or on a web server. Nothing is fetched before the first read.

        >>> source = tricodec.open_remote("s3://bucket/a.mp4", region="eu-west-1")  # for FrameReader(source)
        >>> source
        <tricodec.remote.RemoteSource 's3://bucket/a.mp4'>

    A read fetches the headers, the table and the groups of pictures that it needs, several at once.

    Args:
        url: ``s3://``, ``gs://``, ``az://``, ``abfss://``, ``https://``, ``http://`` or ``hf://``; or the path in
            `filesystem` or `store`. ``obstore`` reads it if it is installed and knows the scheme, else ``fsspec``.
        filesystem: a file system of fsspec.
        store: a store of obstore.
        cache_bytes: the most that is kept in memory of what was fetched, at least 256 KiB.
        allowed_prefixes: URLs below which the object must be, as ``https://host/videos/``. Then ``fsspec`` reads http
            and https, without options, and follows redirects only below them. None allows every address.
        max_requests: the most requests at once.
        timeout_s: seconds for one request; not of fsspec.
        retries: how often a request that failed is repeated; not of fsspec.
        **options: for ``obstore.store.from_url`` (``region=``, ``endpoint=``, ``skip_signature=``, ...), or for the
            file system of fsspec.
    Returns:
        RemoteSource.
    Raises:
        ValueError: for another scheme.
        RefusedError: for a URL that is below no allowed prefix; at a read, if a redirect leads to one.
        ImportError: at the first read, if no package for it is installed; it names the extra.
        MediaNotFoundError: at the first read, if there is no such object.
        SourceChangedError: at a read, if the object is not the one that the first read met.
        MediaIOError: at a read, if it fails.
    """
    url = os.fspath(url)
    num_threads = _positive(max_requests, "max_requests", int)
    max_bytes = max(_positive(cache_bytes, "cache_bytes", int), 4 * SMALLEST_WINDOW_BYTES)
    timeout_s = _positive(timeout_s, "timeout_s", float)
    open_store: Callable[[], Store]
    if store is None and filesystem is None:
        prefixes = _allowed(url, allowed_prefixes, options)
        open_store = functools.partial(open_url, url, timeout_s, retries, options, prefixes)
    elif store is not None and filesystem is not None:
        raise ValueError("both filesystem and store were given; pass one of them, or a URL alone")
    elif allowed_prefixes is not None:
        raise ValueError("allowed_prefixes are those of a URL; a store or file system reads what it was made for")
    elif options:
        raise ValueError(f"options ({', '.join(sorted(options))}) are those of a URL; a store has its own")
    elif store is not None:
        open_store = functools.partial(ObstoreStore, url, store, url)
    else:
        open_store = functools.partial(_open_filesystem, url, filesystem, os.getpid())
    return RemoteSource(url, open_store, num_threads, max_bytes)


def _allowed(url: str, allowed: Sequence[str] | None, options: Mapping[str, Any]) -> AllowedPrefixes | None:
    """The prefixes of a URL that may be read."""
    prefixes = None if allowed is None else AllowedPrefixes(allowed)
    if prefixes is not None:
        prefixes.expect(url)
        if options and url.lower().startswith("http"):
            raise ValueError(f"options ({', '.join(sorted(options))}) are not accepted with allowed_prefixes and http")
    elif not is_remote_url(url):
        raise ValueError(
            f"'{url}' is no URL of a remote file; accepted are {', '.join(name + '://' for name in SCHEMES)}, or a "
            "path with filesystem= (fsspec) or store= (obstore)"
        )
    return prefixes


def _open_filesystem(path: str, filesystem: Any, process: int) -> Store:
    return FsspecStore(path, filesystem if os.getpid() == process else made_again(filesystem), path)


def _positive(value: Any, name: str, kind: type) -> Any:
    if isinstance(value, bool) or not isinstance(value, (int, float)) or kind(value) != value or value <= 0:
        raise ValueError(f"{name} is {value!r}; it must be a positive {'integer' if kind is int else 'number'}")
    return kind(value)
