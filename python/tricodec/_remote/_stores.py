# SPDX-License-Identifier: Apache-2.0
"""Where the bytes of an object come from: obstore, or a file system of fsspec."""

from __future__ import annotations

import dataclasses
import json
import os
import re
import threading
from collections.abc import Callable, Iterator, Mapping
from datetime import timedelta
from typing import Any, Protocol
from urllib.parse import urlsplit

from tricodec._remote._prefixes import AllowedPrefixes
from tricodec.errors import MediaIOError, MediaNotFoundError, SourceChangedError, UnsupportedError

#: Schemes that obstore reads. The other ones go to fsspec.
OBSTORE_SCHEMES = ("s3", "s3a", "gs", "az", "azure", "abfs", "abfss", "http", "https")
#: Schemes that remote() takes. fsspec has more of them, some of which run programs or open local files.
SCHEMES = (*OBSTORE_SCHEMES, "gcs", "hf")
EXTRA = "pip install 'tricodec[remote]'"

#: The process that used obstore first. Its threads serve all stores, and do not exist in a child made by fork().
_OBSTORE_PROCESS: list[int] = []
_STORES: dict[str, Any] = {}  # the one that was used last is the last one
_STORES_LOCK = threading.Lock()
_MOST_STORES = 16
_ENVIRONMENT = re.compile("(AWS|GOOGLE|AZURE|ALL_PROXY|HTTPS?_PROXY|NO_PROXY|SSL_CERT)", re.IGNORECASE)


@dataclasses.dataclass(frozen=True)
class Version:
    """What tells one version of an object from another."""

    size_bytes: int
    tag: str | None
    modified: str | None

    def describe(self) -> str:
        """For messages."""
        return f"{self.size_bytes} bytes, {self.tag or self.modified or 'without an ETag'}"


class Store(Protocol):
    """Reads ranges of one object. Thread safety: safe."""

    def fetch(self, start: int, end: int, known: Version | None) -> tuple[Any, Version]:
        """The bytes [start, end), fewer at the end of the object, and their version.

        Raises:
            SourceChangedError: if the object is not `known`.
            MediaNotFoundError, MediaIOError: if it cannot be read.
        """
        ...


def expect_same(name: str, known: Version | None, found: Version) -> None:
    """Raises SourceChangedError if two versions differ in a fact that both have."""
    if known is None:
        return
    same = known.size_bytes == found.size_bytes
    for one, other in ((known.tag, found.tag), (known.modified, found.modified)):
        same = same and (one is None or other is None or one == other)
    if not same:
        raise SourceChangedError(
            f"'{name}' changed while it was read: it was {known.describe()}, and is {found.describe()}; "
            "open it again for its new version"
        )


class ObstoreStore:
    """An object in a store of obstore, which repeats requests that fail and bounds their time."""

    def __init__(self, name: str, store: Any, path: str) -> None:
        if not _OBSTORE_PROCESS:
            _OBSTORE_PROCESS.append(os.getpid())
        if os.getpid() not in _OBSTORE_PROCESS:
            raise UnsupportedError(
                f"obstore was used before this process was forked, and cannot read '{name}' here; start worker "
                "processes by spawn or forkserver, use the source in the workers alone, or pass filesystem= (fsspec)"
            )
        self._name, self._store, self._path = name, store, path

    def fetch(self, start: int, end: int, known: Version | None) -> tuple[Any, Version]:
        """As `Store.fetch`."""
        import obstore
        from obstore import exceptions

        options: Any = {"range": (start, end)}
        if known is not None and known.tag is not None and not known.tag.startswith("W/"):
            options["if_match"] = known.tag
        try:
            answer = obstore.get(self._store, self._path, options=options)
            version = _version_of(answer.meta)
            expect_same(self._name, known, version)
            data = memoryview(answer.bytes())
        except FileNotFoundError as error:
            raise MediaNotFoundError(f"'{self._name}' does not exist: {_short(error)}") from error
        except exceptions.PreconditionError as error:
            expect_same(self._name, known, _version_of(obstore.head(self._store, self._path)))
            raise SourceChangedError(f"'{self._name}' changed while it was read; open it again") from error
        except exceptions.NotSupportedError as error:
            raise MediaIOError(
                f"the server of '{self._name}' does not give ranges of bytes; fetch the file, and pass its path"
            ) from error
        except exceptions.BaseError as error:
            raise MediaIOError(f"reading bytes {start} to {end} of '{self._name}' failed: {_short(error)}") from error
        return data, version

    def listed(self) -> Iterator[list[tuple[str, Version]]]:
        """Names and versions of the objects below the path, some hundred at a time."""
        import obstore

        for chunk in obstore.list(self._store, prefix=self._path or None):
            yield [(meta["path"], _version_of(meta)) for meta in chunk]


class FsspecStore:
    """A file of an fsspec file system. Such systems compare no versions, so each read also asks for the version."""

    def __init__(self, name: str, filesystem: Any, path: str) -> None:
        self._name, self._filesystem, self._path = name, filesystem, path
        # HfFileSystem reads a range from a file that reads 5 MiB ahead.
        self._options = {"cache_type": "none"} if "hf" in filesystem.protocol else {}

    def fetch(self, start: int, end: int, known: Version | None) -> tuple[Any, Version]:
        """As `Store.fetch`."""
        try:
            if known is None:
                known = self._version()
            end = min(end, known.size_bytes)
            data = self._filesystem.cat_file(self._path, start=start, end=end, **self._options) if start < end else b""
            expect_same(self._name, known, self._version())
        except FileNotFoundError as error:
            raise MediaNotFoundError(f"'{self._name}' does not exist: {_short(error)}") from error
        except MediaIOError:
            raise
        except Exception as error:  # every file system has classes of its own
            raise MediaIOError(f"reading bytes {start} to {end} of '{self._name}' failed: {_short(error)}") from error
        if len(data) != end - start:
            raise MediaIOError(
                f"bytes {start} to {end} of '{self._name}' were asked for, and {len(data)} came; the server may not "
                "give ranges of bytes: fetch the file, and pass its path"
            )
        return memoryview(data), known

    def _version(self) -> Version:
        self._filesystem.invalidate_cache(self._filesystem._parent(self._path))
        facts = self._filesystem.info(self._path)
        if facts.get("size") is None:
            raise MediaIOError(f"the server of '{self._name}' does not state its size; fetch it, and pass its path")
        return version_of_facts(facts)

    def listed(self) -> dict[str, dict[str, Any]]:
        """The files below the path, and their facts."""
        found: dict[str, dict[str, Any]] = self._filesystem.find(self._path, detail=True)
        return found


def version_of_facts(facts: Mapping[str, Any]) -> Version:
    """The version that a file system of fsspec states, each with names of its own."""
    known = {str(key).lower(): value for key, value in facts.items()}
    tag = next(
        (known[key] for key in ("etag", "sha256", "md5hash", "commit_hash", "blob_id", "ino") if known.get(key)), None
    )
    modified = next((known[key] for key in ("last_modified", "lastmodified", "mtime") if known.get(key)), None)
    return Version(int(known["size"]), None if tag is None else str(tag), None if modified is None else str(modified))


def is_remote_url(text: str) -> bool:
    """True for a URL with a scheme that `remote` takes."""
    scheme, separator, _ = text.partition("://")
    return bool(separator) and scheme.lower() in SCHEMES


def make_store(
    url: str,
    filesystem: Any,
    store: Any,
    timeout_s: float,
    retries: int,
    options: dict[str, Any],
    prefixes: AllowedPrefixes | None = None,
) -> Callable[[], Store]:
    """A function that opens the store of an object, in this process or in a child."""
    if prefixes is not None:
        if filesystem is not None or store is not None:
            raise ValueError("allowed_prefixes are those of a URL; a store or file system reads what it was made for")
        prefixes.expect(url)
    if store is not None and filesystem is not None:
        raise ValueError("both filesystem and store were given; pass one of them, or a URL alone")
    if (store is not None or filesystem is not None) and options:
        raise ValueError(f"options ({', '.join(sorted(options))}) are those of a URL; a store has its own")
    if store is not None:
        return lambda: ObstoreStore(url, store, url)
    if filesystem is not None:
        process = os.getpid()
        return lambda: FsspecStore(url, filesystem if os.getpid() == process else _made_again(filesystem), url)
    scheme = urlsplit(url).scheme.lower()
    if not is_remote_url(url):
        raise ValueError(
            f"'{url}' is no URL of a remote file; accepted are {', '.join(name + '://' for name in SCHEMES)}, or a "
            "path with filesystem= (fsspec) or store= (obstore)"
        )
    if scheme in ("http", "https") and prefixes is not None:
        if options:
            raise ValueError(f"options ({', '.join(sorted(options))}) are not accepted with allowed_prefixes and http")
        return lambda: _open_http(url, prefixes, timeout_s, retries)
    if scheme in OBSTORE_SCHEMES and _has("obstore"):
        return lambda: _open_obstore(url, scheme, timeout_s, retries, options)
    if not _has("fsspec"):
        raise ImportError(f"'{url}' needs obstore or fsspec: {EXTRA}")
    return lambda: _open_fsspec(url, options)


def _open_http(url: str, prefixes: AllowedPrefixes, timeout_s: float, retries: int) -> Store:
    from tricodec._remote._http import HttpStore  # it imports this module

    return HttpStore(url, prefixes, timeout_s, retries)


def _open_obstore(url: str, scheme: str, timeout_s: float, retries: int, options: dict[str, Any]) -> Store:
    parts = urlsplit(url)
    client = {"timeout": timedelta(seconds=timeout_s), **options.get("client_options", {})}
    if scheme == "http":
        client.setdefault("allow_http", True)
    settings = {
        "retry_config": {"max_retries": retries, "retry_timeout": timedelta(seconds=(retries + 1) * timeout_s)},
        **options,
        "client_options": client,
    }
    path = parts.path.lstrip("/")
    if scheme in ("http", "https") and parts.query:
        path += f"?{parts.query}"
    return ObstoreStore(url, _opened(f"{parts.scheme}://{parts.netloc}", settings), path)


def _opened(place: str, settings: dict[str, Any]) -> Any:
    """The store of a place. Objects of one place share it, about 10 ms of work, and its connections, some round trips
    each, as long as the settings and what it takes from the environment are the same."""
    from obstore.store import from_url

    environment = sorted(item for item in os.environ.items() if _ENVIRONMENT.match(item[0]))
    try:
        key = json.dumps((place, settings, environment), sort_keys=True, default=timedelta.total_seconds)
    except TypeError:  # a function may give other credentials each time
        return from_url(place, **settings)
    with _STORES_LOCK:
        store = _STORES[key] = _STORES.pop(key, None) or from_url(place, **settings)
        if len(_STORES) > _MOST_STORES:
            del _STORES[next(iter(_STORES))]
    return store


def _open_fsspec(url: str, options: dict[str, Any]) -> Store:
    from fsspec.core import url_to_fs

    try:
        # Systems keep threads and connections, which a child of fork() must not share.
        filesystem, path = url_to_fs(url, skip_instance_cache=True, **options)
    except (ImportError, ValueError) as error:
        raise ImportError(f"fsspec cannot open '{url}': {error}; {EXTRA}") from error
    return FsspecStore(url, filesystem, path)


def _made_again(filesystem: Any) -> Any:
    """The same file system for a child made by fork(), where the parent's threads do not exist."""
    return type(filesystem)(*filesystem.storage_args, **{**filesystem.storage_options, "skip_instance_cache": True})


def _has(package: str) -> bool:
    from importlib.util import find_spec

    return find_spec(package) is not None


def _version_of(meta: Any) -> Version:
    modified = meta.get("last_modified")
    return Version(int(meta["size"]), meta.get("e_tag"), None if modified is None else str(modified))


def _short(error: BaseException) -> str:
    """The first lines of an error: obstore's repeat the whole request."""
    text = str(error).strip().split("\n\nDebug source")[0]
    if "http://" in text and text.endswith("builder error"):  # obstore's words for a scheme that it may not use
        text += '; an endpoint without encryption (http) needs client_options={"allow_http": True}'
    return text if len(text) <= 400 else text[:400] + " ..."
