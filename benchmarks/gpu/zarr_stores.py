# SPDX-License-Identifier: Apache-2.0
"""Zarr stores read into the memory of a GPU: decoded there, beside decoded on the CPU by Zarr and then copied.

python -m benchmarks.gpu.zarr_stores [--rounds N] [--large N] [--folder DIR] [--output FILE]

Needs zarr 3.1.3 or newer and CuPy. The files are in the page cache. All frames of a store are read to one array.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks import results
from benchmarks.compress.zarr_stores import values
from benchmarks.environment import environment

COPIES = 4
CHUNK, SHARD, INNER = (1, 1024, 1024), (8, 1024, 1024), (1, 256, 256)  # int32: 4 MiB, 32 MiB, 256 KiB


def stores() -> dict[str, tuple[Any, dict[str, Any]]]:
    """The codecs, and words that cut an array, by name."""
    from tricodec.compress.zarr import TricodecCodec
    from zarr.codecs import GzipCodec, ZstdCodec
    from zarr.codecs.numcodecs import LZ4

    codecs = {
        "zstd": ZstdCodec(level=3),
        "gzip": GzipCodec(level=1),
        "numcodecs.lz4": LZ4(),
        "tricodec LZ4": TricodecCodec("LZ4", chunk_bytes=65536),
        "tricodec Zstd": TricodecCodec("Zstd", chunk_bytes=65536),
    }
    found: dict[str, tuple[Any, dict[str, Any]]] = {}
    for name, codec in codecs.items():
        found[name] = codec, {"chunks": CHUNK}
        if not name.startswith("tricodec"):
            found[f"{name}, shards"] = codec, {"chunks": INNER, "shards": SHARD}
    return found


def on_gpu(path: Path) -> Any:
    """The array of a store, decoded on the GPU."""
    import cupy
    import zarr
    from tricodec.compress.zarr import use_for_standard_codecs

    with use_for_standard_codecs(device="cuda"):
        array = zarr.open_array(path, mode="r")[:]
    cupy.cuda.get_current_stream().synchronize()
    return array


def copied(path: Path) -> Any:
    """The array of a store, decoded by Zarr on the CPU and copied."""
    import cupy
    import zarr

    array = cupy.asarray(zarr.open_array(path, mode="r")[:])
    cupy.cuda.get_current_stream().synchronize()
    return array


def copied_from_tricodec(path: Path) -> Any:
    """The array of a store, decoded by tricodec on the CPU and copied."""
    from tricodec.compress.zarr import use_for_standard_codecs

    with use_for_standard_codecs():
        return copied(path)


WAYS: dict[str, tuple[str, Callable[[Path], Any]]] = {
    "decoded on the GPU": ("tricodec", on_gpu),
    "decoded on the CPU, copied": ("zarr", copied),
    "decoded by tricodec on the CPU, copied": ("tricodec", copied_from_tricodec),
}


def measure(folder: Path, rounds: int, large: int) -> Iterator[results.Row]:
    """The rates of all stores of COPIES of the values, and of two stores of `large` copies."""
    yield from _compared(folder, rounds, stores(), COPIES)
    if large:
        yield from _compared(folder, rounds, {name: stores()[name] for name in ("zstd", "numcodecs.lz4")}, large)


def _compared(
    folder: Path, rounds: int, chosen: dict[str, tuple[Any, dict[str, Any]]], copies: int
) -> Iterator[results.Row]:
    """The rates of each store and way, and the ratios of neighboring runs."""
    import zarr

    part = values()
    field = np.concatenate([part + np.int32(copy) for copy in range(copies)])
    what = f"{field.nbytes >> 20} MiB of int32"
    for name, (codec, words) in chosen.items():
        path = folder / "store"
        made = zarr.create_array(path, shape=field.shape, dtype="<i4", compressors=codec, overwrite=True, **words)
        made[:] = field
        ratio = made.nbytes / made.nbytes_stored()
        rates: dict[str, list[float]] = {way: [] for way in WAYS}
        for number in range(rounds + 1):
            for way, (_, read) in WAYS.items():
                start = time.perf_counter()
                array = read(path)
                seconds = time.perf_counter() - start
                if number:
                    rates[way].append(field.nbytes / seconds / 1e6)
                elif not _equal(array, field):
                    raise RuntimeError(f"{name}, {way}: other values were read than were written")
                del array
        for way, (contender, _) in WAYS.items():
            row = results.Row("read to the GPU", what, contender, f"{name}: {way}", unit="MB/s")
            yield row.with_runs(rates[way], ratio=ratio)
        first, *others = WAYS
        for other in others:
            row = results.Row("read to the GPU", what, "tricodec", f"{name}: {first}", against=other)
            yield row.with_ratios([mine / its for mine, its in zip(rates[first], rates[other], strict=True)])


def _equal(array: Any, field: Any) -> bool:
    import cupy

    return bool((cupy.asnumpy(array) == field).all())


def table(facts: Mapping[str, str], rows: Sequence[results.Row]) -> str:
    """The figures for a document."""
    cells = {(row.input, row.setting): row for row in rows if not row.against}
    lines = ["| store | MiB | decoded on the GPU | by zarr on the CPU, copied | ratio |", "|---|---|---|---|---|"]
    ways = [f": {way}" for way in WAYS]
    for row in rows:
        if row.against == "decoded on the CPU, copied":
            name, mib = row.setting.removesuffix(ways[0]), row.input.split()[0]
            ours, theirs = (cells[row.input, name + way].value or 0 for way in ways[:2])
            lines.append(f"| `{name}` | {int(mib):,} | {ours:,.0f} MB/s | {theirs:,.0f} MB/s | {row.value:.2f}x |")
    chunks = "int32 in chunks of 4 MiB, or of 256 KiB in shards, read to one array; medians of pairs of runs"
    return f"{facts['gpu']} with {facts['cores']} cores, {facts['date'][:10]}: {chunks}.\n\n" + "\n".join(lines) + "\n"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=3, help="default 3")
    parser.add_argument("--large", type=int, default=107, help="copies of 96 MiB in the large stores; 0: none")
    parser.add_argument("--folder", type=Path, help="a folder for the stores; default a temporary one")
    parser.add_argument("--output", type=Path, default=results.FOLDER / "zarr_gpu.csv")
    options = parser.parse_args()
    warnings.filterwarnings("ignore", module="zarr")
    started = time.monotonic()
    measured = []
    with tempfile.TemporaryDirectory(dir=options.folder) as folder:
        for row in measure(Path(folder), options.rounds, options.large):
            measured.append(row)
            print(row.setting, row.against, row.value, row.unit, flush=True)
    results.write(options.output, environment(time.monotonic() - started), measured)
    return 0


if __name__ == "__main__":
    sys.exit(main())
