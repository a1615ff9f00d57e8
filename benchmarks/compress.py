# SPDX-License-Identifier: Apache-2.0
"""Measures lossless compression against its peers in one process and writes JSON and a plot (docs/benchmarks.md).

python benchmarks/compress.py --data DIR               the CPU: results/compress.json and compress.svg
python benchmarks/compress.py --gpu --data DIR         a GPU, against NVIDIA's own package where it is installed

DIR holds files (text, .npy) to compress; without it, data are made from fixed seeds. Rounds of all contenders are
interleaved, and each figure is the median over rounds. Speeds are in GB/s of uncompressed data.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import tricodec
from compress_peers import Contender, contenders
from environment import ROOT, environment

Pair = tuple[Callable[[], Any], Callable[[], Any]]


def made_data(size: int) -> dict[str, bytes]:
    """Text, integers and floats from fixed seeds."""
    rng = np.random.default_rng(3)
    words = np.array([f"word{i}" for i in range(2000)])
    text = " ".join(words[np.minimum(rng.zipf(1.3, size // 5), 2000) - 1]).encode()[:size]
    walk = np.cumsum(rng.normal(0, 1, size // 4)).astype("<f4").tobytes()
    runs = np.repeat(rng.integers(0, 50, size // 32), 8).astype("<i4").tobytes()[:size]
    return {"text": text, "f32_walk": walk, "i32_runs": runs}


def files_data(folder: Path, size: int) -> dict[str, bytes]:
    """The files of each sub-folder, one after the other, repeated up to `size`."""
    found: dict[str, bytes] = {}
    for sub in sorted(path for path in folder.iterdir() if path.is_dir()):
        joined = b"".join(path.read_bytes() for path in sorted(sub.iterdir()) if path.is_file())
        if joined:
            found[sub.name] = (joined * -(-size // len(joined)))[:size]
    return found


def frames_data(size: int) -> dict[str, bytes]:
    """Decoded pictures."""
    clip = Path(os.environ.get("TRICODEC_BENCH_CLIP", ""))
    if not clip.is_file():
        return {}
    pixels = tricodec.decode_video(clip).frames.tobytes()
    return {"frames": (pixels * -(-size // len(pixels)))[:size]}


def seconds_of(work: Callable[[], Any]) -> float:
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def measure(pairs: dict[str, Pair], size: int, rounds: int) -> dict[str, tuple[float, float]]:
    """Median speeds of compressing and decompressing, of contenders taken in turns."""
    times: dict[str, tuple[list[float], list[float]]] = {name: ([], []) for name in pairs}
    for _ in range(rounds):
        for name, (pack, unpack) in pairs.items():
            times[name][0].append(seconds_of(pack))
            times[name][1].append(seconds_of(unpack))
    return {
        name: (size / statistics.median(packs) / 1e9, size / statistics.median(unpacks) / 1e9)
        for name, (packs, unpacks) in times.items()
    }


def cpu_rows(datas: dict[str, bytes], chunk_bytes: int, rounds: int, threads: int) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = []
    for data_name, data in datas.items():
        for family, group in contenders(chunk_bytes, threads).items():
            rows += _group_rows(family, group, data_name, data, chunk_bytes, rounds)
    return rows


def _group_rows(
    family: str, group: list[Contender], data_name: str, data: bytes, chunk_bytes: int, rounds: int
) -> list[dict[str, Any]]:
    chunks = [data[i : i + chunk_bytes] for i in range(0, len(data), chunk_bytes)]
    pairs: dict[str, Pair] = {}
    ratios: dict[str, float] = {}
    for contender in group:
        packed = contender.compress(data, chunks)
        assert contender.restored(packed, data, chunks), f"{contender.name} does not give {data_name} back"
        ratios[contender.name] = len(data) / contender.size(packed)
        pairs[contender.name] = (
            lambda c=contender: c.compress(data, chunks),
            lambda c=contender, p=packed: c.decompress(p, data, chunks),
        )
    speeds = measure(pairs, len(data), rounds)
    return [
        {
            "data": data_name,
            "chunk_bytes": chunk_bytes,
            "family": family,
            "contender": name,
            "compress_gbps": round(packing, 4),
            "decompress_gbps": round(unpacking, 4),
            "ratio": round(ratios[name], 4),
        }
        for name, (packing, unpacking) in speeds.items()
    ]


def gpu_rows(datas: dict[str, bytes], rounds: int) -> list[dict[str, Any]]:
    """Ours and the official package's on one GPU, arrays in its memory before and after."""
    from importlib import import_module

    theirs = import_module("nvidia.nvcomp")
    has_theirs = not getattr(theirs, "__tricodec__", False)
    ours = tricodec.compress
    rows: list[dict[str, Any]] = []
    for data_name, data in datas.items():
        batches = {"one": [data], "1000x64KiB": [data[i : i + 65536] for i in range(0, 1000 * 65536, 65536)]}
        for batch_name, batch in batches.items():
            for algorithm in ("LZ4", "Snappy", "GDeflate", "Deflate", "Gzip", "Zstd", "Bitcomp", "ANS", "Cascaded"):
                pairs: dict[str, Pair] = {}
                ratios: dict[str, float] = {}
                total = sum(map(len, batch))
                for name, package in {"tricodec": ours, "nvcomp": theirs}.items():
                    if name == "nvcomp" and not has_theirs:
                        continue
                    options = {"algorithm": algorithm, **({"device": "cuda:0"} if package is ours else {})}
                    codec = package.Codec(**options)
                    arrays = [package.as_array(np.frombuffer(part, np.uint8)).cuda() for part in batch]
                    packed = codec.encode(arrays)
                    result = codec.decode(packed)
                    assert bytes(result[-1].cpu()) == batch[-1]
                    ratios[name] = total / sum(array.buffer_size for array in packed)
                    pairs[name] = (
                        lambda c=codec, a=arrays: _touched(c.encode(a)),
                        lambda c=codec, p=packed: _touched(c.decode(p)),
                    )
                speeds = measure(pairs, total, rounds)
                rows += [
                    {
                        "data": data_name, "batch": batch_name, "family": algorithm, "contender": name,
                        "compress_gbps": round(packing, 3), "decompress_gbps": round(unpacking, 3),
                        "ratio": round(ratios[name], 4),
                    }
                    for name, (packing, unpacking) in speeds.items()
                ]  # fmt: skip
    return rows


def _touched(arrays: list[Any]) -> None:
    """Results are queued; their memory is looked at on the default stream, which waits for them."""
    import torch

    for array in (arrays[0], arrays[-1]):
        _ = array.__cuda_array_interface__
    torch.cuda.synchronize()


def goals(rows: list[dict[str, Any]], threads: int) -> list[dict[str, Any]]:
    """Ours against 0.95 x cores x the C library's one thread, and against the best peer of equal ratio."""
    found = []
    for row in rows:
        if row["contender"] != "tricodec" or "batch" in row:
            continue
        same = [other for other in rows if all(other.get(k) == row.get(k) for k in ("data", "chunk_bytes", "family"))]
        for way in ("compress_gbps", "decompress_gbps"):
            library = next((other for other in same if other["contender"].startswith("C ")), None)
            peers = [o for o in same if o["contender"] not in ("tricodec",) and not o["contender"].startswith("C ")]
            equal = [o for o in peers if o["ratio"] >= 0.97 * row["ratio"]]
            found.append(
                {
                    "data": row["data"], "chunk_bytes": row["chunk_bytes"], "family": row["family"], "way": way,
                    "ours": row[way],
                    "of_library": round(row[way] / (library[way] * threads), 3) if library else None,
                    "of_best_peer": round(row[way] / max(o[way] for o in equal), 3) if equal else None,
                    "best_peer": max(equal, key=lambda o: o[way])["contender"] if equal else None,
                }
            )  # fmt: skip
    return found


def plot(rows: list[dict[str, Any]], path: Path) -> None:
    """Ratio against speed, a panel a set of data."""
    import matplotlib as mpl

    mpl.use("svg")
    from matplotlib import pyplot

    names = sorted({row["data"] for row in rows})
    figure, panels = pyplot.subplots(1, len(names), figsize=(4.2 * len(names), 4), squeeze=False)
    for panel, name in zip(panels[0], names, strict=True):
        for row in (row for row in rows if row["data"] == name):
            ours = row["contender"] == "tricodec"
            panel.plot(row["compress_gbps"], row["ratio"], "o" if ours else "x", color="C0" if ours else "0.6")
            if ours:
                panel.annotate(row["family"], (row["compress_gbps"], row["ratio"]), fontsize=7)
        panel.set(xscale="log", xlabel="compression, GB/s", ylabel="ratio", title=name)
    figure.tight_layout()
    figure.savefig(path, metadata={"Date": None})


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path)
    parser.add_argument("--gpu", action="store_true")
    parser.add_argument("--size", type=int, help="bytes of each set of data; 16 MiB, on a GPU 256 MiB")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--chunk-sizes", type=int, nargs="+", default=[65536, 1 << 20])
    parser.add_argument("--output", type=Path)
    options = parser.parse_args()
    started = time.monotonic()
    size = options.size or (256 << 20 if options.gpu else 16 << 20)
    datas = files_data(options.data, size) if options.data else made_data(size)
    threads = len(os.sched_getaffinity(0))
    if options.gpu:
        rows = gpu_rows(datas, options.rounds)
    else:
        datas |= frames_data(size)
        rows = [row for chunk in options.chunk_sizes for row in cpu_rows(datas, chunk, options.rounds, threads)]
    output = options.output or ROOT / "benchmarks/results" / ("compress_gpu.json" if options.gpu else "compress.json")
    report = {
        "environment": environment(time.monotonic() - started),
        "rounds": options.rounds,
        "bytes": size,
        "rows": rows,
        "goals": goals(rows, threads),
    }
    output.write_text(json.dumps(report, indent=1) + "\n")
    if not options.gpu:
        plot([row for row in rows if row["chunk_bytes"] == options.chunk_sizes[0]], output.with_suffix(".svg"))
    print(f"{output}: {len(rows)} rows in {time.monotonic() - started:.0f} s")


if __name__ == "__main__":
    main()
