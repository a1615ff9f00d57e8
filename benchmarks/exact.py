# SPDX-License-Identifier: Apache-2.0
"""Whether the frames are the right ones: ours against ffmpeg's checksums, everybody's random access against itself."""

from __future__ import annotations

import dataclasses
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import clips
import numpy as np
from driver import Failed, ask, cores_for, request_of
from plan import Cell, random_indices

_COLUMNS, _ROWS = 64, 36  # of the pictures compared: whole blocks of 1080p, 720p and 320x180


@dataclasses.dataclass(frozen=True)
class Exactness:
    """Random access of one contender on one clip.

    Attributes:
        clip: of clips.RECIPES.
        contender: of peers.MODULES.
        of: frames asked for.
        wrong: those of them that were not the frame of that number.
    """

    clip: str
    contender: str
    of: int
    wrong: list[int]


def frame_md5s(path: Path) -> list[str]:
    """The MD5 of each decoded frame, by the ffmpeg command line."""
    command = ["ffmpeg", "-nostdin", "-v", "error", "-noautorotate", "-flags", "unaligned", "-i", str(path)]
    command += ["-map", "0:v:0", "-fps_mode", "passthrough", "-noautoscale", "-f", "framemd5", "-"]
    lines = subprocess.run(command, check=True, capture_output=True, text=True).stdout.splitlines()
    return [line.rsplit(",", 1)[1].strip() for line in lines if not line.startswith("#")]


def equal_frames(path: Path) -> tuple[int, int]:
    """How many of tricodec's frames have ffmpeg's checksum, and how many there should be."""
    import tricodec

    expected = frame_md5s(path)
    with tricodec.FrameReader(path) as reader:
        found = [frame.md5() for frame in reader]
    return sum(a == b for a, b in zip(found, expected, strict=False)), max(len(expected), len(found))


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


def check(clip: str, contender: str, *, lists: int) -> Exactness:
    """Asks one contender for random frames, in lists of 32.

    Raises:
        Failed: if the contender cannot.
    """
    cores = len(cores_for(2))
    request: dict[str, Any] = request_of(Cell("random", clip, contender, cores, cores, 1))
    num_frames = clips.RECIPES[clip].num_frames
    request |= {
        "task": "wrong_frames",
        "lists": [random_indices(num_frames, seed) for seed in range(lists)],
        "reference": str(_reference(clip)),
    }
    answer, _ = ask(request, cores_for(2))
    return Exactness(clip, contender, answer["of"], answer["wrong"])


def check_all(clip: str, contenders: Sequence[str], *, lists: int) -> tuple[list[Exactness], dict[str, str]]:
    """Each of these contenders; and why some have no result."""
    results, failures = [], {}
    for contender in contenders:
        try:
            results.append(check(clip, contender, lists=lists))
        except Failed as failure:
            failures[contender] = str(failure)
    return results, failures
