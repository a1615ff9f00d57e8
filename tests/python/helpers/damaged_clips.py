# SPDX-License-Identifier: Apache-2.0
"""Small clips of every codec, damaged at random: no way to read them ends the process, and what comes first is exact.

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
from collections.abc import Iterator
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

GROUP = 10
"""Pictures from a key frame to the next one."""


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
    data, packets = _clip("h264.mp4")
    position, size = packets[17]
    return data[: position + 8] + bytes(size - 8) + data[position + size :]  # after the picture's numbers


def of_two_sizes() -> bytes:
    """A stream of 30 frames of 64x64 and 30 of 96x48."""
    return b"".join(made("h264.h264", SMALL["h264.mp4"], size).read_bytes() for size in ("64x64", "96x48"))


_DAMAGES = (_flip_bits, _flip_bits, _flip_bits, _flip_header, _flip_header, _zero, _copy_packet, _edit_table, _cut)


def damaged(seed: int) -> tuple[str, bytes]:
    """The clip of this seed, the same on every run, and what was done to it."""
    rng = random.Random(seed)
    name = rng.choice(list(SMALL))
    data, packets = _clip(name)
    damage = rng.choice(_DAMAGES)
    changed = bytearray(data)
    damage(changed, packets, rng)
    return f"{name}, {damage.__name__.strip('_')}", bytes(changed)


def _iterate(data: bytes, num_workers: int) -> Iterator[str]:
    with tricodec.FrameReader(data, device="cpu", num_workers=num_workers) as reader:
        for frame in reader:
            yield frame.md5()


def _batches(data: bytes, num_workers: int) -> Iterator[str]:
    with tricodec.FrameReader(data, device="cpu", num_workers=num_workers) as reader:
        for batch in reader.batches(4):
            yield from ("" for _ in batch)


def _decode(data: bytes, num_workers: int) -> Iterator[str]:
    yield from ("" for _ in tricodec.decode_video(data, device="cpu", num_workers=num_workers).frames)


def _access(data: bytes, num_workers: int) -> Iterator[str]:
    """One by one in any order."""
    with tricodec.FrameReader(data, device="cpu", num_workers=num_workers) as reader:
        numbers = list(range(len(reader)))
        random.Random(len(data)).shuffle(numbers)
        for number in numbers:
            with contextlib.suppress(IndexError, tricodec.Error):
                reader[number]
            yield ""


@functools.cache
def _undamaged_frames(name: str) -> list[str]:
    return list(_iterate(_clip(name)[0], 1))


def _num_exact(name: str, data: bytes) -> int:
    """How many frames come before the damage: those of the groups before the one that it is in."""
    whole, packets = _clip(name)
    pairs = enumerate(zip(whole, data, strict=False))
    changed = next((at for at, (old, new) in pairs if old != new), min(len(whole), len(data)))
    if changed < packets[0][0]:
        return 0
    number = max(i for i, (position, _) in enumerate(packets) if position <= changed)
    return max(number // GROUP * GROUP - 4, 0)  # the first pictures of an open group come before its key frame


def faults(name: str, data: bytes) -> list[str]:
    """What ways to read a damaged file do that they may not: other errors, or other frames before the damage."""
    found = []
    for num_workers in (1, 2):
        for way in (_iterate, _batches, _decode, _access):
            frames: list[str] = []
            error = ""
            try:
                for frame in way(data, num_workers):
                    frames.append(frame)
            except (IndexError, tricodec.Error) as raised:  # all that a damaged file may raise
                error = type(raised).__name__
            if way is _iterate:
                num = _num_exact(name, data) if not error else min(len(frames), _num_exact(name, data))
                if frames[:num] != _undamaged_frames(name)[:num]:
                    found.append(f"{way.__name__[1:]} by {num_workers}: of {num} frames before the damage some differ")
    return found


def main(first: int, count: int) -> None:
    """Prints each seed before its clip is read, and then what was wrong."""
    for seed in range(first, first + count):
        what, data = damaged(seed)
        print(json.dumps({"seed": seed, "what": what}), flush=True)
        for line in faults(what.split(",")[0], data):
            print(json.dumps({"seed": seed, "what": what, "wrong": line}), flush=True)


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]))
