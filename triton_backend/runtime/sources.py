# SPDX-License-Identifier: Apache-2.0
"""What a task reads: bytes, and videos by URL, below the prefixes of the parameter `allow_remote`."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

import tricodec
from tricodec.triton_backend.runtime.settings import Settings

CACHE_BYTES = 64 << 20
"""What a worker keeps in memory of one such video."""


class Url(bytes):
    """The URL of an item, in place of its bytes."""


@contextlib.contextmanager
def source_of(data: Any, settings: Settings) -> Iterator[Any]:
    """What a task reads: the bytes of an item, or the remote source that a Url names.

    Raises:
        ValueError: for a URL that is no text.
        tricodec.RefusedError: for a URL that the model does not allow. Redirects are checked while it is read.
    """
    if isinstance(data, Url):
        url = data.decode("utf-8")
        expect_allowed(url, settings)
        yield tricodec.open_remote(url, allowed_prefixes=settings.remote_prefixes, cache_bytes=CACHE_BYTES)
    else:
        yield data


def expect_allowed(url: str, settings: Settings) -> None:
    """Raises tricodec.RefusedError if the model reads no URLs."""
    if not settings.remote_prefixes:
        raise tricodec.RefusedError(
            f"URL is '{url}', and this model reads no URLs; send the bytes as VIDEO, or allow prefixes of URLs with "
            "`tricodec serve --allow-remote PREFIX` (the model's parameter allow_remote)"
        )
