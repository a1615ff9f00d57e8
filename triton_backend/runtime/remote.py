# SPDX-License-Identifier: Apache-2.0
"""Videos that a request names by a URL, read below the prefixes of the parameter `allow_remote`."""

from __future__ import annotations

from typing import Any

import tricodec
from tricodec.triton_backend.runtime.settings import Settings

CACHE_BYTES = 64 << 20
"""What a worker keeps in memory of one such video."""


class Url(bytes):
    """The URL of an item, in place of its bytes."""


def source_of(data: Any, *, is_url: bool, settings: Settings) -> Any:
    """What a task reads: the bytes of an item, or the remote source that they name.

    Raises:
        ValueError: for a URL that is no text.
        tricodec.RefusedError: for a URL that the model does not allow. Redirects are checked while it is read.
    """
    if not is_url:
        return data
    url = bytes(data).decode("utf-8")
    expect_allowed(url, settings)
    return tricodec.remote(url, allowed_prefixes=settings.remote_prefixes, cache_bytes=CACHE_BYTES)


def expect_allowed(url: str, settings: Settings) -> None:
    """Raises tricodec.RefusedError if the model reads no URLs."""
    if not settings.remote_prefixes:
        raise tricodec.RefusedError(
            f"URL is '{url}', and this model reads no URLs; send the bytes as VIDEO, or allow prefixes of URLs with "
            "`tricodec serve --allow-remote PREFIX` (the model's parameter allow_remote)"
        )
