# SPDX-License-Identifier: Apache-2.0
"""The inputs VIDEO and URL: the media file of a request, or where it is."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy.typing as npt
import tricodec
from tricodec.remote import RemoteSource
from tricodec.triton_backend.runtime.rows import check_size, text_of
from tricodec.triton_backend.runtime.settings import Settings

VIDEO_INPUTS = ("VIDEO", "URL")
_MAX_URL = 8192
CACHE_BYTES = 64 << 20
"""What a process of the node keeps in memory of one such video."""


def read_videos(tensors: Mapping[str, npt.NDArray[Any]], settings: Settings) -> list[Any]:
    """The media files of a request, one a row: bytes or a RemoteSource each.

    Raises:
        ValueError: if several inputs are there, or none; if one is empty, or larger than the model accepts.
        tricodec.RefusedError: for URLs, if the model reads none.
    """
    if sum(name in tensors for name in VIDEO_INPUTS) != 1:
        raise ValueError("give either VIDEO, the bytes of a media file, or URL, where it is, and not both")
    if "URL" in tensors:
        return [_url_of(element, settings) for element in tensors["URL"].reshape(-1)]
    files = []
    for element in tensors["VIDEO"].reshape(-1):
        data = text_of(element)
        if not data:
            raise ValueError("VIDEO is empty; send the bytes of a media file")
        check_size(len(data), "VIDEO", settings)
        files.append(data)
    return files


def read_video(tensors: Mapping[str, npt.NDArray[Any]], settings: Settings) -> Any:
    """The one media file of a request. Raises as `read_videos`, and ValueError for several."""
    files = read_videos(tensors, settings)
    if len(files) != 1:
        raise ValueError(f"{'URL' if 'URL' in tensors else 'VIDEO'} has {len(files)} files; send one in a request")
    return files[0]


def _url_of(element: Any, settings: Settings) -> RemoteSource:
    data = text_of(element)
    if not 0 < len(data) <= _MAX_URL:
        raise ValueError(f"URL has {len(data)} bytes; expected 1 to {_MAX_URL}")
    return _remote_source(data.decode("utf-8", "replace"), settings)


def _remote_source(url: str, settings: Settings) -> RemoteSource:
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
