# SPDX-License-Identifier: Apache-2.0
"""Small clips of every codec, damaged at random, and what a reader makes of them by each way to read.

python damaged_clips.py FIRST COUNT   reads the clips of so many seeds; prints each and what is wrong, in JSON.
"""

from __future__ import annotations

import contextlib
import functools
import hashlib
import json
import random
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

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

NUM_SHOWN = 20
"""Frames of `shown_in_part`."""

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


def shown_in_part() -> bytes:
    """AV1 with an edit list that ends before its last frames: libdav1d of FFmpeg 5 shows one of them all the same."""
    clip = bytearray(made("av1.mp4", SMALL["av1.mp4"]).read_bytes())
    duration = clip.index(b"elst") + 4 + 8  # after the box's version and the number of its entries
    clip[duration : duration + 4] = (NUM_SHOWN * 40).to_bytes(4, "big")  # milliseconds
    return bytes(clip)


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


_RGB = tricodec.Transform()


class _Outcome:
    """What a way to read gave: its frames, and the kind of the error that ended it."""

    def __init__(self) -> None:
        self.frames: list[str] = []
        self.error = ""
        self.num_before_damage = 0
        """Frames that were given while no damage was known."""

    def add(self, frame: Any) -> None:
        self.frames.append(f"{frame.shape[1]}x{frame.shape[0]} {hashlib.md5(frame.tobytes()).hexdigest()[:12]}")

    @property
    def mixed(self) -> bool:
        """Whether the frames do not fit one array."""
        return len({frame.split()[0] for frame in self.frames}) > 1


def _outcome(way: Callable[[_Outcome, bytes, int], None], data: bytes, num_workers: int) -> _Outcome:
    outcome = _Outcome()
    try:
        way(outcome, data, num_workers)
    except (IndexError, tricodec.Error) as error:  # all that a damaged file may raise
        outcome.error = type(error).__name__
    return outcome


def _has_met_damage(reader: tricodec.FrameReader) -> bool:
    """Whether decoding has. That a file ends early is known from the start, and says nothing of what is there."""
    ends = sum(issue.message.startswith("it ends early: ") for issue in reader.issues)
    return reader.num_damaged_packets > ends


def _iterate(outcome: _Outcome, data: bytes, num_workers: int) -> None:
    with tricodec.FrameReader(data, device="cpu", num_workers=num_workers) as reader:
        for frame in reader:
            outcome.add(_RGB(frame))
            if not _has_met_damage(reader):
                outcome.num_before_damage = len(outcome.frames)


def _decode(outcome: _Outcome, data: bytes, num_workers: int) -> None:
    video = tricodec.decode_video(data, device="cpu", num_workers=num_workers)
    assert len(video.frames) == len(video.pts_seconds)
    for frame in video.frames:
        outcome.add(frame)


def _batches(outcome: _Outcome, data: bytes, num_workers: int) -> None:
    with tricodec.FrameReader(data, device="cpu", num_workers=num_workers) as reader:
        for batch in reader.batches(4):
            for frame in batch:
                outcome.add(frame)
            if not _has_met_damage(reader):
                outcome.num_before_damage = len(outcome.frames)


def _access(outcome: _Outcome, data: bytes, num_workers: int) -> None:
    """One by one in any order, which may number the frames again, then in order."""
    with tricodec.FrameReader(data, device="cpu", num_workers=num_workers) as reader:
        numbers = list(range(len(reader)))
        random.Random(len(data)).shuffle(numbers)
        for number in numbers:
            with contextlib.suppress(IndexError, tricodec.Error):
                reader[number]
        for number in range(max(len(reader), 1)):  # a file without frames has an error instead of its first one
            outcome.add(_RGB(reader[number]))


@functools.cache
def _undamaged_frames(name: str) -> list[str]:
    return _outcome(_iterate, _clip(name)[0], 1).frames


def _are_alike(outcome: _Outcome, iterated: _Outcome, undamaged: list[str]) -> bool:
    """Whether the frames are those of one decoder, or from before damage was met and whole, as in the undamaged clip.

    Decoders that work ahead meet the damage at another time, and what they have given is not taken back. Because of
    the damage one decoder may show such a frame later. One decoder
    may also carry damage that it does not report past a key frame, where another one begins: MPEG-4's times do that.
    """
    if len(outcome.frames) != len(iterated.frames):
        return False
    before = outcome.num_before_damage
    return all(
        frame == expected or (number < before and (frame in undamaged or frame in iterated.frames[number:]))
        for number, (frame, expected) in enumerate(zip(outcome.frames, iterated.frames, strict=True))
    )


@functools.lru_cache(maxsize=1)
def _codec_varies(data: bytes) -> bool:
    """Whether the codec itself gives other pictures from run to run, or by its number of threads.

    libavcodec leaves parts of a damaged picture as their memory was.
    """
    given = set()
    with tempfile.NamedTemporaryFile() as file:
        file.write(data)
        file.flush()
        for num_threads in (1, 2, 3, 4) * 3:
            command = ["ffmpeg", "-nostdin", "-v", "quiet", "-threads", str(num_threads), "-i", file.name]
            command += ["-fps_mode", "passthrough", "-f", "framemd5", "-"]
            given.add(subprocess.run(command, capture_output=True, check=False).stdout)
    return len(given) > 1


def disagreements(name: str, data: bytes) -> list[str]:
    """How the ways to read a damaged file differ in what they give, of which they should all give the same."""
    found = []
    iterated = _outcome(_iterate, data, 1)
    for num_workers in (1, 2):
        for way in (_iterate, _decode, _batches, _access):
            outcome = _outcome(way, data, num_workers)
            same_end = outcome.error == iterated.error
            same = same_end and _are_alike(outcome, iterated, _undamaged_frames(name))
            if way is _decode and iterated.error:
                same = same_end
            elif way is _batches and iterated.error:  # those of the batch that the error ends do not come
                same = same_end and outcome.frames == iterated.frames[: len(outcome.frames)]
            elif way is _access and iterated.error:
                same = outcome.error != ""
            elif way in (_decode, _batches) and iterated.mixed:
                same = outcome.error == "UnsupportedError"
            same = same or (same_end and len(outcome.frames) == len(iterated.frames) and _codec_varies(data))
            if not same:
                found.append(f"{way.__name__[1:]} by {num_workers}: {_difference(outcome, iterated)}")
    return found


def _difference(one: _Outcome, other: _Outcome) -> str:
    pairs = zip(one.frames, other.frames, strict=False)
    first = next((number for number, (a, b) in enumerate(pairs) if a != b), None)
    counts = f"{len(one.frames)} frames {one.error or 'and no error'}"
    return f"{counts}, iterated {len(other.frames)} {other.error or 'and no error'}; first other frame {first}"


def main(first: int, count: int) -> None:
    """Prints each seed before its clip is read, and then in how far that went wrong."""
    for seed in range(first, first + count):
        what, data = damaged(seed)
        print(json.dumps({"seed": seed, "what": what}), flush=True)
        for line in disagreements(what.split(",")[0], data):
            print(json.dumps({"seed": seed, "what": what, "wrong": line}), flush=True)


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]))
