# SPDX-License-Identifier: Apache-2.0
"""Compression on a GPU: tricodec beside NVIDIA's own package, arrays in the GPU's memory before and after."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from importlib import import_module
from typing import Any

import numpy as np
import tricodec
from pairs import is_vague, quartiles

_ALGORITHMS = ("LZ4", "Snappy", "GDeflate", "Deflate", "Gzip", "Zstd", "Bitcomp", "ANS", "Cascaded")
_BATCH, _PART = 1000, 65536
_GOALS = {"one": 0.98, f"{_BATCH}x64KiB": 1.5}  # of the official package's speed
_WAYS = ("compress", "decompress")
_MOST = 3  # times as many rounds as asked for, where the official package's speed varies

Work = Callable[[], Any]


def _touched(arrays: list[Any]) -> None:
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


def _measure(works: dict[str, dict[str, Work]], rounds: int) -> dict[str, dict[str, _Times]]:
    """Each way's runs, contenders right after each other; more, where their ratio is not known yet."""
    times = {name: {way: _Times() for way in ways} for name, ways in works.items()}
    first, *others = works
    for way in _WAYS:
        number = 0
        while number < rounds or (number < _MOST * rounds and any(is_vague(times[name][way].pairs) for name in others)):
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


def _rows(
    packages: dict[str, Any], data_name: str, batch_name: str, batch: list[Any], rounds: int
) -> list[dict[str, Any]]:
    total = sum(part.nbytes for part in batch)
    rows = []
    for algorithm in _ALGORITHMS:
        works: dict[str, dict[str, Work]] = {}
        ratios: dict[str, float] = {}
        for name, package in packages.items():
            options = {"algorithm": algorithm, **({"device": "cuda:0"} if name == "tricodec" else {})}
            codec = package.Codec(**options)
            arrays = [package.as_array(part).cuda() for part in batch]
            packed = codec.encode(arrays)
            assert bytes(codec.decode(packed)[-1].cpu()) == batch[-1].tobytes()
            ratios[name] = total / sum(array.buffer_size for array in packed)
            works[name] = {
                "compress": lambda c=codec, a=arrays: _touched(c.encode(a)),
                "decompress": lambda c=codec, p=packed: _touched(c.decode(p)),
            }
        rows += [
            {
                "data": data_name,
                "batch": batch_name,
                "family": algorithm,
                "contender": name,
                **{
                    f"{way}_gbps": round(total / statistics.median(times.seconds) / 1e9, 3)
                    for way, times in ways.items()
                },
                "ratio": round(ratios[name], 4),
                **{
                    f"{way}_pairs": [round(value, 4) for value in quartiles(times.pairs)]
                    for way, times in ways.items()
                    if times.pairs
                },
            }
            for name, ways in _measure(works, rounds).items()
        ]
    return rows


def gpu_rows(datas: dict[str, np.ndarray], rounds: int) -> list[dict[str, Any]]:
    """Each set of data as one array and as a batch of many."""
    theirs = import_module("nvidia.nvcomp")
    packages = {"tricodec": tricodec.compress}
    if not getattr(theirs, "__tricodec__", False):
        packages["nvcomp"] = theirs
    rows: list[dict[str, Any]] = []
    for name, data in datas.items():
        parts = [data[i * _PART : (i + 1) * _PART] for i in range(min(_BATCH, data.size // _PART))]
        for batch_name, batch in {"one": [data], f"{_BATCH}x64KiB": parts}.items():
            rows += _rows(packages, name, batch_name, batch, rounds)
    return rows


def goals_of(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """tricodec's speed as a multiple of the official package's: the median of runs right after each other."""
    found = []
    speeds = {(row["data"], row["batch"], row["family"], row["contender"]): row for row in rows}
    for data, batch, family, contender in speeds:
        official = speeds.get((data, batch, family, "nvcomp"))
        if contender != "tricodec" or official is None:
            continue
        for way in _WAYS:
            low, part, high = (round(value, 3) for value in official[f"{way}_pairs"])
            goal = _GOALS[batch]
            found.append({"data": data, "batch": batch, "family": family, "way": way, "of_official": part,
                          "of_official_quartiles": [low, high], "goal": goal, "met": part >= goal})  # fmt: skip
    return found
