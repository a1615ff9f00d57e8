# SPDX-License-Identifier: Apache-2.0
"""The engine of lossless compression."""

from __future__ import annotations

import contextlib
import itertools
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

import tricodec
from tricodec.measure.bench._engines import TEST_PICTURES, make_pictures
from tricodec.measure.bench._load import Done, Work
from tricodec.measure.bench._session import Engine

DIRECTIONS = ("compress", "decompress")


def compress_engine(
    path: Path | None = None,
    device: str = "auto",
    direction: str = "compress",
    array_bytes: int = 1 << 22,
    *,
    transfers: bool = True,
    **options: Any,
) -> Engine:
    """Compresses or decompresses arrays of a file, or of the test pictures, by `tricodec.Codec` with its keywords.

    A query takes the next `batch` arrays; `threads` is `num_threads`. With `transfers` arrays start and end in host
    memory if a GPU works; the copies are part of the time.
    """
    engine = tricodec.Codec(device=device, **options).engine
    on_gpu = engine != "cpu"
    if array_bytes < 1:
        raise ValueError(f"arrays of {array_bytes} bytes are not accepted; name 1 or more")
    data = np.fromfile(path, np.uint8) if path else np.ascontiguousarray(make_pictures()).reshape(-1)
    if len(data) == 0:
        raise ValueError(f"{path} is empty; name a file with data")
    size = min(array_bytes, len(data))
    arrays = [data[start : start + size] for start in range(0, len(data) - size + 1, size)]
    place = "in device memory" if on_gpu and not transfers else "in host memory"
    settings = {
        "input": path.name if path else TEST_PICTURES,
        "arrays": f"{len(arrays)} of {size} bytes, in turns",
        "device": engine,
        "direction": direction,
        "options": str(options),
    }

    @contextlib.contextmanager
    def open_work(batch: int, threads: int) -> Iterator[Work]:
        codec = tricodec.Codec(device=device, num_threads=threads, **options)
        packs = direction == "compress"
        sources: list[Any] = arrays if packs else [codec.encode(each).cpu() for each in arrays]
        sizes = [np.asarray(each).nbytes for each in sources]
        if on_gpu and not transfers:
            sources = [_uploaded(each) for each in sources]
        call = codec.encode if packs else codec.decode
        numbers = itertools.cycle(range(len(sources)))

        def work() -> Done:
            chosen = list(itertools.islice(numbers, batch or 1))
            start = time.perf_counter()
            given = [sources[each] for each in chosen]
            if on_gpu and transfers:
                given = [_uploaded(each) for each in given]
            uploaded = time.perf_counter()
            results = list(call(given))  # on a GPU the sizes of the results are known when the call returns
            worked = time.perf_counter()
            parts = {direction: worked - uploaded} if on_gpu else {}
            if on_gpu and transfers:
                results = [each.cpu() for each in results]
                parts = {"upload": uploaded - start, **parts, "download": time.perf_counter() - worked}
            compressed = sum(each.nbytes for each in results) if packs else sum(sizes[each] for each in chosen)
            return Done(0, len(chosen) * size, compressed, parts)

        yield work

    scope = f"one call for all arrays of the batch, which start and end {place}"
    return Engine("compress", scope, settings, open_work)


def _uploaded(array: Any) -> Any:
    """A copy on the GPU, which is complete."""
    return tricodec.compress.as_array(np.asarray(array)).cuda()
