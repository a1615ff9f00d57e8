# SPDX-License-Identifier: Apache-2.0
"""Small clips of every codec, damaged at random, and what a reader makes of them.

python damaged_clips.py FIRST COUNT   reads the clips of so many seeds; prints each and what is wrong, in JSON.
"""

from __future__ import annotations

import contextlib
import functools
import hashlib
import json
import random
import sys
import tempfile
from pathlib import Path

import media
import tricodec
from bitstreams import probe

_SIZE = "64x64"
_X264 = "-c:v libx264 -preset veryfast -crf 30 -threads 1 -x264-params scenecut=0:b-adapt=0:"
_X265 = "-c:v libx265 -preset ultrafast -crf 32 -x265-params pools=1:frame-threads=1:log-level=error:"
_MPEG4 = "-c:v mpeg4 -threads 3 -q:v 8 -g 10 "  # threads code slices: the same everywhere
SMALL = {
    "h264.mp4": _X264 + "keyint=10:bframes=3",
    "h264_open.mp4": _X264 + "keyint=10:bframes=3:open-gop=1:b-pyramid=normal",
    "h264_slices.mkv": _X264 + "keyint=10:bframes=2:slices=4",
    "h264_fields.ts": _X264 + "keyint=10:bframes=2:tff=1",
    "hevc_open.mp4": _X265 + "keyint=10:bframes=3:open-gop=1",
    "hevc.mkv": _X265 + "keyint=10:bframes=3:open-gop=0",
    "av1.mp4": "-c:v libsvtav1 -preset 10 -crf 50 -g 10",
    "av1.mkv": "-c:v libsvtav1 -preset 10 -crf 50 -g 10",
    "vp9.webm": "-c:v libvpx-vp9 -b:v 100k -deadline realtime -cpu-used 8 -threads 1 -g 10",
    "mpeg4.mp4": _MPEG4 + "-bf 2",
    "mpeg4.avi": _MPEG4,
    "vp8.webm": "-c:v libvpx -b:v 100k -deadline realtime -threads 1 -g 10",
}
"""The encoder's options of each."""

FIRST_OF_VP8 = 1_000_000
"""Seeds from here on damage VP8, those before the other clips: these were there first, and keep their damage."""


def made(name: str, options: str, size: str = _SIZE, seconds: float = 1.2) -> Path:
    """A clip of moving bars, made once and kept with the other test media."""
    source = f"-f lavfi -i testsrc2=size={size}:rate=25 -t {seconds}"
    words = f"{source} {options} -pix_fmt yuv420p -fflags +bitexact -flags:v +bitexact"
    path = media.CACHE / "small" / hashlib.sha256(words.encode()).hexdigest()[:16] / name
    if not path.is_file():
        path.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=path.parent) as folder:
            unfinished = Path(folder) / name
            media.ffmpeg(words, unfinished)
            unfinished.replace(path)  # a test run beside this one sees the whole file or none
    return path


@functools.cache
def _clip(name: str) -> tuple[bytes, list[tuple[int, int]]]:
    """A small clip, and where its packets lie: position and size."""
    path = made(name, SMALL[name])
    packets = probe(path, "packet=pos,size")["packets"]
    return path.read_bytes(), [(int(packet["pos"]), int(packet["size"])) for packet in packets if "pos" in packet]


def _flip_bits(data: bytearray, packets: list[tuple[int, int]], rng: random.Random) -> None:
    for _ in range(rng.choice((1, 1, 1, 2, 8, 40))):
        data[rng.randrange(len(data))] ^= 1 << rng.randrange(8)


def _flip_header(data: bytearray, packets: list[tuple[int, int]], rng: random.Random) -> None:
    """Of a packet: lengths, types and headers of NAL units, of AV1's units and of pictures."""
    position, size = rng.choice(packets)
    data[position + rng.randrange(min(size, 12))] = rng.randrange(256)


def _zero(data: bytearray, packets: list[tuple[int, int]], rng: random.Random) -> None:
    position, size = rng.choice(packets)
    first = rng.randrange(size)
    length = rng.randrange(1, size - first + 1)
    data[position + first : position + first + length] = bytes(length)


def _copy_packet(data: bytearray, packets: list[tuple[int, int]], rng: random.Random) -> None:
    (position, size), (other, other_size) = rng.choice(packets), rng.choice(packets)
    length = min(size, other_size)
    data[position : position + length] = data[other : other + length]


def _edit_table(data: bytearray, packets: list[tuple[int, int]], rng: random.Random) -> None:
    """A number outside the packets: of an MP4 file's boxes, another container's headers and indexes."""
    inside = bytearray(len(data))
    for position, size in packets:
        inside[position : position + size] = b"\1" * size
    places = [at for at in range(len(data) - 4) if not any(inside[at : at + 4])]
    if not places:
        return _flip_bits(data, packets, rng)
    at = rng.choice(places)
    number = int.from_bytes(data[at : at + 4], "big")
    changed = rng.choice((number ^ 1, number + 1, number - 1, 0, 1, rng.getrandbits(8), rng.getrandbits(32)))
    data[at : at + 4] = (changed & 0xFFFFFFFF).to_bytes(4, "big")
    return None


def _cut(data: bytearray, packets: list[tuple[int, int]], rng: random.Random) -> None:
    del data[rng.randrange(len(data) // 4, len(data)) :]


def without_frame_15() -> bytes:
    """A clip of 30 packets, of which one gives no frame: nothing refers to it, and its slice ends in the header."""
    return _without_frames([17])


def _without_frames(numbers: list[int]) -> bytes:
    data, packets = _clip("h264.mp4")
    changed = bytearray(data)
    for number in numbers:
        position, size = packets[number]
        changed[position + 8 : position + size] = bytes(size - 8)  # after the picture's numbers
    return bytes(changed)


def of_two_sizes() -> bytes:
    """A stream of 30 frames of 64x64 and 30 of 96x48."""
    return b"".join(made("h264.h264", SMALL["h264.mp4"], size).read_bytes() for size in ("64x64", "96x48"))


_DAMAGES = (_flip_bits, _flip_bits, _flip_bits, _flip_header, _flip_header, _zero, _copy_packet, _edit_table, _cut)


def damaged(seed: int) -> tuple[str, bytes]:
    """The clip of this seed, the same on every run, and what was done to it."""
    rng = random.Random(seed)
    name = "vp8.webm" if seed >= FIRST_OF_VP8 else rng.choice([name for name in SMALL if name != "vp8.webm"])
    data, packets = _clip(name)
    damage = rng.choice(_DAMAGES)
    changed = bytearray(data)
    damage(changed, packets, rng)
    return f"{name}, {damage.__name__.strip('_')}", bytes(changed)


def _iterated(data: bytes, num_workers: int) -> list[str]:
    with tricodec.FrameReader(data, device="cpu", num_workers=num_workers) as reader:
        return [frame.md5() for frame in reader]


def _decoded(data: bytes, num_workers: int) -> list[str]:
    video = tricodec.decode_video(data, device="cpu", num_workers=num_workers)
    assert len(video.frames) == len(video.pts_seconds)
    return []


def _accessed(data: bytes, num_workers: int) -> list[str]:
    """One by one in any order, which may number the frames again, then in order."""
    with tricodec.FrameReader(data, device="cpu", num_workers=num_workers) as reader:
        numbers = list(range(len(reader)))
        random.Random(len(data)).shuffle(numbers)
        for number in numbers:
            with contextlib.suppress(IndexError, tricodec.Error):
                reader[number]
        return [reader[number].md5() for number in range(len(reader))]


@functools.cache
def _undamaged(name: str) -> list[str]:
    return _iterated(_clip(name)[0], 1)


def _num_before_damage(name: str, data: bytes) -> int:
    """Frames that are shown before the GOP with the first changed byte; 0 if that is in no packet."""
    clip, packets = _clip(name)
    differs = (number for number, (old, new) in enumerate(zip(clip, data, strict=False)) if old != new)
    first = next(differs, min(len(clip), len(data)))
    damaged = [number for number, (position, size) in enumerate(packets) if position <= first < position + size]
    most_reordered = 4  # of the pictures around an open key frame
    return max(0, damaged[0] // 10 * 10 - most_reordered) if damaged and len(clip) == len(data) else 0


def faults(name: str, data: bytes) -> list[str]:
    """What is wrong with the frames of a damaged file: those before the damage are exact on every path.

    A damaged file raises an error of tricodec, or an IndexError, and nothing else.
    """
    found = []
    num_whole = _num_before_damage(name, data)
    for num_workers in (1, 2):
        for way in (_iterated, _decoded, _accessed):
            try:
                frames = way(data, num_workers)
            except (IndexError, tricodec.Error):
                continue
            if frames and frames[:num_whole] != _undamaged(name)[:num_whole]:
                found.append(f"{way.__name__[1:]} by {num_workers}: the first {num_whole} frames are not exact")
    return found


def main(first: int, count: int) -> None:
    """Prints each seed before its clip is read, and then in how far that went wrong."""
    for seed in range(first, first + count):
        what, data = damaged(seed)
        print(json.dumps({"seed": seed, "what": what}), flush=True)
        for line in faults(what.split(",")[0], data):
            print(json.dumps({"seed": seed, "what": what, "wrong": line}), flush=True)


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]))
