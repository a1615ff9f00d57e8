# SPDX-License-Identifier: Apache-2.0
"""One contender at one task, for contests.py: a process that runs a round whenever it is told to.

python -m benchmarks.gpu.worker CONTENDER TASK WARM FILE...    one line on the standard input starts a round

WARM is read first, as often as there are files and by the same way. The answer to that and to each round is a line of
JSON with the frames decoded, the seconds, and the seconds of the CPU. Contenders: tricodec, tricodec-dali,
pynvvideocodec, dali. Tasks: one_file (all of one file), streams (all of every file, a thread each), clips (the same on
THREADS threads), first_frame (of each file in turn). The official package has other ways to the last two:
clips_threaded, first_frame_reconfigured (one decoder, which is kept) and first_frame_packets (CreateDecoder).
"""

from __future__ import annotations

import json
import sys
import threading
import time
from collections.abc import Callable, Iterable
from typing import Any

from benchmarks.threads import in_threads

THREADS = 14  # two decoders for each engine of the largest GPUs
BATCH = 32
WARM_FILES = 28  # as many as the largest number of threads, and more
SIDE = 224

Round = Callable[[], int]

_kept: dict[str, Any] = {}
"""What a way of the official package keeps from the warm-up on, as its programs may."""


def each_file(files: list[str], read: Callable[[str], int], threads_at_most: int = THREADS) -> int:
    """Reads the files on some threads, each taking the next one, and returns the sum of what `read` returned."""
    left = iter(files)
    lock = threading.Lock()

    def work() -> int:
        count = 0
        while True:
            with lock:
                path = next(left, None)
            if path is None:
                return count
            count += read(path)

    return in_threads([work] * min(threads_at_most, len(files)))


def count_and_wait(items: Iterable[Any], count: Callable[[Any], int]) -> int:
    """Takes everything, holding one item at a time, and waits for the GPU; the sum of `count` of each."""
    total = 0
    item = None
    for item in items:
        total += count(item)
    if hasattr(item, "wait"):  # not an array in host memory
        item.wait()
    return total


def tricodec(task: str, files: list[str], device: str = "cuda") -> Round:
    """FrameReader: the frames of one file as 224x224 float16 batches, of clips as they are decoded."""
    import tricodec

    transform = tricodec.Transform(size=(SIDE, SIDE), dtype="float16", layout="CHW")

    def read(path: str) -> int:
        return count_and_wait(tricodec.FrameReader(path, device=device).iterate(), lambda frame: 1)

    def one_file() -> int:
        return count_and_wait(tricodec.FrameReader(files[0], device=device).batches(BATCH, transform), len)

    def first_frame() -> int:
        for path in files:
            tricodec.FrameReader(path, device=device)[0].cpu()
        return len(files)

    return {
        "one_file": one_file,
        "streams": lambda: each_file(files, read, len(files)),
        "clips": lambda: each_file(files, read),
        "first_frame": first_frame,
    }[task]


def pynvvideocodec(task: str, files: list[str]) -> Round:
    """The official package, one decoder a file or thread; frames stay NV12."""
    import PyNvVideoCodec as nvc

    if "tricodec" in sys.modules:
        message = "PyNvVideoCodec is tricodec's here, not the official package"
        raise ImportError(message)
    local = threading.local()

    def threaded(path: str) -> int:
        decoder = nvc.ThreadedDecoder(path, BATCH, gpu_id=0, use_device_memory=True)
        count = 0
        while frames := decoder.get_batch_frames(BATCH):
            count += len(frames)
        decoder.end()
        return count

    def simple(path: str) -> int:
        # One decoder a thread, reconfigured from file to file, as its documentation advises for many clips.
        if not hasattr(local, "decoder"):
            local.decoder = nvc.SimpleDecoder(path, gpu_id=0, use_device_memory=True)
        else:
            local.decoder.reconfigure_decoder(path)
        total = len(local.decoder)
        count = 0
        while count < total:
            frames = local.decoder.get_batch_frames(min(BATCH, total - count))
            if not frames:
                break
            count += len(frames)
        return count

    def stream(path: str) -> int:
        demuxer = nvc.CreateDemuxer(path)
        decoder = nvc.CreateDecoder(gpuid=0, codec=demuxer.GetNvCodecId(), usedevicememory=True)
        return sum(len(decoder.Decode(packet)) for packet in demuxer)

    def first_frame() -> int:
        for path in files:
            frame = nvc.SimpleDecoder(path, gpu_id=0, use_device_memory=False)[0]
            assert frame is not None
        return len(files)

    def first_frame_reconfigured() -> int:
        for path in files:
            if "decoder" in _kept:
                _kept["decoder"].reconfigure_decoder(path)
            else:
                _kept["decoder"] = nvc.SimpleDecoder(path, gpu_id=0, use_device_memory=False)
            assert _kept["decoder"][0] is not None
        return len(files)

    def first_frame_packets() -> int:
        for path in files:
            demuxer = nvc.CreateDemuxer(path)
            decoder = nvc.CreateDecoder(gpuid=0, codec=demuxer.GetNvCodecId(), usedevicememory=False)
            assert any(decoder.Decode(packet) for packet in demuxer)  # stops at the first packet with frames
        return len(files)

    return {
        "one_file": lambda: threaded(files[0]),
        "streams": lambda: each_file(files, stream, len(files)),
        "clips": lambda: each_file(files, simple),
        "clips_threaded": lambda: each_file(files, threaded),
        "first_frame": first_frame,
        "first_frame_reconfigured": first_frame_reconfigured,
        "first_frame_packets": first_frame_packets,
    }[task]


def _decoders(files: list[str], batch: int, decode: Callable[[Any], Any]) -> Round:
    """A pipeline that decodes `batch` whole files at a time from memory, and a round that goes through all files."""
    from nvidia.dali import Pipeline, fn

    built = Pipeline(batch_size=batch, num_threads=THREADS, device_id=0, prefetch_queue_depth=1)
    with built:
        encoded, _ = fn.readers.file(files=files, shuffle_after_epoch=False)
        built.set_outputs(decode(encoded))
    built.build()

    def round_() -> int:
        count = 0
        for _ in range(-(-len(files) // batch)):
            (output,) = built.run()
            count += sum(shape[0] for shape in output.shape())
        output.as_cpu()  # waits
        return count

    return round_


def tricodec_dali(task: str, files: list[str]) -> Round:
    """fn.tricodec.decode_video device "mixed": float16 tensors of 224x224."""
    import tricodec.dali  # noqa: F401  (registers the operators)
    from nvidia.dali import fn, types

    def decode(encoded: Any) -> Any:
        frames, _ = fn.tricodec.decode_video(
            encoded, device="mixed", size=(SIDE, SIDE), dtype=types.FLOAT16, layout="CHW"
        )
        return frames

    return _decoders(files, min(THREADS, len(files)), decode)


def dali(task: str, files: list[str]) -> Round:
    """readers.video for one file, decoders.video for many: RGB of full size, the smallest that they give."""
    from nvidia.dali import Pipeline, fn

    if task == "clips":
        return _decoders(files, min(8, len(files)), lambda encoded: fn.decoders.video(encoded, device="mixed"))
    built = Pipeline(batch_size=1, num_threads=THREADS, device_id=0)
    with built:
        built.set_outputs(
            fn.readers.video(
                device="gpu", filenames=files[:1], sequence_length=BATCH, name="reader", pad_sequences=True
            )
        )
    built.build()
    sequences = built.epoch_size("reader")

    def round_() -> int:
        for _ in range(sequences):
            (output,) = built.run()
        output.as_cpu()
        return int(sequences * BATCH)

    return round_


CONTENDERS: dict[str, Callable[[str, list[str]], Round]] = {
    "tricodec": tricodec,
    "tricodec-dali": tricodec_dali,
    "pynvvideocodec": pynvvideocodec,
    "dali": dali,
}


def main() -> int:
    name, task, warm, *files = sys.argv[1:]

    def timed(run: Round) -> None:
        start, cpu = time.perf_counter(), time.process_time()
        frames = run()
        spent = {"seconds": time.perf_counter() - start, "cpu_seconds": time.process_time() - cpu}
        print(json.dumps({"frames": frames, **spent}), flush=True)

    make = CONTENDERS[name]
    timed(make(task, [warm] * min(len(files), WARM_FILES)))
    run = make(task, files)
    for _ in sys.stdin:
        timed(run)
    return 0


if __name__ == "__main__":
    sys.exit(main())
