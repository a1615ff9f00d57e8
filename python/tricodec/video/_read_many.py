# SPDX-License-Identifier: Apache-2.0
"""read_many(): the frames of several videos at once."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

from tricodec._tricodec import FrameReader, Interruption
from tricodec.video._decode import DecodedVideo, decode_video
from tricodec.video.cores import num_cores

if TYPE_CHECKING:
    from tricodec._tricodec import Source


def read_many(
    sources: Iterable[Source | FrameReader | tuple[Source | FrameReader, Mapping[str, Any]]],
    *,
    workers: int = 0,
    **options: Any,
) -> list[DecodedVideo]:
    """Decode frames of several videos at once, each on a separate thread.

        >>> path = tricodec.sample_video()
        >>> tricodec.read_many([(path, {"start": 8}), (path, {"start": 24})], count=4, size=(90, 160), device="cpu")
        [<tricodec.DecodedVideo uint8 [4, 90, 160, 3]>, <tricodec.DecodedVideo uint8 [4, 90, 160, 3]>]

    Args:
        sources: sources as in `probe`, or open FrameReaders, which stay open; or pairs of one and a dict of
            options that count for this source only.
        workers: videos at a time; 0 is the number of cores. With several, each read has one decoder by default.
        **options: options of `decode_video` for all sources.

    Returns:
        What `decode_video` returns, for each source in order.

    Raises:
        ValueError: `workers` is below 0.
        Exception: the error of the first source, in order, that failed. A note in it names the source by its number.

    Thread safety: safe. An open FrameReader takes one call at a time.
    """
    if workers < 0:
        raise ValueError(f"workers of read_many is {workers}; expected 0 or more")
    if isinstance(sources, str | bytes | os.PathLike):
        raise TypeError("sources of read_many is one video; put it into a list, or call decode_video")
    requests = [_request(entry, options) for entry in sources]
    workers = min(workers or num_cores(), len(requests))
    if workers <= 1:
        return [_read(number, *request) for number, request in enumerate(requests)]
    for source, request in requests:
        if not isinstance(source, FrameReader):
            request.setdefault("num_workers", 1)
    interruption = Interruption()

    def read(number: int, source: Any, request: dict[str, Any]) -> DecodedVideo:
        with interruption:
            return _read(number, source, request)

    with ThreadPoolExecutor(workers, thread_name_prefix="tricodec-read_many") as threads:
        reads = [threads.submit(read, number, *request) for number, request in enumerate(requests)]
        try:
            return [each.result() for each in reads]
        except BaseException:  # Ctrl-C too, which Python's main thread alone notices
            interruption.set()
            for each in reads:
                each.cancel()
            raise


def _request(entry: Any, options: Mapping[str, Any]) -> tuple[Any, dict[str, Any]]:
    source, own = entry if isinstance(entry, tuple) and len(entry) == 2 else (entry, {})
    if not isinstance(own, Mapping) or isinstance(source, tuple):
        raise TypeError(
            f"an entry of read_many is {entry!r}; expected a source, or (source, {{'indices': [0, 5]}}): a source and "
            "a dict of the options that count for it alone"
        )
    return source, {**options, **own}


def _read(number: int, source: Any, options: dict[str, Any]) -> DecodedVideo:
    try:
        return decode_video(source, **options)
    except Exception as error:
        name = source.info.name if isinstance(source, FrameReader) else source
        shown = repr(name) if isinstance(name, str | os.PathLike) else f"<{type(name).__name__}>"
        text = f"source {number} of read_many: {shown}"
        if hasattr(error, "add_note"):  # Python 3.11
            error.add_note(text)
        raise
