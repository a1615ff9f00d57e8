# SPDX-License-Identifier: Apache-2.0
"""A folder that keeps what was fetched, for several processes."""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import itertools
import logging
import os
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from tricodec._remote._stores import Store, Version

#: The most of one file: what a read of a part of it reads, and checks, in all.
MAX_FILE_BYTES = 1 << 20
_DIGEST_BYTES = 16
_KEEPS_AFTER_EVICTION = 0.9
_NUMBERS = itertools.count()
_LOGGER = logging.getLogger("tricodec")


class Range(NamedTuple):
    """Bytes [start, end) of an object."""

    start: int
    end: int


class CacheFolder:
    """Pieces of objects, one a file: its checksum, then its bytes. The pieces that were used last stay.

    A piece is written under another name and renamed, so that a reader sees all of it or none. A piece that is damaged
    is removed. The sum of all sizes is in the file ``size``, which is locked while it changes.

    Thread safety: safe, also for several processes.
    """

    def __init__(self, path: str | os.PathLike[str], max_bytes: int) -> None:
        self.path = Path(path)
        self._max_bytes = max_bytes
        self._lock = threading.Lock()
        self._listed: dict[str, tuple[int, list[Range]]] = {}
        self._warned = False
        self.path.mkdir(mode=0o700, parents=True, exist_ok=True)

    def has(self, name: str) -> bool:
        """True if some version of an object has pieces here."""
        return (self.path / _hash(name)).is_dir()

    def ranges(self, name: str, version: Version) -> list[Range]:
        """What is there of an object, in no order; pieces may overlap."""
        folder = self._folder(name, version)
        try:
            changed = folder.stat().st_mtime_ns
        except OSError:
            return []
        with self._lock:
            known = self._listed.get(str(folder))
        if known is not None and known[0] == changed:
            return known[1]
        found = []
        with contextlib.suppress(OSError), os.scandir(folder) as entries:
            for entry in entries:
                start, _, end = entry.name.partition("-")
                with contextlib.suppress(ValueError):
                    found.append(Range(int(start, 16), int(end, 16)))
        with self._lock:
            self._listed[str(folder)] = (changed, found)
        return found

    def read(self, name: str, version: Version, piece: Range) -> bytes | None:
        """The bytes of a piece; None if it is gone or damaged."""
        path = self._folder(name, version) / f"{piece.start:x}-{piece.end:x}"
        try:
            content = path.read_bytes()
            os.utime(path)
        except OSError:
            return None
        data = content[_DIGEST_BYTES:]
        if len(data) != piece.end - piece.start or content[:_DIGEST_BYTES] != _digest(name, version, piece, data):
            _LOGGER.warning("a damaged piece of '%s' is removed from the cache %s", name, self.path)
            path.unlink(missing_ok=True)
            return None
        return data

    def write(self, name: str, version: Version, start: int, data: Any) -> None:
        """Keeps bytes of an object. A disk that is full or broken is a warning, once."""
        view = memoryview(data)
        try:
            for at in range(0, len(view), MAX_FILE_BYTES):
                part = view[at : at + MAX_FILE_BYTES]
                self._write(name, version, Range(start + at, start + at + len(part)), part)
        except OSError as error:
            if not self._warned:
                _LOGGER.warning("the cache %s cannot be written: %s", self.path, error)
            self._warned = True

    def _write(self, name: str, version: Version, piece: Range, data: memoryview) -> None:
        num_bytes = _DIGEST_BYTES + len(data)
        if num_bytes > self._max_bytes:
            return
        self._make_room(num_bytes)
        folder = self._folder(name, version)
        unfinished = folder / f".{os.getpid()}.{next(_NUMBERS)}"
        for may_repeat in (True, False):
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            try:
                with unfinished.open("wb") as file:
                    file.write(_digest(name, version, piece, data))
                    file.write(data)
                unfinished.replace(folder / f"{piece.start:x}-{piece.end:x}")
            except FileNotFoundError:  # another process removed the folder, which was empty
                if not may_repeat:
                    raise
            else:
                return

    def _make_room(self, num_bytes: int) -> None:
        """Adds to the sum, and removes the pieces that were not used for longest if it gets too large."""
        with self._size_file() as file:
            text = os.pread(file, 32, 0)
            size = int(text) if text.isdigit() else self._max_bytes  # so that the files are counted
            if size + num_bytes > self._max_bytes:
                size = self._evict(int(self._max_bytes * _KEEPS_AFTER_EVICTION) - num_bytes)
            os.pwrite(file, f"{size + num_bytes:032d}".encode(), 0)

    def _evict(self, most: int) -> int:
        """Removes the oldest files until they have `most` bytes, and returns what they have."""
        files = []
        for path in self.path.glob("*/*/*"):
            with contextlib.suppress(OSError):
                facts = path.stat()
                files.append((facts.st_mtime_ns, facts.st_size, path))
        size = sum(file[1] for file in files)
        for _, num_bytes, path in sorted(files):
            if size <= most:
                break
            with contextlib.suppress(OSError):
                path.unlink()
                size -= num_bytes
                path.parent.rmdir()  # fails unless this was the last one
                path.parent.parent.rmdir()
        return size

    @contextlib.contextmanager
    def _size_file(self) -> Iterator[int]:
        descriptor = os.open(self.path / "size", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX)
            yield descriptor
        finally:
            os.close(descriptor)

    def _folder(self, name: str, version: Version) -> Path:
        return self.path / _hash(name) / _hash(repr((version.size_bytes, version.tag, version.modified)))


class CachedStore:
    """A store with a folder that keeps its answers."""

    def __init__(self, name: str, store: Store, folder: CacheFolder) -> None:
        self._name, self._store, self._folder = name, store, folder
        self._lock = threading.Lock()
        self._bytes_found = 0

    @property
    def bytes_found(self) -> int:
        """What came from the folder so far."""
        with self._lock:
            return self._bytes_found

    def fetch(self, start: int, end: int, known: Version | None) -> tuple[Any, Version]:
        """As `Store.fetch`. The first fetch of an object asks the store for its version, always."""
        if known is None:
            if not self._folder.has(self._name):
                data, version = self._store.fetch(start, end, None)
                self._keep(version, start, data)
                return data, version
            _, known = self._store.fetch(0, 1, None)
        if known.tag is None and known.modified is None:
            return self._store.fetch(start, end, known)
        end = min(end, known.size_bytes)
        pieces = [each for each in self._folder.ranges(self._name, known) if each.start < end and each.end > start]
        parts: list[Any] = []
        while start < end:
            data = self._found(known, start, end, pieces)
            if data is None:
                until = min((each.start for each in pieces if each.start > start), default=end)
                data, _ = self._store.fetch(start, until, known)
                self._keep(known, start, data)
                if len(data) == 0:
                    break
            parts.append(data)
            start += len(data)
        return (parts[0] if len(parts) == 1 else b"".join(parts)), known

    def _found(self, version: Version, start: int, end: int, pieces: list[Range]) -> memoryview | None:
        """Bytes from `start` on that a piece has; pieces that cannot be read leave the list."""
        for piece in sorted(pieces, key=lambda each: -each.end):
            if not piece.start <= start < piece.end:
                continue
            data = self._folder.read(self._name, version, piece)
            if data is not None:
                part = memoryview(data)[start - piece.start : end - piece.start]
                with self._lock:
                    self._bytes_found += len(part)
                return part
            pieces.remove(piece)
        return None

    def _keep(self, version: Version, start: int, data: Any) -> None:
        if len(data) and (version.tag is not None or version.modified is not None):
            self._folder.write(self._name, version, start, data)


def _hash(text: str) -> str:
    return hashlib.blake2b(text.encode(), digest_size=_DIGEST_BYTES).hexdigest()


def _digest(name: str, version: Version, piece: Range, data: Any) -> bytes:
    about = repr((name, version.size_bytes, version.tag, version.modified, piece)).encode()
    digest = hashlib.blake2b(about, digest_size=_DIGEST_BYTES)
    digest.update(data)
    return digest.digest()
