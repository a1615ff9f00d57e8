# SPDX-License-Identifier: Apache-2.0
"""The objects below a URL."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from typing import Any
from urllib.parse import urlsplit

from tricodec.errors import MediaIOError
from tricodec.remote._stores import FsspecStore, ObstoreStore, Version, open_url, short, version_of

#: Options of `open_remote()` that say how an object is read.
_OF_READING = ("cache_bytes", "max_requests")


@dataclasses.dataclass(frozen=True)
class ListedObject:
    """An object, and its version."""

    url: str
    version: Version


def list_objects(
    url: str, *, filesystem: Any = None, timeout_s: float = 30.0, retries: int = 5, **options: Any
) -> Iterator[ListedObject]:
    """The objects below a URL, in the order of the store. The arguments are those of `open_remote`.

    Raises:
        MediaIOError: the store does not list objects, as web servers do not, or the request failed.
    """
    parts = urlsplit(url)
    if parts.scheme in ("http", "https") and filesystem is None:
        raise MediaIOError(f"web servers do not list what is below '{url}'; give the URL of each file")
    options = {name: value for name, value in options.items() if name not in _OF_READING}
    store: Any = FsspecStore(url, filesystem, url) if filesystem else open_url(url, timeout_s, retries, options)
    try:
        for path, facts in store.listed():
            place = f"{parts.netloc}/{path}" if isinstance(store, ObstoreStore) else path
            yield ListedObject(place if "://" in place else f"{parts.scheme}://{place}", version_of(facts))
    except MediaIOError:
        raise
    except Exception as error:  # every store has classes of its own
        raise MediaIOError(f"listing '{url}' failed: {short(error)}") from error
