# SPDX-License-Identifier: Apache-2.0
"""Where a video cuts to another shot, from small gray pictures. Usage: python scenes.py VIDEO [THRESHOLD]"""

from __future__ import annotations

import sys

import numpy as np
import tricodec

_CHUNK = 256


def main() -> int:
    if len(sys.argv) not in (2, 3):
        print(__doc__, file=sys.stderr)
        return 2
    threshold = float(sys.argv[2]) if len(sys.argv) == 3 else 25.0
    with tricodec.FrameReader(sys.argv[1]) as reader:
        last = None
        for start in range(0, len(reader), _CHUNK):
            indices = range(start, min(start + _CHUNK, len(reader)))
            pictures = reader.batch(indices, size=(36, 64), color="gray", pinned=True)[..., 0].astype(np.int16)
            before = pictures[:1] if last is None else last
            differences = np.abs(np.diff(np.concatenate([before, pictures]), axis=0)).mean(axis=(1, 2))
            for index in np.flatnonzero(differences > threshold):
                print(f"frame {start + index} at {reader.pts_seconds[start + index]:.3f} s")
            last = pictures[-1:]
    return 0


if __name__ == "__main__":
    sys.exit(main())
