# SPDX-License-Identifier: Apache-2.0
"""URLs that may be read: those below some prefixes."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple
from urllib.parse import SplitResult, unquote, urlsplit

from tricodec.errors import RefusedError

#: Of schemes with prefixes. hf:// leads to addresses that the hub chooses.
CHECKED_SCHEMES = ("http", "https", "s3", "s3a", "gs", "gcs", "az", "azure", "abfs", "abfss")
_PORTS = {"http": 80, "https": 443}


class _Place(NamedTuple):
    scheme: str
    host: str
    port: int | None
    path: str


class AllowedPrefixes:
    """The prefixes below which URLs may be read. Thread safety: safe.

    Args:
        prefixes: URLs with a host or a bucket, as ``https://host/videos/``. A path counts up to a slash:
            ``https://host/a`` allows ``https://host/a/x``, and not ``https://host/ab``.
    Raises:
        ValueError: for one that is no such URL.
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
