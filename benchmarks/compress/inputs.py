# SPDX-License-Identifier: Apache-2.0
"""What the benchmark of compression compresses: files, decoded pictures, or data made from fixed seeds."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import tricodec
from tricodec import bench

_SECONDS = 1.0  # of a made clip


def _repeated(data: bytes, size: int) -> np.ndarray:
    """`size` bytes of it. Repeats lie further apart than any window reaches, as the data have 256 KiB and more."""
    return np.frombuffer((data * -(-size // len(data)))[:size], np.uint8)


def made(size: int) -> dict[str, np.ndarray]:
    """Text, integers and floats from fixed seeds."""
    rng = np.random.default_rng(3)
    words = np.array([f"word{i}" for i in range(2000)])
    text = " ".join(words[np.minimum(rng.zipf(1.3, size // 5), 2000) - 1]).encode()[:size]
    walk = np.cumsum(rng.normal(0, 1, size // 4)).astype("<f4").tobytes()
    runs = np.repeat(rng.integers(0, 50, size // 32), 8).astype("<i4").tobytes()[:size]
    return {name: _repeated(data, size) for name, data in (("text", text), ("f32_walk", walk), ("i32_runs", runs))}


def files(folder: Path, size: int) -> dict[str, np.ndarray]:
    """The files of each sub-folder, one after the other; archives of test vectors are left out."""
    found: dict[str, np.ndarray] = {}
    for sub in sorted(path for path in folder.iterdir() if path.is_dir()):
        joined = b"".join(
            path.read_bytes() for path in sorted(sub.iterdir()) if path.is_file() and path.suffix != ".tar"
        )
        if len(joined) >= 256 << 10:
            found[sub.name] = _repeated(joined, size)
    return found


def arrays(folder: Path, size: int) -> dict[str, np.ndarray]:
    """The files of a folder if it is there, else what is made."""
    return files(folder, size) if folder.is_dir() else made(size)


def part(data: np.ndarray, slow: bool, of: int) -> np.ndarray:
    """All of it, or a part for a slow algorithm."""
    return data[: data.size // of] if slow else data


def frames(clip: Path | None, size: int) -> dict[str, np.ndarray]:
    """Pictures as decoded, their planes one after the other: of a clip, else of one that is made here."""
    source: Path | bytes
    if clip is None:
        setting = next(iter(bench.software_settings([1])))
        _, _, source = bench.encode(bench.generate(1280, 720, _SECONDS), setting, crf="20")
    else:
        source = clip
    pixels, taken = [], 0
    with tricodec.FrameReader(source, device="cpu") as reader:
        for frame in reader:
            pixels.append(frame.to_ndarray().tobytes())
            taken += len(pixels[-1])
            if taken >= size:
                break
    return {"frames": _repeated(b"".join(pixels), size)}
