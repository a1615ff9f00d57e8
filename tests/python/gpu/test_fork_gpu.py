# SPDX-License-Identifier: Apache-2.0
"""A child that is forked after a GPU was used: it raises at once with the remedy, and the parent continues."""

from __future__ import annotations

import subprocess
import sys

import pytest
from forked import PRELUDE
from media import generated

_SCRIPT = """
clip = sys.argv[1]
reader = tricodec.FrameReader(clip, device="cuda")
automatic = tricodec.FrameReader(clip)
demuxer = tricodec.Demuxer(clip)
decoder = tricodec.Decoder(demuxer.stream, device="cuda")
for _ in range(5):
    decoder.decode(demuxer.read())
stream = tricodec.io.StreamReader(clip)
stream.add_basic_video_stream(4, hw_accel="cuda")
stream.fill_buffer()
codec = tricodec.Codec(algorithm="lz4", device="cuda")
array = np.arange(1 << 20, dtype=np.int32)
codec.encode(array)
expected = [frame.cpu().md5() for frame in reader]
on_cpu = [frame.md5() for frame in tricodec.FrameReader(clip, device="cpu")]  # in another pixel format
on_gpu = [each for each in (reader, automatic) if each.device != "cpu"]
held = [reader[0], reader.batch([1, 2], size=(64, 64)), automatic[3]]
live, batches = iter(reader), reader.batches(4, size=(64, 64))
next(live), next(batches)
def work():
    global live, batches, decoder, stream, codec
    for each in on_gpu:
        raises(tricodec.DeviceError, "'spawn'", lambda: each[0])
        raises(tricodec.DeviceError, "'spawn'", lambda: each.batch([1, 2], size=(64, 64)))
        raises(tricodec.DeviceError, "'spawn'", lambda: iter(each))
    raises(tricodec.DeviceError, "'spawn'", lambda: decoder.decode(demuxer.read()))
    raises(tricodec.DeviceError, "'spawn'", stream.process_packet)
    raises(tricodec.DeviceError, "'spawn'", lambda: codec.encode(array))
    raises(tricodec.DeviceError, "'spawn'", lambda: next(live))
    raises(tricodec.DeviceError, "'spawn'", lambda: next(batches))
    assert [frame.md5() for frame in tricodec.FrameReader(clip, device="cpu")] == on_cpu
    held.clear()
    reader.close()
    automatic.close()
    del live, batches, decoder, stream, codec
    gc.collect()
in_children(work)
assert [frame.cpu().md5() for frame in reader] == expected
assert [frame.cpu().md5() for frame in live] == expected[1:]
print("done")
"""


@pytest.mark.parametrize("clip", ["h264_bframes.mp4", "hevc.mp4"])
def test_a_child_forked_after_a_gpu_was_used_raises_and_the_parent_goes_on(clip: str) -> None:
    result = subprocess.run(
        [sys.executable, "-c", PRELUDE + _SCRIPT, str(generated(clip))],
        capture_output=True,
        text=True,
        check=False,
        timeout=180,
    )
    assert (result.returncode, result.stdout) == (0, "done\n"), result.stderr
