# SPDX-License-Identifier: Apache-2.0
"""Where the bytes of an object come from: obstore, or a file system of fsspec; and which URLs may be read."""

from __future__ import annotations

import dataclasses
import functools
import json
import os
from collections.abc import Iterable, Iterator, Mapping
from datetime import timedelta
from importlib.util import find_spec
from typing import Any, NamedTuple
from urllib.parse import SplitResult, unquote, urljoin, urlsplit

from tricodec.errors import MediaIOError, MediaNotFoundError, RefusedError, SourceChangedError, UnsupportedError
from tricodec.show import needed

#: Schemes that obstore reads. The other ones go to fsspec.
OBSTORE_SCHEMES = ("s3", "s3a", "gs", "az", "azure", "abfs", "abfss", "http", "https")
#: Schemes that open_remote() takes. fsspec has more of them, some of which run programs or open local files.
SCHEMES = (*OBSTORE_SCHEMES, "gcs", "hf")
#: Of schemes with prefixes. hf:// leads to addresses that the hub chooses.
CHECKED_SCHEMES = ("http", "https", "s3", "s3a", "gs", "gcs", "az", "azure", "abfs", "abfss")
_PORTS = {"http": 80, "https": 443}
EXTRA = "pip install 'tricodec[remote]'"
NO_RANGES = "does not give ranges of bytes; fetch the file, and pass its path"

#: The process that used obstore first. Its threads serve all stores, and do not exist in a child made by fork(), where
#: a read would wait forever.
_OBSTORE_PROCESS: list[int] = []
_NOT_FOUND, _PRECONDITION_FAILED = (404, 410), 412


class _Place(NamedTuple):
    scheme: str
    host: str
    port: int | None
    path: str


class AllowedPrefixes:
    """The prefixes below which URLs may be read. Thread safety: safe.

    Prefixes are URLs with a host or a bucket, as ``https://host/videos/``. A path counts up to a slash:
    ``https://host/a`` allows ``https://host/a/x``, and not ``https://host/ab``.
    """

    def __init__(self, prefixes: Iterable[str]) -> None:
        self._texts = tuple([prefixes] if isinstance(prefixes, str) else prefixes)
        self._places = []
        for text in self._texts:
            try:
                place = _place_of(text)
            except ValueError as error:
                raise ValueError(f"the prefix '{text}' of URLs is not accepted: {error}") from error
            if "?" in text:
                raise ValueError(f"the prefix '{text}' of URLs is not accepted: it has a query")
            self._places.append(place)

    def expect(self, url: str, what: str = "") -> None:
        """Raises RefusedError for a URL that is below none of the prefixes. `what` begins the message."""
        try:
            place = _place_of(url)
        except ValueError as error:
            raise RefusedError(f"{what}'{url}' is not read: {error}") from error
        if not any(_is_below(place, prefix) for prefix in self._places):
            allowed = ", ".join(self._texts) or "none"
            raise RefusedError(f"{what}'{url}' is not read, because it is below no allowed prefix; allowed: {allowed}")


@dataclasses.dataclass(frozen=True)
class Version:
    """What tells one version of an object from another."""

    size_bytes: int
    tag: str | None
    modified: str | None

    def describe(self) -> str:
        """For messages."""
        return f"{self.size_bytes} bytes, {self.tag or self.modified or 'without an ETag'}"

    def strong_tag(self) -> str | None:
        """The ETag that a server compares in If-Match; None if it has no such tag."""
        return None if self.tag is None or self.tag.startswith("W/") else self.tag


class ObstoreStore:
    """An object in a store of obstore, which repeats requests that fail and bounds their time. Thread safety: safe."""

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
        """The bytes [start, end), fewer at the end of the object, and their version, which must be `known`."""
        import obstore
        from obstore import exceptions

        tag = None if known is None else known.strong_tag()
        options: Any = {"range": (start, end)} if tag is None else {"range": (start, end), "if_match": tag}
        try:
            answer = obstore.get(self._store, self._path, options=options)
            version = version_of(answer.meta)
            _expect_same(self._name, known, version)
            return memoryview(answer.bytes()), version
        except FileNotFoundError as error:
            raise MediaNotFoundError(f"'{self._name}' does not exist: {short(error)}") from error
        except exceptions.PreconditionError as error:
            _expect_same(self._name, known, version_of(obstore.head(self._store, self._path)))
            raise SourceChangedError(f"'{self._name}' changed while it was read; open it again") from error
        except exceptions.NotSupportedError as error:
            raise MediaIOError(f"the server of '{self._name}' {NO_RANGES}") from error
        except exceptions.BaseError as error:
            raise MediaIOError(
                f"reading bytes {start} to {end} of '{self._name}' failed: {short(error)}{_hint(self._store)}"
            ) from error

    def listed(self) -> Iterator[tuple[str, Mapping[str, Any]]]:
        """Paths and facts of the objects below the path."""
        import obstore

        for chunk in obstore.list(self._store, prefix=self._path or None):
            yield from ((facts["path"], facts) for facts in chunk)


class FsspecStore:
    """A file of an fsspec file system. Thread safety: safe.

    Web servers compare the version themselves. Other systems compare none, so each read also asks for the version.
    """

    def __init__(self, name: str, filesystem: Any, path: str) -> None:
        self._name, self._filesystem, self._path = name, filesystem, path
        self._is_web = "http" in filesystem.protocol
        # HfFileSystem reads a range from a file that reads 5 MiB ahead.
        self._options: dict[str, Any] = {"cache_type": "none"} if "hf" in filesystem.protocol else {}

    def fetch(self, start: int, end: int, known: Version | None) -> tuple[Any, Version]:
        """As `ObstoreStore.fetch`."""
        try:
            if known is None:
                known = self._version()
            end = min(end, known.size_bytes)
            tag = known.strong_tag() if self._is_web else None
            options = self._options if tag is None else {"headers": {"If-Match": tag}}
            data = self._filesystem.cat_file(self._path, start=start, end=end, **options) if start < end else b""
            if tag is None:
                _expect_same(self._name, known, self._version())
        except Exception as error:  # every file system has classes of its own
            raise self._error_of(error, f"reading bytes {start} to {end} of '{self._name}' failed: ") from error
        if len(data) != end - start:
            raise MediaIOError(
                f"bytes {start} to {end} of '{self._name}' were asked for, and {len(data)} came: the server {NO_RANGES}"
            )
        return memoryview(data), known

    def listed(self) -> Iterator[tuple[str, Mapping[str, Any]]]:
        """Paths and facts of the files below the path."""
        yield from self._filesystem.find(self._path, detail=True).items()

    def _error_of(self, error: BaseException, doing: str) -> BaseException:
        """What to raise for an error of the file system."""
        if isinstance(error, FileNotFoundError) and self._is_web and error.__cause__ is not None:
            error = error.__cause__  # of a web server, info() makes every error one of this class
        if isinstance(error, (MediaIOError, RefusedError)):
            return error
        status = getattr(error, "status", None)
        if isinstance(error, FileNotFoundError) or status in _NOT_FOUND:
            return MediaNotFoundError(f"'{self._name}' does not exist: {short(error)}")
        if status == _PRECONDITION_FAILED:
            return SourceChangedError(f"'{self._name}' changed while it was read; open it again")
        return MediaIOError(doing + short(error))

    def _version(self) -> Version:
        self._filesystem.invalidate_cache(self._filesystem._parent(self._path))
        facts = self._filesystem.info(self._path)
        if facts.get("size") is None:
            raise MediaIOError(f"the server of '{self._name}' does not state its size; fetch it, and pass its path")
        return version_of(facts)


Store = ObstoreStore | FsspecStore


def version_of(facts: Mapping[str, Any]) -> Version:
    """The version that obstore or a file system of fsspec states, each with names of its own."""
    known = {str(key).lower(): value for key, value in facts.items()}
    tags = ("e_tag", "etag", "sha256", "md5hash", "commit_hash", "blob_id", "ino")
    tag = next((known[key] for key in tags if known.get(key)), None)
    modified = next((known[key] for key in ("last_modified", "last-modified", "mtime") if known.get(key)), None)
    return Version(int(known["size"]), None if tag is None else str(tag), None if modified is None else str(modified))


def is_remote_url(text: str) -> bool:
    """True for a URL with a scheme that `open_remote` takes."""
    scheme, separator, _ = text.partition("://")
    return bool(separator) and scheme.lower() in SCHEMES


def open_url(
    url: str, timeout_s: float, retries: int, options: Mapping[str, Any], prefixes: AllowedPrefixes | None = None
) -> Store:
    """The store of a URL."""
    scheme = urlsplit(url).scheme.lower()
    is_web = scheme in ("http", "https")
    if is_web and prefixes is not None:
        return _open_fsspec(url, {"client_kwargs": _client_within(prefixes, url, timeout_s)})
    if scheme not in OBSTORE_SCHEMES or find_spec("obstore") is None:
        return _open_fsspec(url, options)
    parts = urlsplit(url)
    path = parts.path.lstrip("/")
    if is_web and parts.query:
        path += f"?{parts.query}"
    place = f"{parts.scheme}://{parts.netloc}"
    environment = tuple(sorted(os.environ.items()))  # it has credentials
    try:
        store = _shared_store(place, timeout_s, retries, json.dumps(options, sort_keys=True), environment)
    except TypeError:  # some option is not plain data, such as a function that gives credentials
        store = _new_store(place, timeout_s, retries, options)
    return ObstoreStore(url, store, path)


def list_objects(
    url: str, *, filesystem: Any = None, timeout_s: float = 30.0, retries: int = 5, **options: Any
) -> Iterator[tuple[str, Version]]:
    """The URLs and versions of the objects below a URL, in the store's order. The arguments are `open_remote`'s."""
    parts = urlsplit(url)
    if parts.scheme in ("http", "https") and filesystem is None:
        raise MediaIOError(f"web servers do not list what is below '{url}'; give the URL of each file")
    options = {name: value for name, value in options.items() if name not in ("cache_bytes", "max_requests")}
    store = FsspecStore(url, filesystem, url) if filesystem else open_url(url, timeout_s, retries, options)
    try:
        for path, facts in store.listed():
            place = f"{parts.netloc}/{path}" if isinstance(store, ObstoreStore) else path
            yield place if "://" in place else f"{parts.scheme}://{place}", version_of(facts)
    except MediaIOError:
        raise
    except Exception as error:  # every store has classes of its own
        raise MediaIOError(f"listing '{url}' failed: {short(error)}") from error


def made_again(filesystem: Any) -> Any:
    """The same file system of fsspec for another process, in which the threads of the first one do not exist."""
    return type(filesystem)(*filesystem.storage_args, **{**filesystem.storage_options, "skip_instance_cache": True})


def short(error: BaseException) -> str:
    """The first lines of an error: obstore's repeat the whole request."""
    text = str(error).strip().split("\n\nDebug source")[0] or type(error).__name__
    return text if len(text) <= 400 else text[:400] + " ..."


@functools.lru_cache(maxsize=16)
def _shared_store(place: str, timeout_s: float, retries: int, options: str, _environment: Any) -> Any:
    """Objects of one place share a store, about 10 ms of work, and its connections, some round trips each."""
    return _new_store(place, timeout_s, retries, json.loads(options))


def _new_store(place: str, timeout_s: float, retries: int, options: Mapping[str, Any]) -> Any:
    from obstore.store import from_url

    client = {"timeout": timedelta(seconds=timeout_s), **options.get("client_options", {})}
    if place.startswith("http:"):
        client.setdefault("allow_http", True)
    retry = {"max_retries": retries, "retry_timeout": timedelta(seconds=(retries + 1) * timeout_s)}
    return from_url(place, **{"retry_config": retry, **options, "client_options": client})


def _open_fsspec(url: str, options: Mapping[str, Any]) -> Store:
    if find_spec("fsspec") is None:
        raise ImportError(f"'{url}' needs obstore or fsspec: {EXTRA}")
    from fsspec.core import url_to_fs

    try:
        # Systems keep threads and connections, which a child of fork() must not share.
        filesystem, path = url_to_fs(url, skip_instance_cache=True, **options)
    except (ImportError, ValueError) as error:
        raise ImportError(f"fsspec cannot open '{url}': {error}; {EXTRA}") from error
    return FsspecStore(url, filesystem, path)


def _client_within(prefixes: AllowedPrefixes, url: str, timeout_s: float) -> dict[str, Any]:
    """Options of the client of fsspec's web servers that follow redirects only below prefixes. obstore follows all."""
    aiohttp = needed("aiohttp", "aiohttp", "allowed prefixes of web servers")

    async def expect_allowed(_session: Any, _context: Any, request: Any) -> None:
        target = urljoin(str(request.url), request.response.headers.get("Location", ""))
        prefixes.expect(target, f"a redirect of '{url}' to ")

    traces = aiohttp.TraceConfig()
    traces.on_request_redirect.append(expect_allowed)
    return {"trace_configs": [traces], "timeout": aiohttp.ClientTimeout(total=timeout_s)}


def _hint(store: Any) -> str:
    """What else to say about a request of obstore that failed."""
    places = (getattr(store, "config", None) or {}).values()  # stores of files and of web servers have none
    allowed = str((getattr(store, "client_options", None) or {}).get("allow_http")).lower() == "true"
    if allowed or not any(str(place).startswith("http://") for place in places):
        return ""
    return '; an endpoint without encryption (http) needs client_options={"allow_http": True}'


def _expect_same(name: str, known: Version | None, found: Version) -> None:
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


def _is_below(place: _Place, prefix: _Place) -> bool:
    if place[:3] != prefix[:3]:
        return False
    folder = prefix.path if prefix.path.endswith("/") else prefix.path + "/"
    return place.path == prefix.path or place.path.startswith(folder)


def _place_of(url: str) -> _Place:
    """The parts that are compared. Raises ValueError for what servers may understand in different ways."""
    if any(char <= " " or char in "\\\x7f" for char in url):
        raise ValueError("it has blanks, control characters or backslashes")
    parts: SplitResult = urlsplit(url)
    scheme = parts.scheme.lower()
    if scheme not in CHECKED_SCHEMES:
        raise ValueError(f"its scheme is none of {', '.join(CHECKED_SCHEMES)}")
    if "@" in parts.netloc and not scheme.startswith("abfs"):
        raise ValueError("it has a user name or a password; credentials come from the environment")
    if not parts.hostname or parts.fragment:
        raise ValueError("it has a fragment (#)" if parts.fragment else "it names no host")
    path = unquote(parts.path)
    if path.count("/") != parts.path.count("/") or "\\" in path or "\x00" in path:
        raise ValueError("its path has an encoded slash")
    if any(segment in (".", "..") for segment in path.split("/")):
        raise ValueError("its path has . or ..")
    host = parts.netloc if scheme.startswith("abfs") else parts.hostname.lower()
    return _Place(scheme, host, parts.port or _PORTS.get(scheme), path or "/")
