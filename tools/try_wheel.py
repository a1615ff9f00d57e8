# SPDX-License-Identifier: Apache-2.0
"""Tries wheels of tools/make_wheel.py, those for other machines by QEMU: all must give the same pixels as ffmpeg.

python tools/try_wheel.py build/wheel/tricodec-*.whl

pip installs each wheel and what it requires into a folder of its own, for the machine of its tag. There a program reads
small clips that the system's ffmpeg encodes, scales and converts frames, encodes, compresses, and opens a stream, with
no other FFmpeg on the path. Digests of frames are compared with ffmpeg's, and those of all else between the wheels.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from cross import SYSTEMS, CrossError, target_of

ROOT = Path(__file__).resolve().parents[1]

CLIPS = {
    "h264.mp4": ["-c:v", "libx264", "-bf", "2"],
    "hevc10.mp4": ["-c:v", "libx265", "-x265-params", "log-level=error", "-pix_fmt", "yuv420p10le"],
    "av1.mp4": ["-c:v", "libsvtav1", "-svtav1-params", "film-grain=8"],
    "vp9.webm": ["-c:v", "libvpx-vp9", "-pix_fmt", "yuv444p"],
    "vp8.webm": ["-c:v", "libvpx"],
    "mjpeg.avi": ["-c:v", "mjpeg", "-pix_fmt", "yuvj422p"],
    "mpeg2.ts": ["-c:v", "mpeg2video", "-bf", "2"],
}
# Prints one JSON object; its arguments are clips.
PROGRAM = """
import hashlib, json, platform, sys
from pathlib import Path
import numpy as np, tricodec, tricodec.io

def digest(arrays):
    total = hashlib.md5()
    for array in arrays:
        total.update(np.ascontiguousarray(array).tobytes())
    return total.hexdigest()

facts = {"machine": platform.machine(), "build": tricodec.build_info().splitlines()}
facts["decoded"], facts["prepared"], facts["encoded"], facts["restored"] = {}, {}, {}, {}
ways = {
    "RGB": {},
    "floats": dict(size=(56, 72), dtype="float32", layout="CHW", mean=[0.485, 0.456, 0.406], std=[0.229, 0.224, 0.225]),
    "halves": dict(size=(97, 131), dtype="float16", layout="HWC8", resize="bicubic"),
}
for clip in sys.argv[1:]:
    with tricodec.FrameReader(clip) as reader:
        facts["decoded"][Path(clip).name] = digest(frame.to_ndarray() for frame in reader)
        numbers = range(0, len(reader), 5)
        batches = {name: reader.batch(numbers, **way) for name, way in ways.items()}
        facts["prepared"][Path(clip).name] = {name: digest([batch]) for name, batch in batches.items()}
noise = np.random.default_rng(1).integers(0, 256, (8, 64, 96, 3), np.uint8)
for codec in ("h264", "hevc", "av1"):
    facts["encoded"][codec] = len(tricodec.FrameReader(tricodec.encode_video(noise, codec=codec)))
for algorithm in ("lz4", "snappy", "zstd", "deflate", "gzip", "gdeflate"):
    codec = tricodec.Codec(algorithm=algorithm)
    facts["restored"][algorithm] = bytes(codec.decode(codec.encode(noise.tobytes()))) == noise.tobytes()
stream = tricodec.io.StreamReader("testsrc=duration=1", format="lavfi")
stream.add_basic_video_stream(1)
stream.fill_buffer()
facts["stream"] = list(stream.pop_chunks()[0].shape)
facts["mapped"] = sorted({line.split()[-1] for line in open("/proc/self/maps") if ".so" in line})
print(json.dumps(facts))
"""


class TrialError(Exception):
    """What a wheel does not do."""


def encode_clips(folder: Path) -> list[Path]:
    """A clip of each codec, by the system's ffmpeg."""
    clips = []
    for name, options in CLIPS.items():
        source = ["-f", "lavfi", "-i", "testsrc2=size=178x144:rate=25:duration=1"]
        command = ["ffmpeg", "-v", "error", "-y", *source, *options, folder / name]
        subprocess.run(command, env={**os.environ, "SVT_LOG": "1"}, check=True)
        clips.append(folder / name)
    return clips


def ffmpeg_digest(clip: Path) -> str:
    """Of all frames of a clip, in their own format."""
    options = ["-v", "error", "-i", clip, "-map", "0:v", "-fps_mode", "passthrough", "-f", "rawvideo", "-"]
    frames = subprocess.run(["ffmpeg", *options], stdout=subprocess.PIPE, check=True).stdout
    return hashlib.md5(frames).hexdigest()


def machine_of(wheel: Path) -> str:
    """As its tag has it."""
    found = re.search(r"linux(?:_\d+_\d+)?_([a-z0-9_]+)\.whl$", wheel.name)
    if found is None:
        raise TrialError(f"{wheel.name} is not for Linux")
    return found[1]


def install(wheel: Path, site: Path) -> None:
    """The wheel and the packages that it requires, of its machine."""
    machine = machine_of(wheel)
    newest = int(re.findall(r"manylinux_2_(\d+)", wheel.name)[-1])
    platforms = [f"manylinux_2_{minor}_{machine}" for minor in range(newest, 16, -1)]
    words = [word for each in (*platforms, f"manylinux2014_{machine}") for word in ("--platform", each)]
    pip = [
        sys.executable,
        "-m",
        "pip",
        "--quiet",
        "--disable-pip-version-check",
        "install",
        "--no-warn-conflicts",
        "--only-binary=:all:",
    ]
    subprocess.run([*pip, *words, "--target", site, wheel], check=True)


def facts_of(machine: str, site: Path, clips: list[Path]) -> dict[str, Any]:
    """What the program says with the packages of `site` and nothing else."""
    target = target_of(machine, SYSTEMS / machine)
    environment = {"PATH": "/nowhere", "PYTHONPATH": str(site), "HOME": str(site)}
    command = [*target.emulator, target.python, "-c", PROGRAM, *map(str, clips)]
    said = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    if said.returncode != 0:
        raise TrialError(f"on {machine} the program ended with status {said.returncode}:\n{said.stderr}")
    facts: dict[str, Any] = json.loads(said.stdout)
    return facts


def differences(facts: dict[str, dict[str, Any]], expected: dict[str, str]) -> list[str]:
    """A line for each wheel and fact that is not as ffmpeg or the first wheel has it."""
    first = next(iter(facts.values()))
    found = []
    for name, each in facts.items():
        found += [
            f"{name}: frames of {clip} are {digest}, not ffmpeg's {expected[clip]}"
            for clip, digest in each["decoded"].items()
            if digest != expected[clip]
        ]
        found += [
            f"{name}: {key} does not restore its data" for key, is_same in each["restored"].items() if not is_same
        ]
        found += [
            f"{name}: {key} is {each[key]}, not {first[key]}"
            for key in ("prepared", "encoded", "stream")
            if each[key] != first[key]
        ]
    return found


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("wheels", nargs="+", type=Path)
    options = parser.parse_args()
    wheels = options.wheels
    try:
        with tempfile.TemporaryDirectory() as temporary:
            folder = Path(temporary)
            clips = encode_clips(folder)
            facts = {}
            for wheel in wheels:
                site = folder / machine_of(wheel)
                install(wheel, site)
                facts[wheel.name] = facts_of(machine_of(wheel), site, clips)
                print(f"{wheel.name}: ran on {facts[wheel.name]['machine']}", flush=True)
            found = differences(facts, {clip.name: ffmpeg_digest(clip) for clip in clips})
    except (TrialError, CrossError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    for line in found:
        print(line, file=sys.stderr)
    if not found:
        print(f"{len(clips)} clips, {len(wheels)} wheels: the same pixels as ffmpeg's")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
