# SPDX-License-Identifier: Apache-2.0
"""The objects below a URL."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from typing import Any
from urllib.parse import urlsplit

from tricodec._remote._stores import ObstoreStore, Version, make_store, version_of_facts
from tricodec.errors import MediaIOError

#: Options of `remote()` that say how an object is read.
_OF_READING = ("cache_bytes", "max_requests")


@dataclasses.dataclass(frozen=True)
class ListedObject:
    """An object, and its version."""

    url: str
    version: Version


def list_objects(
    url: str,
    *,
    filesystem: Any = None,
    timeout_s: float = 30.0,
    retries: int = 5,
    **options: Any,
) -> Iterator[ListedObject]:
    """The objects below a URL, in the order of the store.

    Args:
        url: as `remote` takes it.
        filesystem, timeout_s, retries: as `remote` takes them.
        **options: as `remote` takes them.
    Raises:
        MediaIOError: the store does not list objects, as web servers do not, or the request failed.
    """
    for name in _OF_READING:
        options.pop(name, None)
    parts = urlsplit(url)
    if parts.scheme in ("http", "https") and filesystem is None:
        raise MediaIOError(f"web servers do not list what is below '{url}'; give the URL of each file")
    opened: Any = make_store(url, filesystem, None, timeout_s, retries, options)()
    try:
        if isinstance(opened, ObstoreStore):
            for chunk in opened.listed():
                for name, version in chunk:
                    yield ListedObject(f"{parts.scheme}://{parts.netloc}/{name}", version)
        else:
            for path, facts in opened.listed().items():
                yield ListedObject(path if "://" in path else f"{parts.scheme}://{path}", version_of_facts(facts))
    except MediaIOError:
        raise
    except Exception as error:  # every store has classes of its own
        raise MediaIOError(f"listing '{url}' failed: {' '.join(str(error).split())[:400]}") from error
