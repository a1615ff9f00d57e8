# SPDX-License-Identifier: Apache-2.0
"""User programs that compare_builds.py runs with two builds, each in a process of its own.

python -m benchmarks.programs '{"program": "compress", "family": "LZ4"}'    prints seconds by cell as JSON
python -m benchmarks.programs --resident    the same for each line of the standard input that is such a request
"""

from __future__ import annotations

import functools
import json
import os
import random
import statistics
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from typing import Any

Request = dict[str, Any]
Seconds = dict[str, float]

CHUNK_BYTES = 1 << 16
_COMPRESS_BYTES = {False: 16 << 20, True: 2 << 20}  # of each array; of slow formats
_REPEATS = 3  # of what is timed in a process; the median counts
_MADE_BYTES = 16 << 20  # repeated for more
_GPU_BYTES = {False: 1000 << 16, True: 1000 << 14}  # the same, on a GPU
SHAPES = {"one array": 1, "1,000 arrays": 1000}  # that these bytes are
_GPU_REPEATS = 5
FILES = 64
_WAIT_EVERY = 32
_SIDE = 224
OF_ALONE = " of decoding alone"
"""How the cells end that are the speed of a chain beside that of decoding."""


def _median(work: Callable[[], object], repeats: int = _REPEATS) -> float:
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        work()
        times.append(time.perf_counter() - start)
    return statistics.median(times)


def start(request: Request) -> Seconds:
    """Imports and gives one RGB frame; the caller times the process."""
    import tricodec

    with tricodec.FrameReader(request["path"], device="cpu") as reader:
        assert tricodec.Transform()(reader[0]).shape[2] == 3
    return {}


def compress(request: Request) -> Seconds:
    """Every array of the benchmark of compression by one format and level, in both directions."""
    from benchmarks.compress import inputs
    from benchmarks.compress.contenders import Family, Ours

    slow = request["slow"]
    family = Family(request["family"], request["options"], slow=slow)
    arrays = inputs.made(_COMPRESS_BYTES[slow]).values()
    codecs = [Ours(family, array, CHUNK_BYTES) for array in arrays]
    for codec in codecs:
        codec.compress()
        codec.check()

    def each(way: str) -> None:
        for codec in codecs:
            getattr(codec, way)()

    return {"encode": _median(lambda: each("compress")), "decode": _median(lambda: each("decompress"))}


@functools.cache
def _made() -> list[Any]:
    from benchmarks.compress import inputs

    return list(inputs.made(_MADE_BYTES).values())


@functools.lru_cache(1)
def _gpu_works(options: str, slow: bool) -> dict[str, list[Callable[[], object]]]:
    """By cell what encodes or decodes each set of data, all of which has been done once."""
    import numpy as np
    import tricodec

    from benchmarks.compress.gpu import touched

    works: dict[str, list[Callable[[], object]]] = {}
    for shape, count in SHAPES.items():
        for data in _made():
            parts = np.split(np.resize(data, _GPU_BYTES[slow]), count)
            codec = tricodec.Codec(device="cuda:0", **json.loads(options))
            arrays = [tricodec.compress.as_array(part).cuda() for part in parts]
            packed = codec.encode(arrays)
            touched(packed)
            assert bytes(codec.decode(packed)[-1].cpu()) == parts[-1].tobytes(), options
            works.setdefault(f"encode {shape}", []).append(lambda c=codec, a=arrays: touched(c.encode(a)))
            works.setdefault(f"decode {shape}", []).append(lambda c=codec, p=packed: touched(c.decode(p)))
    return works


def compress_gpu(request: Request) -> Seconds:
    """The same on a GPU, arrays in its memory before and after; one call before those that are timed."""
    seconds = {}
    for cell, works in _gpu_works(json.dumps(request["options"]), request["slow"]).items():

        def each(works: list[Callable[[], object]] = works) -> None:
            for work in works:
                work()

        each()
        seconds[cell] = _median(each, _GPU_REPEATS)
    return seconds


def _expect(frames: int, expected: int) -> None:
    if frames != expected:
        message = f"gave {frames} frames where {expected} were asked for"
        raise RuntimeError(message)


def _groups(frames: Iterable[Any]) -> Iterator[list[Any]]:
    group: list[Any] = []
    for frame in frames:
        group.append(frame)
        if len(group) == _WAIT_EVERY:
            yield group
            group = []
    if group:
        yield group


def _random_crops(path: str, device: str) -> Iterator[Any]:
    """Batches of 32 frames, each cropped at a place of its own."""
    import tricodec

    places = random.Random(0)
    with tricodec.FrameReader(path, device=device) as reader:
        height, width = reader.stream.height, reader.stream.width
        for frames in _groups(reader):
            top, left = places.randrange(height - _SIDE), places.randrange(width - _SIDE)
            yield tricodec.Transform(crop=(top, left, _SIDE, _SIDE), layout="CHW")(frames)


def _batches(path: str, device: str, **options: Any) -> Iterator[Any]:
    import tricodec

    with tricodec.FrameReader(path, device=device) as reader:
        yield from reader.batches(_WAIT_EVERY, **options)


CHAINS: dict[str, Callable[[str, str], Iterator[Any]]] = {
    "224 float16 CHW": lambda path, device: _batches(path, device, size=(_SIDE, _SIDE), dtype="float16", layout="CHW"),
    "720p uint8 CHW": lambda path, device: _batches(path, device, size=(720, 1280), layout="CHW"),
    "random crop 224": _random_crops,
}
"""What a user's program does with each batch of 32 decoded frames."""


def one_file(request: Request) -> Seconds:
    """Every frame of a long file, alone and with what comes after it, in turns."""
    from benchmarks.gpu.worker import count_and_wait, tricodec

    path, device = request["path"], request["device"]
    works: dict[str, Callable[[], int]] = {"one file": tricodec("streams", [path], device)}
    for name, items in CHAINS.items():
        works[name] = functools.partial(lambda items: count_and_wait(items(path, device), len), items)
    for work in works.values():
        _expect(work(), request["frames"])
    rounds = [{name: _median(work, 1) for name, work in works.items()} for _ in range(_REPEATS)]
    seconds = {name: statistics.median(done[name] for done in rounds) for name in works}
    parts = {
        f"{name}{OF_ALONE}": statistics.median(done["one file"] / done[name] for done in rounds) for name in CHAINS
    }
    return {**seconds, **parts}


def many_files(request: Request) -> Seconds:
    """Every frame of many files at once, a thread each."""
    from benchmarks.gpu.worker import tricodec

    read = tricodec("streams", [request["path"]] * FILES, request["device"])
    _expect(read(), FILES * request["frames"])
    return {"files": _median(read, 1)}


PROGRAMS: dict[str, Callable[[Request], Seconds]] = {
    "start": start,
    "compress": compress,
    "compress_gpu": compress_gpu,
    "one_file": one_file,
    "many_files": many_files,
}


def _answer(request: Request) -> dict[str, Any]:
    try:
        return dict(PROGRAMS[request["program"]](request))
    except Exception as error:
        return {"failed": f"{type(error).__name__}: {error}".splitlines()[0][:300]}


def main() -> None:
    """Prints the seconds, or {"failed": reason}."""
    for request in sys.stdin if sys.argv[1] == "--resident" else sys.argv[1:]:
        print(json.dumps(_answer(json.loads(request))), flush=True)
    os._exit(0)  # what ends a process is not timed


if __name__ == "__main__":
    main()
