# SPDX-License-Identifier: Apache-2.0
"""Decodes a video with the PyNvVideoCodec names and writes the raw frames; runs with and without a GPU.

python examples/pynv_decode.py VIDEO [-o FRAMES.yuv] [--start SECONDS]
"""

from __future__ import annotations

import argparse
from pathlib import Path

import PyNvVideoCodec as nvc


def main() -> None:
    """Command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("video")
    parser.add_argument("-o", "--output", type=Path, default=Path("frames.yuv"))
    parser.add_argument("--start", type=float, help="begin at the first key frame at or after this time, in seconds")
    args = parser.parse_args()

    demuxer = nvc.CreateDemuxer(args.video)
    decoder = nvc.CreateDecoder(codec=demuxer.GetNvCodecId())
    seconds_per_unit = demuxer.GetTimebaseNum() / demuxer.GetTimebaseDen()
    last = first = None
    num_frames = 0
    with args.output.open("wb") as file:
        packet = demuxer.Demux() if args.start is None else demuxer.Seek(args.start)
        while True:
            for frame in decoder.Decode(packet):
                file.write(frame)  # a frame is a buffer: planes follow one another, packed
                first, last = first or frame, frame
                num_frames += 1
            if packet.bsl == 0:  # the empty packet behind the last one has made the decoder give its last frames
                break
            packet = demuxer.Demux()
    if first is None or last is None:
        parser.exit(1, f"{args.video} holds no frame\n")
    print(f"{num_frames} frames, {decoder.GetWidth()}x{decoder.GetHeight()} {first.format.name}, ", end="")
    print(f"{first.timestamp * seconds_per_unit:.3f} s to {last.timestamp * seconds_per_unit:.3f} s -> {args.output}")


if __name__ == "__main__":
    main()
