# SPDX-License-Identifier: Apache-2.0
"""Frames from a Triton server, started here for the example. Usage: python triton_client.py VIDEO"""

from __future__ import annotations

import sys

import tricodec.triton.serve
from tricodec.triton.client import Client


def main() -> int:
    if len(sys.argv) != 2:
        print(__doc__, file=sys.stderr)
        return 2
    with tricodec.triton.serve.Server(models=["video_decode"]) as server, Client(server.grpc_url) as client:
        video = client.decode_video(sys.argv[1], stride=10, size=(224, 224))
    print(f"{video.frames.dtype} {list(video.frames.shape)}, frames at {video.pts_seconds.round(3).tolist()} s")
    return 0


if __name__ == "__main__":
    sys.exit(main())
