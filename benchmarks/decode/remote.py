# SPDX-License-Identifier: Apache-2.0
"""Frames of a video on a web server with latency: random ones of a long one by tricodec.remote() beside PyAV and
torchcodec over fsspec, and all of it and of a short one in order beside the local files.

python -m benchmarks.decode.remote [--pairs N] [--output FILE]

The server is that of the tests, in a process of its own on this machine. It waits before each answer. It has the last
core for itself, as a server has a machine of its own; the reader has the others.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from fractions import Fraction
from pathlib import Path
from typing import Any

from benchmarks import results
from benchmarks.environment import environment

HELPERS = Path(__file__).resolve().parents[2] / "tests/python/helpers"
FRAMES, GOP, RATE, CHOSEN = 1200, 30, 30, 32
LONG_BYTES = 10**9
LATENCIES_MS = (20, 100)
_SERVER = """
import sys, time
from pathlib import Path
sys.path.insert(0, sys.argv[1])
from range_server import range_server
with range_server() as server:
    server.put("clip.mp4", Path(sys.argv[2]).read_bytes())
    print(server.url, flush=True)
    for line in sys.stdin:
        if line.strip():
            server.latency_s = float(line)
            server.forget()
        print(server.bytes_sent, len(server.paths), flush=True)
"""


def make_clip(folder: Path) -> Path:
    """A minute of noise at 640x480 in GOPs of two seconds, with its table in front: some hundred MB."""
    path = folder / "clip.mp4"
    noise = f"nullsrc=size=160x120:rate={RATE},geq=random(1)*255:128:128,scale=640:480:flags=neighbor"
    options = f"-c:v libx264 -preset ultrafast -bf 2 -qp 8 -g {GOP} -keyint_min {GOP} -sc_threshold 0"
    command = ["ffmpeg", "-v", "error", "-y", "-f", "lavfi", "-i", noise, "-frames:v", str(FRAMES)]
    subprocess.run([*command, *options.split(), "-movflags", "+faststart", path], check=True)
    return path


def make_long(clip: Path) -> tuple[Path, int]:
    """The clip again and again; and how many frames that has."""
    path = clip.with_name("long.mp4")
    times = -(-LONG_BYTES // clip.stat().st_size)
    command = ["ffmpeg", "-v", "error", "-y", "-stream_loop", str(times - 1), "-i", str(clip), "-c", "copy"]
    subprocess.run([*command, "-movflags", "+faststart", path], check=True)
    return path, times * FRAMES


class Server:
    """The server's process."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self._process = process
        assert process.stdout is not None
        self.url = process.stdout.readline().strip() + "/clip.mp4"

    def ask(self, latency_ms: float | None = None) -> tuple[int, int]:
        """Bytes and requests since the latency was set; sets it, if given."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(("" if latency_ms is None else str(latency_ms / 1e3)) + "\n")
        self._process.stdin.flush()
        sent, requests = map(int, self._process.stdout.readline().split())
        return sent, requests


@contextmanager
def serving(path: Path, core: int) -> Iterator[Server]:
    """A server of one clip on one core."""
    command = [sys.executable, "-c", _SERVER, str(HELPERS), str(path)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        os.sched_setaffinity(process.pid, {core})
        try:
            yield Server(process)
        finally:
            process.kill()


def tricodec_frames(source: Any, numbers: list[int]) -> list[str]:
    """MD5 of each frame's planes."""
    import tricodec

    with tricodec.FrameReader(source, device="cpu") as reader:
        return [frame.md5() for frame in reader.frames(numbers)]


def remote_frames(url: str, numbers: list[int]) -> list[str]:
    """By tricodec."""
    import tricodec

    return tricodec_frames(tricodec.remote(url), numbers)


def pyav_frames(url: str, numbers: list[int]) -> list[str]:
    """By PyAV over fsspec's file, with blocks of 1 MiB."""
    import hashlib

    import av
    import fsspec

    sums = []
    with fsspec.open(url, block_size=1 << 20) as file, av.open(file) as container:
        stream = container.streams.video[0]
        stream.thread_type = "AUTO"
        for number in numbers:
            wanted = int(Fraction(number, RATE) / stream.time_base)
            container.seek(wanted, stream=stream)
            frame = next(frame for frame in container.decode(stream) if frame.pts >= wanted)
            sums.append(hashlib.md5(frame.to_ndarray().tobytes()).hexdigest())
    return sums


def torchcodec_frames(url: str, numbers: list[int]) -> list[str]:
    """By torchcodec over the same file, without its reading of all packets."""
    import fsspec
    from torchcodec.decoders import VideoDecoder

    with fsspec.open(url, block_size=1 << 20) as file:
        frames = VideoDecoder(file, seek_mode="approximate").get_frames_at(numbers)
        return [str(frame.shape) for frame in frames.data]


PEERS: dict[str, Callable[[str, list[int]], list[str]]] = {
    "PyAV, fsspec": pyav_frames,
    "torchcodec, fsspec": torchcodec_frames,
}


def seconds(call: Callable[[], object]) -> float:
    """How long a call takes."""
    before = time.perf_counter()
    call()
    return time.perf_counter() - before


def measure(server: Server, path: Path, num_frames: int, num_pairs: int) -> Iterator[results.Row]:
    """Each cell with its pairs."""
    clip = f"h264 640x480, {path.stat().st_size >> 20} MiB, GOP {GOP}"
    choices = [sorted(random.Random(seed).sample(range(num_frames), CHOSEN)) for seed in range(num_pairs)]
    needed = [needed_bytes(path, numbers) for numbers in choices]
    for read in (remote_frames, *PEERS.values()):
        read(server.url, [0])  # imports
    for latency in LATENCIES_MS:
        fetched: list[int] = []
        times: dict[str, list[float]] = {name: [] for name in ("tricodec", *PEERS)}
        for numbers in choices:
            server.ask(latency)
            times["tricodec"].append(seconds(lambda numbers=numbers: remote_frames(server.url, numbers)))
            fetched.append(server.ask()[0])
            for name, read in PEERS.items():
                times[name].append(seconds(lambda read=read, numbers=numbers: read(server.url, numbers)))
        assert remote_frames(server.url, choices[0]) == pyav_frames(server.url, choices[0])
        task, setting = f"{CHOSEN} random frames", f"latency {latency} ms"
        for name, runs in times.items():
            yield results.Row(task, clip, name, setting=setting, unit="s").with_runs(runs)
        for name in PEERS:
            ratio = results.Row(task, clip, "tricodec", setting=setting, against=name, unit="x")
            yield ratio.with_ratios(other / own for own, other in zip(times["tricodec"], times[name], strict=True))
        share = results.Row("bytes fetched / needed", clip, "tricodec", setting=setting, unit="x")
        yield share.with_runs([got / need for got, need in zip(fetched, needed, strict=True)])


def all_frames(source: Any) -> int:
    """How many frames there are, all decoded in order."""
    import tricodec

    with tricodec.FrameReader(source, device="cpu") as reader:
        return sum(1 for _ in reader)


def measure_in_order(server: Server, path: Path, num_pairs: int) -> Iterator[results.Row]:
    """A read from one end to the other at the smallest latency, beside the local file."""
    import tricodec

    clip = f"h264 640x480, {path.stat().st_size >> 20} MiB, GOP {GOP}"
    setting = f"latency {LATENCIES_MS[0]} ms"
    ours, local, fetched = [], [], []
    for _ in range(num_pairs):
        server.ask(LATENCIES_MS[0])
        ours.append(seconds(lambda: all_frames(tricodec.remote(server.url))))
        fetched.append(server.ask()[0] / path.stat().st_size)
        local.append(seconds(lambda: all_frames(path)))
    cell = results.Row("all frames in order", clip, "tricodec", setting=setting, unit="s")
    yield cell.with_runs(ours)
    yield results.Row(cell.task, clip, "tricodec, local file", unit="s").with_runs(local)
    ratio = results.Row(cell.task, clip, "tricodec", setting=setting, against="tricodec, local file", unit="x")
    yield ratio.with_ratios(other / own for own, other in zip(ours, local, strict=True))
    yield results.Row("bytes fetched / size, in order", clip, "tricodec", setting=setting, unit="x").with_runs(fetched)


def needed_bytes(path: Path, numbers: list[int]) -> int:
    """Bytes of the GOPs of frames, and of what is before the packets."""
    command = "ffprobe -v error -select_streams v:0 -show_entries packet=pos,size -of json".split()
    packets = json.loads(subprocess.run([*command, path], check=True, capture_output=True).stdout)["packets"]
    gops = {number // GOP for number in numbers}
    return int(packets[0]["pos"]) + sum(
        int(packet["size"]) for gop in gops for packet in packets[GOP * gop : GOP * (gop + 1)]
    )


def table(facts: Mapping[str, str], rows: Sequence[results.Row]) -> str:
    """The figures for a document."""
    lines = ["| task | server | tricodec | beside | ratio |", "|---|---|---|---|---|"]
    figures = {(row.task, row.input, row.setting, row.contender): row for row in rows if not row.against}
    short = min({row.input for row in rows}, key=lambda name: int(name.split(", ")[1].split()[0]))
    for row in rows:
        if row.against:
            cell = row.task, row.input
            ours = figures[(*cell, row.setting, row.contender)]
            other = figures.get((*cell, row.setting, row.against)) or figures[(*cell, "", row.against)]
            beside = f"{row.against}: {other.value:.2f} s"
            task = row.task + (f", {row.input.split(', ')[1]}" if row.input == short else "")
            lines.append(f"| {task} | {row.setting} | {ours.value:.2f} s | {beside} | {row.value:.2f}x |")
    cores = "One core" if facts["cores"] == "1" else f"{facts['cores']} cores"
    where = f"{cores} of an {facts['cpu']} and one for the server, {facts['date'][:10]}"
    sizes = " and ".join(dict.fromkeys(row.input for row in rows))
    return f"{where}: {sizes}; medians of {rows[0].runs} pairs of runs.\n\n" + "\n".join(lines) + "\n"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pairs", type=int, default=5, help="of runs (default 5)")
    parser.add_argument("--output", type=Path, default=results.FOLDER / "remote.csv")
    options = parser.parse_args()
    started = time.monotonic()
    *cores, core_of_server = sorted(os.sched_getaffinity(0))
    os.sched_setaffinity(0, cores or {core_of_server})
    with tempfile.TemporaryDirectory() as folder:
        path = make_clip(Path(folder))
        long, num_frames = make_long(path)
        with serving(long, core_of_server) as server:
            measured = list(measure(server, long, num_frames, options.pairs))
            measured += measure_in_order(server, long, options.pairs)
        with serving(path, core_of_server) as server:
            measured += measure_in_order(server, path, options.pairs)
    results.write(options.output, environment(time.monotonic() - started), measured)
    for row in measured:
        print(row.task, row.setting, row.contender, row.against, row.value, row.unit)
    return 0


if __name__ == "__main__":
    sys.exit(main())
