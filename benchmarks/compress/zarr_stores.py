# SPDX-License-Identifier: Apache-2.0
"""How fast stores that Zarr wrote are read by tricodec's decoders, against Zarr's own, in turns. By CPU time of all
threads, which other programs on the machine disturb least.

python -m benchmarks.compress.zarr_stores [--large N]    writes benchmarks/results/zarr.csv; needs zarr 3.1.3 or newer
"""

from __future__ import annotations

import argparse
import contextlib
import shutil
import tempfile
import time
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks import results
from benchmarks.environment import environment
from benchmarks.results import Row

_SHAPE = (24, 1024, 1024)  # int32: 96 MiB
_CHUNK = (1, 1024, 1024)  # 4 MiB
_SHARD = (8, 1024, 1024)
_INNER = (1, 256, 256)
_WINDOW = 128
_NUM_WINDOWS = 32


def values() -> Any:
    """A field that changes slowly, as measurements do, with noise in the lowest bits."""
    generator = np.random.default_rng(1)
    rows, columns = np.mgrid[0 : _SHAPE[1], 0 : _SHAPE[2]].astype(np.float32) / 90
    field = np.empty(_SHAPE, "<i4")
    for step in range(_SHAPE[0]):
        wave = 20_000 * (np.sin(rows + step / 9) + np.cos(columns - step / 7))
        field[step] = wave + generator.integers(0, 16, _SHAPE[1:])
    return field


def _read_all(array: Any) -> int:
    return int(array[:].nbytes)


def _read_windows(array: Any) -> int:
    generator = np.random.default_rng(2)
    total = 0
    for _ in range(_NUM_WINDOWS):
        step = int(generator.integers(_SHAPE[0]))
        top, left = (int(generator.integers(size - _WINDOW)) for size in _SHAPE[1:])
        total += array[step, top : top + _WINDOW, left : left + _WINDOW].nbytes
    return total


def _read_in_order(array: Any) -> int:
    """A large store, as a program reads it that has memory for a part."""
    return sum(int(array[step : step + _SHAPE[0]].nbytes) for step in range(0, array.shape[0], _SHAPE[0]))


def measure(folder: Path, field: Any, rounds: int, large: int = 0) -> list[Row]:
    """The rows of all stores, which are made in the folder.

    Args:
        folder: an empty one.
        field: what a store holds.
        rounds: pairs of runs.
        large: copies of the field in the large stores; 0 measures none.
    """
    from zarr.codecs import GzipCodec, ZstdCodec
    from zarr.codecs.numcodecs import LZ4

    stores: dict[str, tuple[Any, dict[str, Any]]] = {
        "zstd": (ZstdCodec(level=3), {"chunks": _CHUNK}),
        "zstd, shards": (ZstdCodec(level=3), {"chunks": _INNER, "shards": _SHARD}),
        "gzip": (GzipCodec(level=1), {"chunks": _CHUNK}),
        "gzip, shards": (GzipCodec(level=1), {"chunks": _INNER, "shards": _SHARD}),
        "numcodecs.lz4": (LZ4(), {"chunks": _CHUNK}),
    }
    reads: dict[str, Callable[[Any], int]] = {"read all": _read_all, "read windows": _read_windows}
    rows = []
    for name, (codec, words) in stores.items():
        rows += _compared(folder / name, name, codec, words, [field], reads, rounds)
    for name in ("zstd", "numcodecs.lz4") if large else ():
        path = folder / f"{name}, large"
        parts = (field + np.int32(copy) for copy in range(large))
        rows += _compared(path, name, *stores[name], parts, {"read in order": _read_in_order}, rounds, large)
        shutil.rmtree(path)
    return rows


def _compared(
    path: Path, name: str, codec: Any, words: dict[str, Any], parts: Iterable[Any],
    reads: Mapping[str, Callable[[Any], int]], rounds: int, num_parts: int = 1,
) -> list[Row]:  # fmt: skip
    """The rows of one store, made of parts of _SHAPE."""
    import zarr
    from tricodec.compress.zarr import use_for_standard_codecs

    decoders: dict[str, Callable[[], contextlib.AbstractContextManager[Any]]] = {
        "tricodec": use_for_standard_codecs,
        "zarr": contextlib.nullcontext,
    }
    shape = (num_parts * _SHAPE[0], *_SHAPE[1:])
    made = zarr.create_array(path, shape=shape, dtype="<i4", compressors=codec, **words)
    for number, part in enumerate(parts):
        made[number * _SHAPE[0] : (number + 1) * _SHAPE[0]] = part
    ratio = made.nbytes / made.nbytes_stored()
    rows = []
    for task, read in reads.items():
        figures: dict[str, list[float]] = {decoder: [] for decoder in decoders}
        for number in range(rounds + 1):
            for decoder in list(decoders)[:: -1 if number % 2 else 1]:
                with decoders[decoder]():
                    array = zarr.open_array(path, mode="r")
                    start = time.process_time()
                    num_bytes = read(array)
                    seconds = time.process_time() - start
                if number:  # the first one fills the page cache
                    figures[decoder].append(num_bytes / seconds / 1e6)
        what = f"{made.nbytes >> 20} MiB of int32"
        rows += [
            Row(task, what, decoder, name, unit="MB/s of CPU time").with_runs(values, ratio=ratio)
            for decoder, values in figures.items()
        ]
        ratios = [ours / theirs for ours, theirs in zip(figures["tricodec"], figures["zarr"], strict=True)]
        rows.append(Row(task, what, "tricodec", name, against="zarr").with_ratios(ratios))
        print(task, name, *(f"{row.contender} {row.value:.4g} {row.unit}" for row in rows[-3:]), flush=True)
    return rows


def _figure(value: float) -> str:
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"


def table(facts: Mapping[str, str], rows: Sequence[Row]) -> str:
    """The figures for a document."""
    cells = {(row.task, row.setting, row.contender, row.against): row for row in rows}
    lines = ["| task | codec | tricodec | Zarr's own decoders | ratio |", "|---|---|---|---|---|"]
    size = next(iter(rows)).input
    for (task, setting, contender, against), row in cells.items():
        if against:
            what = task if row.input == size else f"{task}, {row.input}"
            ours, theirs = (cells[task, setting, name, ""].value or 0 for name in (contender, against))
            lines.append(f"| {what} | `{setting}` | {_figure(ours)} MB/s | {_figure(theirs)} MB/s | {row.value:.2f}x |")
    where = f"{facts['cores']} cores of an {facts['cpu']}, {facts['date'][:10]}"
    stores = f"{size} in chunks of 4 MiB, or of 256 KiB in shards"
    how = f"MB for each second of CPU time; a window has {_WINDOW}x{_WINDOW} values; medians of pairs of runs"
    return f"{where}: {stores}; {how}.\n\n" + "\n".join(lines) + "\n"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--large", type=int, default=107, help="copies of 96 MiB in the large stores; 0: none")
    parser.add_argument("--folder", type=Path, help="a folder for the stores; default a temporary one")
    parser.add_argument("--output", type=Path, default=results.FOLDER / "zarr.csv")
    options = parser.parse_args()
    warnings.filterwarnings("ignore", category=UserWarning, module="zarr")
    start = time.monotonic()
    with tempfile.TemporaryDirectory(dir=options.folder) as folder:
        rows = measure(Path(folder), values(), options.rounds, options.large)
    facts = environment(time.monotonic() - start)
    results.write(options.output, {**facts, "libraries": f"{facts['libraries']}, {_versions()}"}, rows)


def _versions() -> str:
    from importlib.metadata import version

    return ", ".join(f"{name} {version(name)}" for name in ("zarr", "numcodecs"))


if __name__ == "__main__":
    main()
