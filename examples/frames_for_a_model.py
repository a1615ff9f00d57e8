# SPDX-License-Identifier: Apache-2.0
"""Frames of a video as a batch for an image model. Usage: python frames_for_a_model.py VIDEO"""

from __future__ import annotations

import sys

import tricodec


def main() -> int:
    if len(sys.argv) != 2:
        print(__doc__, file=sys.stderr)
        return 2
    with tricodec.FrameReader(sys.argv[1]) as reader:
        stride = max(1, len(reader) // 16)
        indices = reader.select(stride=stride)[:16]
        batch = reader.batch(
            indices,
            size=(224, 224),
            dtype="float32",
            layout="CHW",
            mean=[0.485, 0.456, 0.406],
            std=[0.229, 0.224, 0.225],
        )
        times = reader.pts_seconds[indices]
    print(f"{batch.dtype} {list(batch.shape)}, frames at {times[0]:.3f} s to {times[-1]:.3f} s")
    return 0


if __name__ == "__main__":
    sys.exit(main())
