# SPDX-License-Identifier: Apache-2.0
"""Encoding and transcoding on a CPU, beside the ffmpeg command line and PyAV with the same encoder and preset.

PyAV brings encoders of its own. Its libx264 makes the stream that tricodec's makes; its newer libx265 and SVT-AV1 do
other work at the same preset, so it is compared with libx264 only.
"""

from __future__ import annotations

import contextlib
import subprocess
from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from benchmarks.decode.clips import FOLDER, ffmpeg
from benchmarks.results import Case
from benchmarks.suite import Options

if TYPE_CHECKING:
    from tricodec.measure.bench import Work

SECONDS = 1.0
_THREADS = 2
_SIZES = {"144p": (256, 144), "720p": (1280, 720), "1080p": (1920, 1080)}
_X26 = ("medium", "veryfast", "ultrafast")
# Task, encoder, size, frames, presets.
_FULL = (
    ("encode", "libx264", "1080p", 120, _X26),
    ("encode", "libx264", "720p", 120, _X26),
    ("encode", "libx265", "720p", 60, _X26),
    ("encode", "libsvtav1", "720p", 60, ("8", "10", "12")),
    ("transcode", "libx264", "720p", 300, _X26),
)
_QUICK = (("encode", "libx264", "144p", 30, ("ultrafast",)), ("transcode", "libx264", "144p", 30, ("ultrafast",)))


def cases(options: Options) -> list[Case]:
    """Every encoder, size and preset."""
    found = []
    for task, encoder, size, frames, presets in _QUICK if options.quick else _FULL:
        peers = ("ffmpeg", "pyav") if (task, encoder) == ("encode", "libx264") else ("ffmpeg",)
        for preset in presets:
            for contender in ("tricodec", *peers):
                found.append(Case(task, f"{encoder} {size}, {frames} frames", contender, preset, threads=_THREADS))
    return found


def facts(cases: Sequence[Case]) -> dict[str, str]:
    """Makes the test pattern of each size, raw and as H.264 with sound in mp4."""
    for case in cases:
        _source(case)
    return {"content": "ffmpeg's testsrc2"}


def _source(case: Case) -> tuple[Path, int, int, int]:
    """The file that is read, the size of its pictures, and their number."""
    _, size, number, _ = case.input.replace(",", "").split()
    (width, height), frames = _SIZES[size], int(number)
    path = FOLDER / f"testsrc2_{size}_{frames}.{'yuv' if case.task == 'encode' else 'mp4'}"
    if not path.exists():
        FOLDER.mkdir(parents=True, exist_ok=True)
        pattern = ("-f", "lavfi", "-i", f"testsrc2=s={width}x{height}:r=30:d={frames / 30}")
        sound = ("-f", "lavfi", "-i", f"sine=d={frames / 30}", "-c:v", "libx264", "-c:a", "aac")
        ffmpeg(*pattern, *(sound if case.task == "transcode" else ("-f", "rawvideo")), "-pix_fmt", "yuv420p", str(path))
    return path, width, height, frames


@contextlib.contextmanager
def open_work(case: Case) -> Iterator[Work]:
    """A query encodes raw pictures that are mapped into memory, or transcodes a file; both end in memory."""
    from tricodec.measure.bench import Done

    path, width, height, frames = _source(case)
    encode = _WAYS[case.task, case.contender](case, path, width, height)
    raw_bytes = frames * width * height * 3 // 2
    yield lambda: Done(frames, raw_bytes, encode())


def _pictures(path: Path, width: int, height: int) -> np.ndarray:
    return np.memmap(path, np.uint8, "r").reshape(-1, height * 3 // 2, width)


def _by_tricodec(case: Case, path: Path, width: int, height: int) -> Callable[[], int]:
    import tricodec

    frames = _pictures(path, width, height)
    codec: Any = case.input.split()[0]

    def encode() -> int:
        encoder = tricodec.Encoder(
            width, height, codec=codec, device="cpu", num_threads=case.threads, options={"preset": case.setting}
        )
        size = sum(len(packet) for frame in frames for packet in encoder.encode(frame, format="yuv420p"))
        return size + sum(len(packet) for packet in encoder.flush())

    return encode


def _by_pyav(case: Case, path: Path, width: int, height: int) -> Callable[[], int]:
    import av

    frames = _pictures(path, width, height)

    def encode() -> int:
        context = av.CodecContext.create(case.input.split()[0], "w")
        context.width, context.height, context.pix_fmt = width, height, "yuv420p"
        context.framerate, context.time_base = Fraction(30), Fraction(1, 30)
        context.thread_type, context.thread_count = "AUTO", case.threads
        context.options = {"preset": case.setting}
        size = 0
        for number, frame in enumerate(frames):
            picture = av.VideoFrame.from_ndarray(frame, format="yuv420p")
            picture.pts = number
            size += sum(packet.size for packet in context.encode(picture))
        return size + sum(packet.size for packet in context.encode(None))

    return encode


def _by_command(case: Case, path: Path, width: int, height: int) -> Callable[[], int]:
    codec = case.input.split()[0]
    source = ["-f", "rawvideo", "-pix_fmt", "yuv420p", "-s", f"{width}x{height}", "-r", "30"]
    form = "ivf" if codec == "libsvtav1" else "rawvideo"
    target = ["-threads", str(case.threads), "-f", form]
    if case.task == "transcode":
        source, target = [], ["-c:a", "copy", "-f", "matroska"]
    command = ["ffmpeg", "-v", "error", "-nostdin", *source, "-i", str(path)]
    command += ["-c:v", codec, "-preset", case.setting, *target, "-"]
    return lambda: len(subprocess.run(command, check=True, stdout=subprocess.PIPE).stdout)


def _transcoded(case: Case, path: Path, *_: int) -> Callable[[], int]:
    import tricodec

    codec: Any = case.input.split()[0]
    return lambda: (
        tricodec.transcode(
            path, None, format="matroska", codec=codec, device="cpu", options={"preset": case.setting}
        ).size_bytes
    )


_WAYS: dict[tuple[str, str], Callable[[Case, Path, int, int], Callable[[], int]]] = {
    ("encode", "tricodec"): _by_tricodec,
    ("encode", "pyav"): _by_pyav,
    ("encode", "ffmpeg"): _by_command,
    ("transcode", "tricodec"): _transcoded,
    ("transcode", "ffmpeg"): _by_command,
}
