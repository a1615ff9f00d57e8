# SPDX-License-Identifier: Apache-2.0
"""Ctrl-C ends a long call soon, and what was at work can be used again."""

from __future__ import annotations

from pathlib import Path

import media
import pytest
from preloaded import with_tricodec

# Each call takes far longer than MOST_SECONDS if nothing ends it.
CALLS = {
    "batch of two decoders": "tricodec.FrameReader(SOURCE, device='cpu', num_workers=2).batch(size=(8, 8))",
    "batch of one decoder": "tricodec.FrameReader(SOURCE, device='cpu', num_workers=1).batch(size=(8, 8))",
    "frames": "tricodec.FrameReader(SOURCE, device='cpu', num_workers=2)[::10]",
    "batches": "list(tricodec.FrameReader(SOURCE, device='cpu').batches(100_000, size=(8, 8)))",
    "read_many": "tricodec.read_many([SOURCE] * 3, size=(8, 8), device='cpu')",
    "encode_video": "tricodec.encode_video(data, preset='placebo', device='cpu')",
    "encode_video of AV1": "tricodec.encode_video(data, codec='av1', preset='2', device='cpu')",
    "Codec.encode": "tricodec.Codec(algorithm='Zstd', level=19, device='cpu').encode(data)",
}
DATA = {"encode_video": (200, 360, 640, 3), "encode_video of AV1": (60, 180, 320, 3), "Codec.encode": (48 << 20,)}
PROGRAM = """
import os, signal, sys, threading, time
import numpy as np
import tricodec
signal.signal(signal.SIGINT, signal.default_int_handler)  # a test run in the background ignores it
SOURCE = sys.argv[1]
data = np.random.default_rng(0).integers(0, 8, {shape}, np.uint8)
began = None
def interrupt():
    global began
    time.sleep(0.5)
    began = time.process_time()
    os.kill(os.getpid(), signal.SIGINT)
threading.Thread(target=interrupt, daemon=True).start()
try:
    {call}
    sys.exit("the call was over before Ctrl-C")
except KeyboardInterrupt:
    print(time.process_time() - began)
assert len(tricodec.decode_video(SOURCE, count=2, device="cpu")) == 2
"""
MOST_SECONDS = 5.0
"""Of processors, which do not count what else runs on the machine."""


@pytest.fixture(scope="module")
def long_video(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Half an hour of small frames."""
    path = tmp_path_factory.mktemp("long") / "long.mp4"
    media.ffmpeg("-stream_loop", "1000", "-i", media.generated("h264_bframes.mp4"), "-c", "copy", path)
    return path


@pytest.mark.parametrize("name", CALLS)
def test_ctrl_c_ends_a_long_call(name: str, long_video: Path) -> None:
    program = PROGRAM.replace("{call}", CALLS[name]).replace("{shape}", str(DATA.get(name, 0)))
    done = with_tricodec().run_code(program, long_video)
    assert done.returncode == 0, done.stderr
    assert float(done.stdout) < MOST_SECONDS
