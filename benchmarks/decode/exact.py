# SPDX-License-Identifier: Apache-2.0
"""Whether the frames are the right ones: ours by ffmpeg's checksums, random access by each contender's own decoding."""

from __future__ import annotations

import dataclasses
import subprocess
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.decode import clips
from benchmarks.decode.driver import Failed, ask, cores_for, request_of
from benchmarks.decode.plan import Cell, random_indices
from benchmarks.results import Row

_COLUMNS, _ROWS = 64, 36  # of the pictures compared: whole blocks of 1080p, 720p and 320x180


def frame_md5s(path: Path) -> list[str]:
    """The MD5 of each decoded frame, by the ffmpeg command line."""
    command = ["ffmpeg", "-nostdin", "-v", "error", "-noautorotate", "-flags", "unaligned", "-i", str(path)]
    command += ["-map", "0:v:0", "-fps_mode", "passthrough", "-noautoscale", "-f", "framemd5", "-"]
    lines = subprocess.run(command, check=True, capture_output=True, text=True).stdout.splitlines()
    return [line.rsplit(",", 1)[1].strip() for line in lines if not line.startswith("#")]


def equal_frames(clip: str) -> Row:
    """How many of tricodec's frames have ffmpeg's checksum, of how many that there should be."""
    import tricodec

    path = clips.clip(clip)
    expected = frame_md5s(path)
    with tricodec.FrameReader(path) as reader:
        found = [frame.md5() for frame in reader]
    equal = sum(a == b for a, b in zip(found, expected, strict=False))
    return Row("equal", clip, "tricodec", value=float(equal), unit="frames", runs=max(len(expected), len(found)))


def _reference(clip: str) -> Path:
    """ffmpeg's RGB pictures of a clip averaged over blocks, [num_frames, 36, 64, 3] float32, in a file."""
    path = clips.clip(clip)
    width, height = clips.RECIPES[clip].size
    saved = path.with_name(f"{path.stem}-{_COLUMNS}x{_ROWS}.npy")
    if not saved.is_file():
        command = ["ffmpeg", "-nostdin", "-v", "error", "-i", str(path), "-map", "0:v:0", "-fps_mode", "passthrough"]
        command += ["-sws_flags", "accurate_rnd+full_chroma_int", "-f", "rawvideo", "-pix_fmt", "rgb24", "-"]
        pictures = []
        with subprocess.Popen(command, stdout=subprocess.PIPE) as process:
            assert process.stdout is not None
            while data := process.stdout.read(width * height * 3):
                blocks = np.frombuffer(data, np.uint8).reshape(_ROWS, height // _ROWS, _COLUMNS, width // _COLUMNS, 3)
                pictures.append(blocks.mean((1, 3), dtype=np.float32))
        if process.returncode != 0:
            raise subprocess.CalledProcessError(process.returncode, command)
        np.save(saved, np.stack(pictures))
    return saved


def _wrong_frames(clip: str, contender: str, lists: int) -> Row:
    cores = len(cores_for(2))
    request: dict[str, Any] = request_of(Cell("random", clip, contender, cores, cores))
    num_frames = clips.RECIPES[clip].num_frames
    request |= {
        "task": "wrong_frames",
        "lists": [random_indices(num_frames, seed) for seed in range(lists)],
        "reference": str(_reference(clip)),
    }
    row = Row("wrong", clip, contender, unit="frames")
    try:
        answer = ask(request, cores_for(2))
    except Failed as failure:
        return dataclasses.replace(row, note=str(failure))
    wrong = answer["wrong"]
    return dataclasses.replace(row, value=float(len(wrong)), runs=answer["of"], note=" ".join(map(str, wrong)))


def wrong_frames(clip: str, contenders: Sequence[str], *, lists: int) -> Iterator[Row]:
    """How many frames of each contender's random access, in lists of 32, are other ones than asked for."""
    for contender in contenders:
        yield _wrong_frames(clip, contender, lists)
