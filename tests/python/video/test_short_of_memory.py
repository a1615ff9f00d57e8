# SPDX-License-Identifier: Apache-2.0
"""A process with too little memory for a video gets OutOfMemoryError, never damage or other frames."""

from __future__ import annotations

import numpy as np
import pytest
from h264_writer import H264Stream, Picture
from programs import run_python

SIDE, NUM_FRAMES = 2048, 18
"""Sixteen references of 6 MB."""

CODE = """
    import re, resource, sys
    import numpy
    from pathlib import Path
    import tricodec

    data, extra = Path(sys.argv[1]).read_bytes(), int(sys.argv[2])
    used = int(re.search(r"VmData:\\s+(\\d+)", Path("/proc/self/status").read_text())[1]) << 10
    if extra:
        resource.setrlimit(resource.RLIMIT_DATA, (used + (extra << 20),) * 2)
    try:
        with tricodec.FrameReader(data, device="cpu", num_workers=int(sys.argv[3])) as reader:
            print(len(reader.batch(range(int(sys.argv[4])), size=(16, 16))))
    except tricodec.OutOfMemoryError:
        print("no memory")
"""
NO_MEMORY_FOR_THREAD = 127
"""How the C library ends a process that has no memory for the variables of a new thread."""


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> str:
    stream = H264Stream(SIDE, SIDE, num_ref_frames=16)
    block = [np.zeros((16, 16), np.uint8), np.zeros((8, 8), np.uint8), np.zeros((8, 8), np.uint8)]
    stream.write(block, Picture(idr=True, slices=[range(1)]))
    for number in range(1, NUM_FRAMES):
        stream.skip(Picture(frame_num=number, poc=2 * number))
    file = tmp_path_factory.mktemp("memory") / "references.h264"
    file.write_bytes(bytes(stream.data))
    return str(file)


@pytest.mark.parametrize("num_workers", [1, 2])
@pytest.mark.parametrize("extra_megabytes", [20, 60])
def test_a_video_past_the_memory_of_the_process_is_no_damage(path: str, extra_megabytes: int, num_workers: int) -> None:
    result = run_python(CODE, path, extra_megabytes, num_workers, NUM_FRAMES)

    assert result.stdout == "no memory\n" or result.returncode == NO_MEMORY_FOR_THREAD, result.stdout + result.stderr


def test_the_same_video_is_read_with_enough_memory(path: str) -> None:
    assert run_python(CODE, path, 0, 2, NUM_FRAMES).stdout == f"{NUM_FRAMES}\n"
