# SPDX-License-Identifier: Apache-2.0
"""Decoding files on a GPU: tricodec and its DALI operator beside NVIDIA's PyNvVideoCodec and DALI.

tricodec's frames of one file are 224x224 float16, those of clips NV12; PyNvVideoCodec's stay NV12, DALI's are RGB of
full size. TRICODEC_OFFICIAL_PYNV names the folder of NVIDIA's package, because tricodec has one of the same name.
The same file is read many times, so its pages are in memory: these are speeds of decoding, not of a disk.
"""

from __future__ import annotations

import contextlib
import os
import sys
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, Any

from benchmarks.decode.clips import FOLDER, ffmpeg
from benchmarks.results import Case
from benchmarks.suite import Options

if TYPE_CHECKING:
    from tricodec.measure.bench import Work

SECONDS = 1.0
_THREADS = 14  # two decoders for each engine of the largest GPUs
_BATCH = 32
_SIDE = 224
_CODECS = {
    "h264": "-c:v libx264 -preset veryfast -crf 27 -x264-params keyint=30:min-keyint=30:scenecut=0:bframes=3",
    "hevc": "-c:v libx265 -preset ultrafast -crf 28 -x265-params "
    "keyint=30:min-keyint=30:scenecut=0:bframes=3:log-level=error",
}
# Task: frames of the file, files, contenders.
TASKS: dict[str, tuple[int, int, tuple[str, ...]]] = {
    "one_file": (3000, 1, ("tricodec", "tricodec-dali", "pynvvideocodec", "dali")),
    "21_files_of_3000": (3000, 21, ("tricodec", "pynvvideocodec")),
    "28_files_of_300": (300, 28, ("tricodec", "tricodec-dali", "pynvvideocodec", "dali")),
    "first_frame": (10, 20, ("tricodec", "pynvvideocodec")),
}
_OFFICIAL_WAYS = {"28_files_of_300": ("", "threaded"), "first_frame": ("", "reconfigured", "packets")}
"""Ways of the official package to the same end."""

Round = Callable[[], int]
"""Decodes all files of a task, and returns the number of frames."""


def cases(options: Options) -> list[Case]:
    """Every task with both codecs; the official package in each of its ways."""
    found = []
    for codec in _CODECS:
        for task, (_, _, contenders) in TASKS.items():
            for contender in contenders:
                ways = _OFFICIAL_WAYS.get(task, ("",)) if contender == "pynvvideocodec" and not options.quick else ("",)
                found += [Case(task, codec, contender, way) for way in ways]
    return found


def facts(cases: Sequence[Case]) -> dict[str, str]:
    """Makes the clips: 1920x1080 with a key frame every 30 frames, long ones as copies of a short one."""
    return {Path(_clip(case.input, TASKS[case.task][0])).name: _CODECS[case.input] for case in cases}


def _clip(codec: str, frames: int) -> str:
    FOLDER.mkdir(parents=True, exist_ok=True)
    path, one = FOLDER / f"gpu_{codec}_{frames}.mp4", FOLDER / f"gpu_{codec}_300.mp4"
    if not one.is_file():
        source = "mandelbrot=size=1920x1080:rate=30:end_scale=0.05"
        ffmpeg(
            "-f", "lavfi", "-i", source, "-frames:v", "300", "-pix_fmt", "yuv420p", *_CODECS[codec].split(), str(one)
        )
    if not path.is_file():
        copies = ("-stream_loop", str(frames // 300 - 1)) if frames >= 300 else ()
        ffmpeg(*copies, "-i", str(one), "-frames:v", str(frames), "-c", "copy", str(path))
    return str(path)


@contextlib.contextmanager
def open_work(case: Case) -> Iterator[Work]:
    """A query reads all files of the task. The first one, which does not count, starts the device and the decoders."""
    from tricodec.measure.bench import Done

    frames, files, _ = TASKS[case.task]
    run = _CONTENDERS[case.contender](case, [_clip(case.input, frames)] * files)
    yield lambda: Done(run())


def _each_file(files: Sequence[str], read: Callable[[str], int], threads: int = _THREADS) -> int:
    with ThreadPoolExecutor(min(threads, len(files))) as pool:
        return sum(pool.map(read, files))


def _count_and_wait(items: Iterable[Any], count: Callable[[Any], int]) -> int:
    """Takes everything, holding one item at a time, and waits for the GPU; the sum of `count` of each."""
    total, item = 0, None
    for item in items:
        total += count(item)
    if item is not None:
        item.wait()
    return total


def _tricodec(case: Case, files: list[str]) -> Round:
    import tricodec

    transform = tricodec.Transform(size=(_SIDE, _SIDE), dtype="float16", layout="CHW")

    def read(path: str) -> int:
        return _count_and_wait(tricodec.FrameReader(path, device="cuda").iterate(), lambda frame: 1)

    def one_file() -> int:
        return _count_and_wait(tricodec.FrameReader(files[0], device="cuda").batches(_BATCH, transform), len)

    def first_frame() -> int:
        for path in files:
            tricodec.FrameReader(path, device="cuda")[0].cpu()
        return len(files)

    return {
        "one_file": one_file,
        "21_files_of_3000": lambda: _each_file(files, read, len(files)),
        "28_files_of_300": lambda: _each_file(files, read),
        "first_frame": first_frame,
    }[case.task]


def _pynvvideocodec(case: Case, files: list[str]) -> Round:
    """The official package, one decoder for each file or thread; frames stay NV12."""
    folder = os.environ.get("TRICODEC_OFFICIAL_PYNV", "")
    sys.path.insert(0, folder)
    import PyNvVideoCodec as nvc

    if not folder or not str(nvc.__file__).startswith(folder):
        message = "NVIDIA's PyNvVideoCodec is not here; name its folder with TRICODEC_OFFICIAL_PYNV"
        raise ImportError(message)
    kept = threading.local()

    def threaded(path: str) -> int:
        decoder = nvc.ThreadedDecoder(path, _BATCH, gpu_id=0, use_device_memory=True)
        count = 0
        while frames := decoder.get_batch_frames(_BATCH):
            count += len(frames)
        decoder.end()
        return count

    def reconfigured(path: str, *, on_device: bool) -> Any:
        """One decoder for each thread, as its documentation advises for many clips."""
        if hasattr(kept, "decoder"):
            kept.decoder.reconfigure_decoder(path)
        else:
            kept.decoder = nvc.SimpleDecoder(path, gpu_id=0, use_device_memory=on_device)
        return kept.decoder

    def simple(path: str) -> int:
        decoder = reconfigured(path, on_device=True)
        total, count = len(decoder), 0
        while count < total and (frames := decoder.get_batch_frames(min(_BATCH, total - count))):
            count += len(frames)
        return count

    def stream(path: str) -> int:
        demuxer = nvc.CreateDemuxer(path)
        decoder = nvc.CreateDecoder(gpuid=0, codec=demuxer.GetNvCodecId(), usedevicememory=True)
        return sum(len(decoder.Decode(packet)) for packet in demuxer)

    def first_of_packets(path: str) -> Any:
        demuxer = nvc.CreateDemuxer(path)
        decoder = nvc.CreateDecoder(gpuid=0, codec=demuxer.GetNvCodecId(), usedevicememory=False)
        return next(frames[0] for packet in demuxer if (frames := decoder.Decode(packet)))

    def first(path: str) -> Any:
        return {
            "": lambda: nvc.SimpleDecoder(path, gpu_id=0, use_device_memory=False)[0],
            "reconfigured": lambda: reconfigured(path, on_device=False)[0],
            "packets": lambda: first_of_packets(path),
        }[case.setting]()

    return {
        "one_file": lambda: threaded(files[0]),
        "21_files_of_3000": lambda: _each_file(files, stream, len(files)),
        "28_files_of_300": lambda: _each_file(files, threaded if case.setting == "threaded" else simple),
        "first_frame": lambda: sum(first(path) is not None for path in files),
    }[case.task]


def _decoders(files: list[str], batch: int, decode: Callable[[Any], Any]) -> Round:
    """A DALI pipeline that decodes `batch` whole files at a time from memory."""
    from nvidia.dali import Pipeline, fn

    built = Pipeline(batch_size=batch, num_threads=_THREADS, device_id=0, prefetch_queue_depth=1)
    with built:
        encoded, _ = fn.readers.file(files=files, shuffle_after_epoch=False)
        built.set_outputs(decode(encoded))
    built.build()

    def run() -> int:
        count = 0
        for _ in range(-(-len(files) // batch)):
            (output,) = built.run()
            count += sum(shape[0] for shape in output.shape())
        output.as_cpu()  # waits
        return count

    return run


def _tricodec_dali(_: Case, files: list[str]) -> Round:
    """fn.tricodec.decode_video with device "mixed": float16 tensors of 224x224."""
    import tricodec.dali  # noqa: F401  (registers the operators)
    from nvidia.dali import fn, types

    options = {"size": (_SIDE, _SIDE), "dtype": types.FLOAT16, "layout": "CHW"}
    return _decoders(
        files, min(_THREADS, len(files)), lambda data: fn.tricodec.decode_video(data, device="mixed", **options)[0]
    )


def _dali(case: Case, files: list[str]) -> Round:
    """readers.video for one file, decoders.video for many."""
    from nvidia.dali import Pipeline, fn

    if case.task != "one_file":
        return _decoders(files, min(8, len(files)), lambda data: fn.decoders.video(data, device="mixed"))
    built = Pipeline(batch_size=1, num_threads=_THREADS, device_id=0)
    with built:
        built.set_outputs(
            fn.readers.video(device="gpu", filenames=files, sequence_length=_BATCH, name="reader", pad_sequences=True)
        )
    built.build()
    sequences = built.epoch_size("reader")

    def run() -> int:
        for _ in range(sequences):
            (output,) = built.run()
        output.as_cpu()
        return int(sequences * _BATCH)

    return run


_CONTENDERS: dict[str, Callable[[Case, list[str]], Round]] = {
    "tricodec": _tricodec,
    "tricodec-dali": _tricodec_dali,
    "pynvvideocodec": _pynvvideocodec,
    "dali": _dali,
}
