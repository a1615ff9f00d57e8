# SPDX-License-Identifier: Apache-2.0
"""Tries a wheel in an environment that has it: encodes, decodes, compresses, opens a stream.

python tools/try_wheel.py [CLIP ...]   prints, as JSON, the MD5 of all frames of these clips in their own formats
"""

from __future__ import annotations

import hashlib
import json
import re
import sys
from pathlib import Path

import numpy as np
import tricodec
import tricodec.io

CODECS = re.compile(r"/lib(av|sw|x26|Svt|dav1d|vpx|opus|mp3lame|lz4|zstd|snappy|deflate|hwy)")


def digest(clip: str) -> str:
    """The MD5 of the clip's frames, as `ffmpeg -f rawvideo` has them."""
    total = hashlib.md5()
    with tricodec.FrameReader(clip) as reader:
        for frame in reader:
            total.update(np.ascontiguousarray(frame.to_ndarray()).tobytes())
    return total.hexdigest()


def main() -> None:
    noise = np.random.default_rng(1).integers(0, 256, (8, 64, 96, 3), np.uint8)
    for codec in ("h264", "hevc", "av1", "vp9"):
        assert tricodec.decode_video(tricodec.encode_video(noise, codec=codec)).frames.shape == noise.shape, codec
    for algorithm in ("lz4", "snappy", "zstd", "deflate", "gzip", "gdeflate"):
        coder = tricodec.Codec(algorithm=algorithm)
        assert bytes(coder.decode(coder.encode(noise.tobytes()))) == noise.tobytes(), algorithm
    stream = tricodec.io.StreamReader("testsrc=duration=1", format="lavfi")
    stream.add_basic_video_stream(1)
    stream.fill_buffer()
    assert list(stream.pop_chunks()[0].shape) == [1, 3, 240, 320]
    mapped = {line.split()[-1] for line in Path("/proc/self/maps").read_text().splitlines() if ".so" in line}
    site = str(Path(tricodec.__file__).parents[1])
    foreign = sorted(path for path in mapped if CODECS.search(path) and not path.startswith(site))
    assert not foreign, f"the wheel loads codec libraries of the system: {foreign}"
    print(json.dumps({"decoded": {clip: digest(clip) for clip in sys.argv[1:]}, "build": tricodec.build_info()}))


if __name__ == "__main__":
    main()
