# SPDX-License-Identifier: Apache-2.0
"""Streams of H.264, HEVC and VP9 with packets that were damaged, through one decoder, beside a good stream.

python hostile_packets.py FIRST COUNT   decodes the streams of so many seeds on TRICODEC_FUZZ_DEVICE (default: cpu)
"""

from __future__ import annotations

import functools
import hashlib
import json
import os
import random
import sys
import threading

import damaged_clips
import tricodec

SECONDS = 60
"""That one stream may take; a process that hangs ends itself."""

CLIPS = ("h264.mp4", "h264_open.mp4", "hevc_open.mp4", "hevc.mkv", "vp9.webm")
SIZE = "192x160"
"""NVDEC decodes no smaller ones of all three codecs."""

_RGB = tricodec.Transform()


@functools.cache
def packets_of(name: str) -> tuple[str, tuple[bytes, ...]]:
    """The codec of a clip and its packets, which carry their own headers."""
    demuxer = tricodec.Demuxer(damaged_clips.made(name, damaged_clips.SMALL[name], SIZE), annexb=True)
    return demuxer.stream.codec, tuple(bytes(packet) for packet in demuxer)


def damaged(seed: int) -> tuple[str, str, list[bytes]]:
    """What was done, the codec, and the packets of this seed, the same on every run."""
    rng = random.Random(seed)
    name = rng.choice(CLIPS)
    codec, packets = packets_of(name)
    stream = list(packets)
    way = rng.choice(("bits", "header", "cut", "drop", "repeat", "exchange", "other codec", "random", "empty"))
    for _ in range(rng.choice((1, 1, 2, 5))):
        at = rng.randrange(len(stream))
        data = bytearray(stream[at])
        if way == "bits":
            for _ in range(rng.choice((1, 4, 40))):
                data[rng.randrange(len(data))] ^= 1 << rng.randrange(8)
        elif way == "header":
            data[rng.randrange(min(len(data), 60))] = rng.randrange(256)
        elif way == "cut":
            del data[rng.randrange(len(data)) :]
        elif way == "random":
            first = rng.randrange(len(data))
            data[first:] = rng.randbytes(len(data) - first)
        elif way == "empty":
            data = bytearray(rng.choice((0, 1, 4)))
        stream[at] = bytes(data)
        if way == "drop" and len(stream) > 2:
            del stream[at]
        elif way == "repeat":
            stream.insert(at, stream[at])
        elif way == "exchange":
            other = rng.randrange(len(stream))
            stream[at], stream[other] = stream[other], stream[at]
        elif way == "other codec":
            stream[at] = rng.choice(packets_of(rng.choice(CLIPS))[1])
    return f"{name}, {way}", codec, stream


def decoded(codec: str, packets: list[bytes] | tuple[bytes, ...], device: str) -> list[str]:
    """The MD5s of the frames in RGB, which are the same on every device."""
    decoder = tricodec.Decoder(codec, device=device)
    frames = [frame for packet in packets for frame in decoder.decode(packet)] + decoder.flush()
    return [hashlib.md5(_RGB(frame.cpu())).hexdigest() for frame in frames]


@functools.cache
def expected(name: str) -> list[str]:
    """What the CPU gives for a good stream."""
    return decoded(*packets_of(name), "cpu")


def wrong(seed: int, codec: str, stream: list[bytes], device: str) -> str | None:
    """What is wrong after a damaged stream: another error, or a good stream that comes out otherwise."""
    try:
        decoded(codec, stream, device)
    except (tricodec.Error, ValueError) as error:
        if isinstance(error, (tricodec.errors.InternalError, tricodec.DeviceError)):
            return f"{type(error).__name__}: {error}"
    name = CLIPS[seed % len(CLIPS)]
    if decoded(*packets_of(name), device) != expected(name):
        return f"{name}, decoded after it, has other frames"
    return None


def main(first: int, count: int) -> None:
    """Prints each seed before its stream is decoded, and then what went wrong."""
    device = os.environ.get("TRICODEC_FUZZ_DEVICE", "cpu")
    for seed in range(first, first + count):
        what, codec, stream = damaged(seed)
        print(json.dumps({"seed": seed, "what": what}), flush=True)
        watchdog = threading.Timer(SECONDS, os._exit, (99,))
        watchdog.daemon = True
        watchdog.start()
        found = wrong(seed, codec, stream, device)
        watchdog.cancel()
        if found is not None:
            print(json.dumps({"seed": seed, "what": what, "wrong": found}), flush=True)


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]))
