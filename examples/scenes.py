# SPDX-License-Identifier: Apache-2.0
"""Where a video cuts to another shot, and how much changes there. Usage: python scenes.py VIDEO [THRESHOLD]"""

from __future__ import annotations

import sys

import tricodec


def main() -> int:
    if len(sys.argv) not in (2, 3):
        print(__doc__, file=sys.stderr)
        return 2
    threshold = float(sys.argv[2]) if len(sys.argv) == 3 else 0.25
    cuts = tricodec.video.scenes.scene_cuts(sys.argv[1], threshold=threshold)
    for frame, seconds, score in zip(cuts.frames, cuts.seconds, cuts.scores, strict=True):
        print(f"frame {frame} at {seconds:.3f} s: {score:.0%} of the pixels change")
    return 0


if __name__ == "__main__":
    sys.exit(main())
