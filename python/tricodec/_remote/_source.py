# SPDX-License-Identifier: Apache-2.0
"""`remote()`, and the file objects that a RemoteSource opens."""

from __future__ import annotations

import dataclasses
import io
import os
import threading
from collections.abc import Iterable, Sequence
from typing import Any

from tricodec._remote._cache import CachedStore, CacheFolder
from tricodec._remote._pieces import Pieces
from tricodec._remote._prefixes import AllowedPrefixes
from tricodec._remote._stores import Store, Version, make_store

#: What the first request takes: the headers of a container, its table if that is short and in front, and mostly the
#: first picture.
HEAD_BYTES = 256 << 10
#: What a read in a new place fetches.
SMALLEST_WINDOW_BYTES = 64 << 10
#: What reads in order fetch ahead: at first, at first where they were announced, and at most. In between it is twice
#: what they have taken, so that at most two thirds of all bytes are fetched in vain where they stop.
FIRST_WINDOW_BYTES, FIRST_ANNOUNCED_BYTES, LARGEST_WINDOW_BYTES = 256 << 10, 2 << 20, 32 << 20
_WINDOW_REQUESTS, _SMALLEST_PIECE_BYTES = 8, 128 << 10
#: What is kept in memory, or in a folder; and in memory beside a folder.
MEMORY_BYTES, FOLDER_BYTES, MEMORY_BESIDE_FOLDER_BYTES = 256 << 20, 10 << 30, 64 << 20


@dataclasses.dataclass(frozen=True)
class RemoteStats:
    """What a source has cost so far.

    Attributes:
        num_requests: sent to the server, those that were repeated not counted.
        bytes_fetched: that the server sent.
        bytes_kept: in memory, or on their way.
        bytes_from_folder: that came from the folder `cache` instead of the server.
    """

    num_requests: int
    bytes_fetched: int
    bytes_kept: int
    bytes_from_folder: int = 0


class _CountingStore:
    """A store, and what it was asked for. Thread safety: safe."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._lock = threading.Lock()
        self._counts = (0, 0)

    def fetch(self, start: int, end: int, known: Version | None) -> tuple[Any, Version]:
        data, version = self._store.fetch(start, end, known)
        with self._lock:
            num_requests, num_bytes = self._counts
            self._counts = num_requests + 1, num_bytes + len(data)
        return data, version

    @property
    def counts(self) -> tuple[int, int]:
        """Requests, and bytes."""
        with self._lock:
            return self._counts


class _Connection:
    """The store, the version and the pieces of an object in one process."""

    def __init__(
        self, identity: str, store: Store, num_threads: int, max_bytes: int, folder: CacheFolder | None
    ) -> None:
        self.pid = os.getpid()
        self._counted = _CountingStore(store)
        self._cached = None if folder is None else CachedStore(identity, self._counted, folder)
        self._version: Version | None = None
        self._lock = threading.Lock()
        self.pieces = Pieces(self.fetch, num_threads=num_threads, max_bytes=max_bytes)

    def version(self) -> Version:
        """The version, by the first request."""
        with self._lock:
            known = self._version
        if known is None:
            self.pieces.request(0, HEAD_BYTES)
            self.pieces.view(0)
        with self._lock:
            assert self._version is not None
            return self._version

    def fetch(self, start: int, end: int) -> Any:
        with self._lock:
            known = self._version
        data, version = (self._cached or self._counted).fetch(start, end, known)
        with self._lock:
            self._version = self._version or version
        return data

    def stats(self) -> RemoteStats:
        found = 0 if self._cached is None else self._cached.bytes_found
        return RemoteStats(*self._counted.counts, self.pieces.held_bytes, found)


class RemoteSource:
    """An object in a store or on a web server, for every ``source`` argument; made by `remote()`.

    Readers of one source share what was fetched. A source can be pickled, without what was fetched. In a child made by
    ``fork()`` a file system of fsspec opens connections of its own; obstore raises UnsupportedError there if the parent
    has used it.

    Thread safety: safe.
    """

    def __init__(self, url: str, options: dict[str, Any]) -> None:
        self.name = url
        self._options = options
        self._lock = threading.Lock()
        self._connection: _Connection | None = None
        settings = dict(options)
        self._folder = settings.pop("cache")
        default = MEMORY_BYTES if self._folder is None else FOLDER_BYTES
        given = settings.pop("cache_bytes")
        most = default if given is None else _positive(given, "cache_bytes", int)
        self._folder_bytes = most
        self._identity = _identity(url, settings)
        in_memory = most if self._folder is None else min(most, MEMORY_BESIDE_FOLDER_BYTES)
        self._max_bytes = max(in_memory, 4 * SMALLEST_WINDOW_BYTES)
        prefixes = settings.pop("allowed_prefixes")
        self._num_threads = _positive(settings.pop("max_requests"), "max_requests", int)
        self._make_store = make_store(
            url,
            settings.pop("filesystem"),
            settings.pop("store"),
            _positive(settings.pop("timeout_s"), "timeout_s", float),
            settings.pop("retries"),
            settings.pop("store_options"),
            None if prefixes is None else AllowedPrefixes(prefixes),
        )

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

    def serve(self) -> str:
        """Lets a process beside this one read the source for threads that must not wait for Python's lock, as DALI's.

        The first such source starts the process, which ends with this one.

        Returns:
            The key by which operators of DALI open the source, in this process and in children that it forks.

        Raises:
            TypeError, pickle.PicklingError, UnsupportedError: its file system or store cannot be pickled.
            MediaIOError, OSError: the process does not start.
        """
        from tricodec._remote._serving import SERVER

        return SERVER.key_of(self)

    def close(self) -> None:
        """Forgets what was fetched, and ends the threads. The source can be used again."""
        with self._lock:
            connection, self._connection = self._connection, None
        if connection is not None and connection.pid == os.getpid():
            connection.pieces.close()

    def __reduce__(self) -> tuple[Any, ...]:
        return RemoteSource, (self.name, self._options)

    def __repr__(self) -> str:
        return f"<tricodec.RemoteSource '{self.name}'>"

    def _connected(self) -> _Connection:
        if self._connection is None or self._connection.pid != os.getpid():
            # After fork() the threads, sockets and locks of the parent's connection cannot be used here.
            if self._connection is not None:
                self._lock = threading.Lock()
            with self._lock:
                if self._connection is None or self._connection.pid != os.getpid():
                    folder = None if self._folder is None else CacheFolder(self._folder, self._folder_bytes)
                    store = self._make_store()
                    self._connection = _Connection(self._identity, store, self._num_threads, self._max_bytes, folder)
        return self._connection


class PlacedFile(io.RawIOBase):
    """A file object (binary, seekable, read only) with a size that is known. Its subclasses have `read`.

    Thread safety: one thread at a time.
    """

    def __init__(self, name: str, size_bytes: int) -> None:
        super().__init__()
        self.name = name
        self._size = size_bytes
        self._position = 0

    def readinto(self, buffer: Any) -> int:
        """Fills a prefix of a writable buffer; gives its length."""
        view = memoryview(buffer).cast("B")
        data = self.read(len(view)) or b""
        view[: len(data)] = data
        return len(data)

    def readall(self) -> bytes:
        """All bytes from here on."""
        parts = []
        while part := self.read(max(self._size - self._position, 0)):
            parts.append(part)
        return b"".join(parts)

    def seek(self, offset: int, whence: int = os.SEEK_SET) -> int:
        """Goes to an offset from the start, the place or the end, as files do."""
        base = {os.SEEK_SET: 0, os.SEEK_CUR: self._position, os.SEEK_END: self._size}[whence]
        if base + offset < 0:
            raise ValueError(f"the place {base + offset} is before the start of '{self.name}'")
        self._position = base + offset
        return self._position

    def tell(self) -> int:
        """The place of the next read."""
        return self._position

    def readable(self) -> bool:
        """Always True."""
        return True

    def seekable(self) -> bool:
        """Always True."""
        return True


class RemoteFile(PlacedFile):
    """A place in a RemoteSource. Thread safety: one thread at a time."""

    def __init__(self, connection: _Connection, name: str) -> None:
        super().__init__(name, connection.version().size_bytes)
        self._connection = connection
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
        size = min(size, self._size - self._position)
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
        self._position += len(data)
        self._continues_at = self._position
        return data

    def will_read(self, ranges: Iterable[tuple[int, int]]) -> None:
        """Fetches ranges (offset, size in bytes) ahead, several at once, in their order."""
        self._first_window = 0
        self._pieces.plan((offset, min(size, self._size - offset)) for offset, size in ranges)

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
        wanted = min(self._position + ahead, self._size)
        if until < wanted and (until == self._position or wanted == self._size or wanted - until >= piece):
            num_requests = -(-(wanted - until) // piece)
            self._pieces.request(until, wanted, -(-(wanted - until) // num_requests))


def remote(
    url: str,
    *,
    filesystem: Any = None,
    store: Any = None,
    cache: str | os.PathLike[str] | None = None,
    cache_bytes: int | None = None,
    allowed_prefixes: Sequence[str] | None = None,
    max_requests: int = 8,
    timeout_s: float = 30.0,
    retries: int = 5,
    **options: Any,
) -> RemoteSource:
    """A video in an object store or on a web server, as a source.

    Only the headers, the table and the groups of pictures that a read needs are fetched, several at once. Requests name
    the version of the object that the first one met.

    Args:
        url: ``s3://``, ``gs://``, ``az://``, ``abfss://``, ``https://``, ``http://`` or ``hf://``; or the path in
            `filesystem` or `store`. ``obstore`` reads it if it is installed and knows the scheme, else ``fsspec``.
        filesystem: a file system of fsspec.
        store: a store of obstore.
        cache: a folder that keeps what was fetched, for later programs and for other processes at the same time. What
            was used last stays. Each source asks the server once whether the object is still the same. Readers of the
            folder can read the objects.
        cache_bytes: the most that is kept of what was fetched: in memory, by default 256 MiB, at least 256 KiB; or in
            `cache`, all objects together, by default 10 GiB.
        allowed_prefixes: URLs below which the object must be, as ``https://host/videos/``. Redirects are followed only
            below them. Then http and https take no options. None allows every address.
        max_requests: the most requests at once.
        timeout_s: seconds for one request; not of fsspec.
        retries: how often a request that failed is repeated; not of fsspec.
        **options: for ``obstore.store.from_url`` (``region=``, ``endpoint=``, ``skip_signature=``, ...), or for the
            file system of fsspec.
    Returns:
        RemoteSource.
    Raises:
        ValueError: for another scheme.
        ImportError: if no package for it is installed; it names the extra.
        RefusedError: for a URL that is below no allowed prefix; at a read, if a redirect leads to one.
        MediaNotFoundError: at the first read, if there is no such object.
        SourceChangedError: at a read, if the object is not the one that the first read met.
        MediaIOError: at a read, if it fails.
    """
    return RemoteSource(
        os.fspath(url),
        {
            "filesystem": filesystem,
            "store": store,
            "cache": None if cache is None else os.fspath(cache),
            "cache_bytes": cache_bytes,
            "allowed_prefixes": allowed_prefixes,
            "max_requests": max_requests,
            "timeout_s": timeout_s,
            "retries": retries,
            "store_options": options,
        },
    )


def _identity(url: str, settings: dict[str, Any]) -> str:
    """What tells an object from others with the same path in other stores."""
    options, store, filesystem = settings["store_options"], settings["store"], settings["filesystem"]
    where = [str(options[name]) for name in ("endpoint", "endpoint_url", "base_url", "account_name") if name in options]
    where += [] if store is None else [repr(store)]
    where += [] if filesystem is None else [type(filesystem).__name__, str(getattr(filesystem, "_fs_token", ""))]
    return " ".join([url, *where])


def _positive(value: Any, name: str, kind: type) -> Any:
    if isinstance(value, bool) or not isinstance(value, (int, float)) or kind(value) != value or value <= 0:
        raise ValueError(f"{name} is {value!r}; it must be a positive {'integer' if kind is int else 'number'}")
    return kind(value)
