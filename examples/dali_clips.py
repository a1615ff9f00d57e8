# SPDX-License-Identifier: Apache-2.0
"""Batches of clips for training, by a DALI pipeline. Usage: python dali_clips.py VIDEO [VIDEO ...]"""

from __future__ import annotations

import os
import sys

import tricodec.dali  # noqa: F401  (registers fn.tricodec.decode_video)
from nvidia.dali import fn, pipeline_def, types


@pipeline_def(batch_size=2, num_threads=len(os.sched_getaffinity(0)), device_id=None)
def clips(files):
    encoded, label = fn.readers.file(files=files, labels=list(range(len(files))))
    frames, pts = fn.tricodec.decode_video(
        encoded,
        start=fn.random.uniform(range=[0, 8], dtype=types.INT64),
        stride=2,
        count=8,
        size=(112, 112),
        dtype=types.FLOAT,
        layout="CHW",
    )
    return frames, pts, label


def main() -> int:
    if len(sys.argv) < 2:
        print(__doc__, file=sys.stderr)
        return 2
    pipeline = clips(sys.argv[1:])
    pipeline.build()
    frames, pts, labels = pipeline.run()
    for i in range(len(frames)):
        print(f"video {labels.at(i)[0]}: {list(frames.at(i).shape)} from {pts.at(i)[0]:.3f} s")
    return 0


if __name__ == "__main__":
    sys.exit(main())
