# SPDX-License-Identifier: Apache-2.0
"""The engine of lossless compression."""

from __future__ import annotations

import contextlib
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


class CompressEngine(Engine):
    """Compresses or decompresses arrays of a file, or of the test pictures, by `tricodec.Codec` with its keywords.

    With `transfers` arrays start and end in host memory if a GPU works; the copies are part of the time.
    """

    name = "compress"

    def __init__(
        self,
        path: Path | None = None,
        device: str = "auto",
        direction: str = "compress",
        array_bytes: int = 1 << 22,
        *,
        transfers: bool = True,
        **options: Any,
    ) -> None:
        self.device = device
        self.direction = direction
        self.transfers = transfers
        self.options = options
        engine = self._codec(0).engine
        self.on_gpu = engine != "cpu"
        if array_bytes < 1:
            raise ValueError(f"arrays of {array_bytes} bytes are not accepted; name 1 or more")
        data = np.fromfile(path, np.uint8) if path else np.ascontiguousarray(make_pictures()).reshape(-1)
        if len(data) == 0:
            raise ValueError(f"{path} is empty; name a file with data")
        size = min(array_bytes, len(data))
        self._arrays = [data[start : start + size] for start in range(0, len(data) - size + 1, size)]
        place = "in device memory" if self.on_gpu and not transfers else "in host memory"
        self.scope = f"one call for all arrays of the batch, which start and end {place}"
        self.settings = {
            "input": path.name if path else TEST_PICTURES,
            "arrays": f"{len(self._arrays)} of {self._arrays[0].nbytes} bytes, in turns",
            "device": engine,
            "direction": direction,
            "options": str(options),
        }

    @contextlib.contextmanager
    def open(self, batch: int, threads: int) -> Iterator[Work]:
        """A query takes the next `batch` arrays; `threads` is `num_threads`."""
        codec = self._codec(threads)
        sources: list[Any] = (
            [codec.encode(each).cpu() for each in self._arrays] if self.direction == "decompress" else self._arrays
        )
        packed = [each.nbytes for each in map(np.asarray, sources)]
        call = codec.encode if self.direction == "compress" else codec.decode
        if self.on_gpu and not self.transfers:
            sources = [_uploaded(each) for each in sources]
        next_array = 0

        def work() -> Done:
            nonlocal next_array
            chosen = [(next_array + number) % len(sources) for number in range(batch or 1)]
            next_array = (chosen[-1] + 1) % len(sources)
            results, parts = self._run(call, [sources[each] for each in chosen])
            size = sum(self._arrays[each].nbytes for each in chosen)
            compressing = self.direction == "compress"
            compressed = sum(each.nbytes for each in results) if compressing else sum(packed[each] for each in chosen)
            return Done(0, size, compressed, parts)

        yield work

    def _run(self, call: Any, arrays: list[Any]) -> tuple[list[Any], dict[str, float]]:
        if not self.on_gpu:
            return list(call(arrays)), {}
        start = time.perf_counter()
        if self.transfers:
            arrays = [_uploaded(each) for each in arrays]
        uploaded = time.perf_counter()
        results = list(call(arrays))  # the sizes of the results are known when the call returns
        worked = time.perf_counter()
        parts = {self.direction: worked - uploaded}
        if self.transfers:
            results = [each.cpu() for each in results]
            parts = {"upload": uploaded - start, **parts, "download": time.perf_counter() - worked}
        return results, parts

    def _codec(self, threads: int) -> tricodec.Codec:
        return tricodec.Codec(device=self.device, num_threads=threads, **self.options)


def _uploaded(array: Any) -> Any:
    """A copy on the GPU, which is complete."""
    return tricodec.compress.as_array(np.asarray(array)).cuda()
