# SPDX-License-Identifier: Apache-2.0
"""Videos by URL, below the prefixes of the parameter `allow_remote`."""

from __future__ import annotations

import tricodec
from tricodec.remote import RemoteSource
from tricodec.triton_backend.runtime.settings import Settings

CACHE_BYTES = 64 << 20
"""What a process of the node keeps in memory of one such video."""


def remote_source(url: str, settings: Settings) -> RemoteSource:
    """The video that a URL names. Redirects are checked while it is read.

    Raises:
        tricodec.RefusedError: for a URL that the model does not allow.
    """
    if not settings.remote_prefixes:
        raise tricodec.RefusedError(
            f"URL is '{url}', and this model reads no URLs; send the bytes as VIDEO, or allow prefixes of URLs with "
            "`tricodec serve --allow-remote PREFIX` (the model's parameter allow_remote)"
        )
    return tricodec.open_remote(url, allowed_prefixes=settings.remote_prefixes, cache_bytes=CACHE_BYTES)
