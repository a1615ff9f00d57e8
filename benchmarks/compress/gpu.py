# SPDX-License-Identifier: Apache-2.0
"""Compression on a GPU: tricodec beside NVIDIA's own package, arrays in the GPU's memory before and after."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from importlib import import_module
from typing import Any

import numpy as np
import tricodec

from benchmarks.compress.goals import BATCH, OFFICIAL, OURS
from benchmarks.pairs import Spread
from benchmarks.results import Row

_ALGORITHMS = ("LZ4", "Snappy", "GDeflate", "Deflate", "Gzip", "Zstd", "Bitcomp", "ANS", "Cascaded")
_BATCH, _PART = 1000, 65536
_WAYS = ("compress", "decompress")
_MOST = 3  # times as many rounds as asked for, where the official package's speed varies

Work = Callable[[], Any]


def touched(arrays: list[Any]) -> None:
    """Results are queued; their memory is looked at, and what is queued is waited for."""
    import torch

    for array in (arrays[0], arrays[-1]):
        _ = array.__cuda_array_interface__
    torch.cuda.synchronize()


@dataclass
class _Times:
    """What one contender's rounds took, and how many times as fast the first one's run beside each was."""

    seconds: list[float] = field(default_factory=list)
    pairs: list[float] = field(default_factory=list)


def _vague(times: dict[str, dict[str, _Times]], way: str) -> bool:
    found = [ways[way].pairs for ways in times.values()]
    return any(pairs and Spread.of(pairs).is_vague for pairs in found)


def _measure(works: dict[str, dict[str, Work]], rounds: int) -> dict[str, dict[str, _Times]]:
    """Each way's runs, contenders right after each other; more, where their ratio is not known yet."""
    times = {name: {way: _Times() for way in ways} for name, ways in works.items()}
    first, *others = works
    for way in _WAYS:
        number = 0
        while number < rounds or (number < _MOST * rounds and _vague(times, way)):
            order = list(works)[:: 1 if number % 2 == 0 else -1]
            for name in order:
                start = time.perf_counter()
                works[name][way]()
                times[name][way].seconds.append(time.perf_counter() - start)
            for name in others:
                ours, theirs = (times[each][way].seconds[-1] for each in (first, name))
                times[name][way].pairs.append(theirs / ours)
            number += 1
    return times


def _rows(packages: dict[str, Any], data_name: str, batch_name: str, batch: list[Any], rounds: int) -> Iterator[Row]:
    total = sum(part.nbytes for part in batch)
    for algorithm in _ALGORITHMS:
        works: dict[str, dict[str, Work]] = {}
        ratios: dict[str, float] = {}
        for name, package in packages.items():
            options = {"algorithm": algorithm, **({"device": "cuda:0"} if name == OURS else {})}
            codec = package.Codec(**options)
            arrays = [package.as_array(part).cuda() for part in batch]
            packed = codec.encode(arrays)
            assert bytes(codec.decode(packed)[-1].cpu()) == batch[-1].tobytes()
            ratios[name] = total / sum(array.buffer_size for array in packed)
            works[name] = {
                "compress": lambda c=codec, a=arrays: touched(c.encode(a)),
                "decompress": lambda c=codec, p=packed: touched(c.decode(p)),
            }
        for name, ways in _measure(works, rounds).items():
            for way, times in ways.items():
                row = Row(f"{way} {algorithm}", data_name, name, batch_name, unit="GB/s")
                yield row.with_runs([total / seconds / 1e9 for seconds in times.seconds], ratio=ratios[name])
                if times.pairs:
                    yield Row(row.task, data_name, OURS, batch_name, against=name).with_ratios(times.pairs)


def gpu_rows(datas: dict[str, np.ndarray], rounds: int) -> list[Row]:
    """Each set of data as one array and as a batch of many."""
    import_module("tricodec.nvcomp")  # answers where NVIDIA's package is missing
    theirs = import_module("nvidia.nvcomp")
    packages = {OURS: tricodec.compress}
    if not getattr(theirs, "__tricodec__", False):
        packages[OFFICIAL] = theirs
    rows: list[Row] = []
    for name, data in datas.items():
        parts = [data[i * _PART : (i + 1) * _PART] for i in range(min(_BATCH, data.size // _PART))]
        for batch_name, batch in {"one array": [data], BATCH: parts}.items():
            rows += _rows(packages, name, batch_name, batch, rounds)
    return rows
