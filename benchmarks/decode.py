# SPDX-License-Identifier: Apache-2.0
"""Decoding whole files on the CPU: tricodec, PyAV and the ffmpeg command line, all with their own threading."""

from __future__ import annotations

import hashlib
import subprocess
from collections.abc import Iterator
from pathlib import Path

import av
import tricodec
from measure import rate
from schema import Goal, Record


def ours(path: Path) -> int:
    with tricodec.FrameReader(path) as reader:
        return sum(1 for _ in reader)


def pyav(path: Path) -> int:
    with av.open(str(path)) as container:
        container.streams.video[0].thread_type = "AUTO"
        return sum(1 for _ in container.decode(video=0))


def ffmpeg(path: Path, num_frames: int) -> int:
    command = ["ffmpeg", "-nostdin", "-v", "error", "-i", str(path), "-map", "0:v:0", "-fps_mode", "passthrough"]
    subprocess.run([*command, "-f", "null", "-"], check=True)
    return num_frames


def frame_md5s(path: Path) -> list[str]:
    command = ["ffmpeg", "-nostdin", "-v", "error", "-noautorotate", "-flags", "unaligned", "-i", str(path)]
    command += ["-map", "0:v:0", "-fps_mode", "passthrough", "-autoscale", "0", "-f", "framemd5", "-"]
    lines = subprocess.run(command, check=True, capture_output=True, text=True).stdout.splitlines()
    return [line.rsplit(",", 1)[1].strip() for line in lines if not line.startswith("#")]


def records(clips: dict[str, Path], samples: int) -> Iterator[Record]:
    """Frames a second of each clip, opened, indexed and decoded from the first frame to the last."""
    for name, path in clips.items():
        num_frames = ours(path)
        peers = {"pyav": lambda path=path: pyav(path), "ffmpeg": lambda path=path, n=num_frames: ffmpeg(path, n)}
        yield rate(f"decode.{name}", "frames/s", lambda path=path: ours(path), peers, samples=samples)


def goals(clips: dict[str, Path]) -> Iterator[Goal]:
    """Every frame has the bytes that ffmpeg gives."""
    for name, path in clips.items():
        expected = frame_md5s(path)
        with tricodec.FrameReader(path) as reader:
            found = [hashlib.md5(frame.pack(), usedforsecurity=False).hexdigest() for frame in reader]
        equal = sum(a == b for a, b in zip(found, expected, strict=False))
        met = len(found) == len(expected) == equal
        yield Goal(f"decode.{name}.frames_equal_to_ffmpeg", equal, len(expected), met)
