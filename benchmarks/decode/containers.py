# SPDX-License-Identifier: Apache-2.0
"""How long opening a large file and counting its frames takes, by what its container lists.

python -m benchmarks.decode.containers [--gigabytes N] [--runs N] [--output FILE]

The files repeat one clip, and are in the page cache. `index="packets"`, which reads them whole, is beside it.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Literal

from benchmarks import results
from benchmarks.environment import environment

RATE, GOP, FRAMES = 30, 60, 1800
CHOSEN = 8
#: By name: the codec, and how the clip is put into the container.
CONTAINERS = {
    "mp4": ("h264", "-movflags +faststart", "mp4"),
    "mp4 in fragments": ("h264", "-movflags +frag_keyframe+empty_moov", "mp4"),
    "mp4 in fragments, sidx": ("h264", "-movflags +dash+global_sidx", "mp4"),
    "mkv": ("h264", "", "mkv"),
    "avi": ("mjpeg", "", "avi"),
}
_ENCODERS = {
    "h264": f"-c:v libx264 -preset ultrafast -bf 2 -b:v 8M -maxrate 8M -bufsize 8M -g {GOP} -keyint_min {GOP}",
    "mjpeg": "-c:v mjpeg -q:v 2 -pix_fmt yuvj420p",
}


def ffmpeg(*arguments: object) -> None:
    """Runs ffmpeg."""
    subprocess.run(["ffmpeg", "-v", "error", "-y", *map(str, arguments)], check=True)


def make_clip(folder: Path, codec: str) -> Path:
    """A minute of 640x360 with sound."""
    path = folder / f"{codec}.mkv"
    if not path.exists():
        picture = f"testsrc2=size=640x360:rate={RATE},noise=alls=40:allf=t+u"
        sound = f"sine=sample_rate=48000:duration={FRAMES // RATE}"
        encoder = f"{_ENCODERS[codec]} -sc_threshold 0 -c:a aac".split()
        ffmpeg("-f", "lavfi", "-i", picture, "-f", "lavfi", "-i", sound, "-frames:v", FRAMES, *encoder, path)
    return path


def seconds_to_count(path: Path, index: Literal["container", "packets"]) -> tuple[float, int, int]:
    """Time, frames and bytes of opening a file and counting its frames."""
    import tricodec

    before = time.perf_counter()
    with tricodec.FrameReader(path, device="cpu", index=index) as reader:
        num_frames = len(reader)
        return time.perf_counter() - before, num_frames, reader.stats.bytes_read


def share_of_gops(path: Path) -> float:
    """Bytes that 8 frames in two GOPs take, by the bytes of these GOPs."""
    import tricodec

    with tricodec.FrameReader(path, device="cpu", index="container") as reader:
        num_frames = len(reader)
        gops = reader._gops()
        before = reader.stats.bytes_read
        firsts = [gops[len(gops) * share // 3] for share in (1, 2)]
        wanted = [int(gop[0]) + i for gop in firsts for i in range(min(CHOSEN // 2, num_frames - int(gop[0])))]
        reader.frames(wanted)
        whole = sum(int(gop[3]) for gop in gops if any(gop[0] <= number < gop[0] + gop[1] for number in wanted))
        return (reader.stats.bytes_read - before) / whole


def measure(folder: Path, gigabytes: float, num_runs: int) -> Iterator[results.Row]:
    """The rows of each container."""
    for name, (codec, options, suffix) in CONTAINERS.items():
        clip = make_clip(folder, codec)
        loops = max(1, round(gigabytes * 1e9 / clip.stat().st_size))
        path = folder / f"large.{suffix}"
        ffmpeg("-stream_loop", loops - 1, "-i", clip, "-c", "copy", *options.split(), path)
        whole_s, num_frames, _ = seconds_to_count(path, "packets")
        runs = [seconds_to_count(path, "container") for _ in range(num_runs)]
        assert {run[1] for run in runs} == {num_frames}
        text = f"{name}, {codec}, {path.stat().st_size / 1e9:.1f} GB, {num_frames} frames"
        row = results.Row("open, len()", text, "tricodec", unit="ms")
        yield row.with_runs([1e3 * run[0] for run in runs])
        yield results.Row(row.task, text, "tricodec", setting="all packets", unit="ms").with_runs([1e3 * whole_s])
        yield results.Row("bytes read by open, len()", text, "tricodec", unit="MB").with_runs([runs[0][2] / 1e6])
        if codec == "h264":  # else each frame is a GOP
            share = results.Row("bytes of 8 frames / of their GOPs", text, "tricodec", unit="x")
            yield share.with_runs([share_of_gops(path)])
        path.unlink()


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--gigabytes", type=float, default=2, help="of each file (default 2)")
    parser.add_argument("--runs", type=int, default=5, help="default 5")
    parser.add_argument("--output", type=Path, default=results.FOLDER / "containers.csv")
    options = parser.parse_args()
    started = time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        measured = list(measure(Path(folder), options.gigabytes, options.runs))
    results.write(options.output, environment(time.monotonic() - started), measured)
    for row in measured:
        print(row.task, row.input, row.setting, row.value, row.unit)
    return 0


if __name__ == "__main__":
    sys.exit(main())
