# SPDX-License-Identifier: Apache-2.0
"""Decodes an H.264 or HEVC byte stream that arrives in pieces, as from a network, and prints each frame's mean luma.

ffmpeg -i VIDEO -c copy -bsf:v h264_mp4toannexb -f h264 - | python examples/pynv_byte_stream.py h264
"""

from __future__ import annotations

import argparse
import sys

import numpy as np
import PyNvVideoCodec as nvc


def main() -> None:
    """Command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("codec", choices=["h264", "hevc"])
    parser.add_argument("--piece", type=int, default=1400, help="bytes handed over at a time")
    args = parser.parse_args()

    decoder = nvc.CreateDecoder(codec=nvc.cudaVideoCodec(nvc.Codec[args.codec].value))
    number = 0
    while True:
        piece = np.frombuffer(sys.stdin.buffer.read(args.piece), np.uint8)
        packet = nvc.PacketData()  # stays empty at the end, which makes the decoder give its last frames
        if piece.size:
            packet.bsl, packet.bsl_data = piece.size, piece.ctypes.data
        for frame in decoder.Decode(packet):
            luma = np.asarray(frame)[: decoder.GetHeight()]
            print(f"{number:6} {frame.format.name} {decoder.GetWidth()}x{decoder.GetHeight()} mean {luma.mean():.2f}")
            number += 1
        if not piece.size:
            break


if __name__ == "__main__":
    main()
