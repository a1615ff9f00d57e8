# SPDX-License-Identifier: Apache-2.0
"""What programs of the tests of fork() begin with."""

PRELUDE = """
import faulthandler, gc, hashlib, io, json, os, random, signal, sys, threading, time, traceback
import numpy as np
import tricodec
import tricodec.io
faulthandler.enable()
def fork(work):
    "A child that runs work(); an alarm ends it where it hangs."
    child = os.fork()
    if child:
        return child
    signal.alarm(60)
    code = 1
    try:
        work()
        code = 0
    except BaseException:
        traceback.print_exc()
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)
def in_children(work, count=1):
    "Runs work() in forked children at the same time."
    children = [fork(work) for _ in range(count)]
    statuses = [os.waitpid(child, 0)[1] for child in children]
    assert statuses == [0] * count, f"wait statuses {statuses}; 14 is a hang"
def raises(error, words, call):
    try:
        call()
    except error as raised:
        assert words in str(raised), raised
        return
    raise AssertionError("nothing was raised")
def md5(array):
    return hashlib.md5(np.ascontiguousarray(array).tobytes()).hexdigest()
"""

# Behind it: what was made on a GPU says in a child how to continue. The argument is a clip; a second one says that its
# samples are not to be compared.
ON_GPU = """
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
facts = (lambda frame: frame.index) if sys.argv[2:] else lambda frame: frame.cpu().md5()
expected = [facts(frame) for frame in reader]
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
assert [facts(frame) for frame in reader] == expected
assert [facts(frame) for frame in live] == expected[1:]
print(len(on_gpu), "on the GPU")
"""
