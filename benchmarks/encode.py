# SPDX-License-Identifier: Apache-2.0
"""Encoding and transcoding against the ffmpeg command line and PyAV, with the same encoder, preset and threads.

    python benchmarks/encode.py --output benchmarks/results/encode.json

Contenders run in turns, so that what else the machine does hits all of them; the figure is the median of the rounds,
and a ratio is of medians. The command line reads raw pictures from memory (/dev/shm) and writes to a pipe;
the others read the same file and keep their packets.
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import av
import environment
import numpy as np
import tricodec

PRESETS = ("medium", "veryfast", "ultrafast")
SIZES = {"360p": (640, 360), "720p": (1280, 720), "1080p": (1920, 1080)}


def make_raw(path: Path, width: int, height: int, count: int) -> Path:
    """Raw yuv420p pictures of a moving test pattern with noise."""
    pattern = f"testsrc2=s={width}x{height}:r=30,noise=alls=12:allf=t"
    command = [
        "ffmpeg",
        "-v",
        "error",
        "-y",
        "-f",
        "lavfi",
        "-i",
        pattern,
        "-frames:v",
        str(count),
        "-pix_fmt",
        "yuv420p",
    ]
    subprocess.run([*command, "-f", "rawvideo", str(path)], check=True)
    return path


def by_tricodec(raw: Path, width: int, height: int, preset: str, threads: int) -> int:
    """Bytes that tricodec.Encoder makes of the pictures."""
    encoder = tricodec.Encoder(width, height, codec="libx264", num_threads=threads, options={"preset": preset})
    frames = np.fromfile(raw, np.uint8).reshape(-1, width * height * 3 // 2)
    size = sum(len(packet) for frame in frames for packet in encoder.encode(frame, format="yuv420p"))
    return size + sum(len(packet) for packet in encoder.flush())


def by_pyav(raw: Path, width: int, height: int, preset: str, threads: int) -> int:
    """The same by PyAV."""
    context = av.CodecContext.create("libx264", "w")
    context.width, context.height, context.pix_fmt = width, height, "yuv420p"
    context.framerate, context.time_base = Fraction(30), Fraction(1, 30)
    context.thread_count, context.options = threads, {"preset": preset}
    frames = np.fromfile(raw, np.uint8).reshape(-1, height * 3 // 2, width)
    size = 0
    for number, frame in enumerate(frames):
        picture = av.VideoFrame.from_ndarray(frame, format="yuv420p")
        picture.pts = number
        size += sum(packet.size for packet in context.encode(picture))
    return size + sum(packet.size for packet in context.encode(None))


def by_ffmpeg(raw: Path, width: int, height: int, preset: str, threads: int) -> int:
    """The same by the command line, its start included."""
    command = ["ffmpeg", "-v", "error", "-f", "rawvideo", "-pix_fmt", "yuv420p", "-s", f"{width}x{height}", "-r", "30"]
    command += ["-i", str(raw), "-c:v", "libx264", "-preset", preset, "-threads", str(threads), "-f", "h264", "-"]
    return len(subprocess.run(command, check=True, capture_output=True).stdout)


def transcode_by_tricodec(source: Path, target: Path, preset: str) -> None:
    """One file to another."""
    tricodec.transcode(source, target, options={"preset": preset})


def transcode_by_ffmpeg(source: Path, target: Path, preset: str) -> None:
    """The same by the command line."""
    command = ["ffmpeg", "-v", "error", "-y", "-i", str(source), "-c:v", "libx264", "-preset", preset, "-c:a", "copy"]
    subprocess.run([*command, str(target)], check=True)


def timed(contenders: dict[str, Callable[[], Any]], rounds: int) -> dict[str, list[float]]:
    """Seconds of each contender in each round, after one that is not counted."""
    seconds: dict[str, list[float]] = {name: [] for name in contenders}
    for number in range(rounds + 1):
        for name, run in contenders.items():
            start = time.perf_counter()
            run()
            if number:
                seconds[name].append(time.perf_counter() - start)
    return seconds


def measure_encode(folder: Path, size: str, preset: str, count: int, threads: int, rounds: int) -> dict[str, Any]:
    """One row: frames a second of each contender, and the ratio to the better of the others."""
    width, height = SIZES[size]
    raw = folder / f"{size}.yuv"
    if not raw.exists():
        make_raw(raw, width, height, count)
    arguments = (raw, width, height, preset, threads)
    contenders = {"tricodec": by_tricodec, "pyav": by_pyav, "ffmpeg": by_ffmpeg}
    sizes = {name: run(*arguments) for name, run in contenders.items()}
    seconds = timed({name: lambda run=run: run(*arguments) for name, run in contenders.items()}, rounds)  # type: ignore[misc]
    rate = {name: count / statistics.median(values) for name, values in seconds.items()}
    return {
        "task": "encode", "size": size, "preset": preset, "threads": threads, "frames": count, "bytes": sizes,
        "fps": rate, "ratio": rate["tricodec"] / max(rate["pyav"], rate["ffmpeg"]),
    }  # fmt: skip


def measure_transcode(folder: Path, preset: str, count: int, rounds: int) -> dict[str, Any]:
    """One row: seconds of a 720p file by each contender."""
    width, height = SIZES["720p"]
    source = folder / "source.mp4"
    pattern = f"testsrc2=s={width}x{height}:r=30:d={count / 30}"
    command = ["ffmpeg", "-v", "error", "-y", "-f", "lavfi", "-i", pattern, "-f", "lavfi", "-i", f"sine=d={count / 30}"]
    subprocess.run([*command, "-pix_fmt", "yuv420p", "-c:v", "libx264", "-c:a", "aac", str(source)], check=True)
    target = folder / "target.mp4"
    seconds = timed(
        {
            "tricodec": lambda: transcode_by_tricodec(source, target, preset),
            "ffmpeg": lambda: transcode_by_ffmpeg(source, target, preset),
        },
        rounds,
    )
    middle = {name: statistics.median(values) for name, values in seconds.items()}
    return {
        "task": "transcode", "size": "720p", "preset": preset, "frames": count, "seconds": middle,
        "ratio": middle["ffmpeg"] / middle["tricodec"],
    }  # fmt: skip


def main() -> int:
    """Runs all rows and writes the JSON."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--output", type=Path, default=Path("benchmarks/results/encode.json"))
    parser.add_argument("--sizes", nargs="+", choices=list(SIZES), default=list(SIZES))
    parser.add_argument("--presets", nargs="+", choices=PRESETS, default=list(PRESETS))
    parser.add_argument("--frames", type=int, default=120)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    start = time.perf_counter()
    memory = Path("/dev/shm")
    with tempfile.TemporaryDirectory(dir=memory if memory.is_dir() else None) as name:
        folder = Path(name)
        rows = [
            measure_encode(folder, size, preset, options.frames, options.threads, options.rounds)
            for size in options.sizes
            for preset in options.presets
        ]
        rows += [measure_transcode(folder, preset, options.frames, options.rounds) for preset in options.presets]
    for row in rows:
        print(f"{row['task']:10} {row['size']:6} {row['preset']:10} ratio {row['ratio']:.2f}")
    facts = environment.environment(time.perf_counter() - start)
    result = {"rounds": options.rounds, "environment": facts, "rows": rows}
    options.output.parent.mkdir(parents=True, exist_ok=True)
    options.output.write_text(json.dumps(result, indent=1) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
