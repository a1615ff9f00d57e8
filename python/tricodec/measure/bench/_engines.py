# SPDX-License-Identifier: Apache-2.0
"""The engines of one process: decoding, transforming, encoding and transcoding of a video file, and a pipeline.

Options are those of `tricodec.Transform`, or of the encoder by FFmpeg's names. With `transfers` results on a GPU are
copied to the host; the copies are part of the time.
"""

from __future__ import annotations

import contextlib
import itertools
import os
import tempfile
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np

import tricodec
from tricodec.io import StreamReader
from tricodec.measure.bench._load import Done, Work
from tricodec.measure.bench._session import Engine

#: What a query of `pipeline_engine` covers, by its front end.
_PIPELINES = {
    "python": "from the path to one tensor of the batch: open, read, decode, transform",
    "dali": "one run of a DALI pipeline, from reading the file to one array of the batch in host memory",
}
PIPELINES = tuple(_PIPELINES)
FRAME_RATE = 30000 / 1001
TEST_PICTURES = "1280x720, 2 s of FFmpeg's testsrc2"
"""What describes the test pictures."""


def make_pictures() -> Any:
    """The test pictures, uint8 RGB [frames, 3, height, width]."""
    source = f"testsrc2=rate={FRAME_RATE}:size=1280x720:duration=2"
    reader = StreamReader(src=source, format="lavfi", arrays="numpy")
    reader.add_basic_video_stream(-1, format="rgb24")
    reader.process_all_packets()
    (pictures,) = reader.pop_chunks()
    return pictures


@contextlib.contextmanager
def clip_or(file: str | Path | None) -> Iterator[Path]:
    """The path of a video, for a ``with`` block.

    None is a video of the test pictures, H.264 with a key frame every 30 frames. The end of the block deletes it.
    """
    if file is not None:
        yield Path(file)
        return
    with tempfile.TemporaryDirectory(prefix="tricodec-bench-") as folder:
        path = Path(folder) / "test_pictures.mp4"
        data = tricodec.encode_video(make_pictures(), layout="CHW", frame_rate=FRAME_RATE, gop_size=30)
        path.write_bytes(data)
        yield path


@contextlib.contextmanager
def open_dali(path: Path, request: dict[str, Any], *, device: str = "cpu", num_threads: int = 0) -> Iterator[Any]:
    """Yields a function that runs a DALI pipeline with `fn.tricodec.decode_video`, which reads the file each time.

    The result of a GPU is copied to the host. 0 threads are one for each core.
    """
    import tricodec.dali  # noqa: F401  (registers the operator, or says what is missing)

    gpu = None if device == "cpu" else int(device.partition(":")[2] or 0)
    from nvidia.dali import Pipeline, fn, types

    dtypes = {"uint8": types.UINT8, "float16": types.FLOAT16, "float32": types.FLOAT}
    arguments = request | {"dtype": dtypes[request.get("dtype", "uint8")]}

    # One run at a time: a pipeline that runs ahead would hide its time from a clock.
    threads = num_threads or len(os.sched_getaffinity(0))
    pipeline = Pipeline(batch_size=1, num_threads=threads, device_id=gpu, exec_async=False, exec_pipelined=False)
    with pipeline:
        encoded = fn.external_source(source=lambda: [np.fromfile(path, np.uint8)], batch=True)
        if gpu is not None:
            arguments["device"] = "mixed"
        pipeline.set_outputs(*fn.tricodec.decode_video(encoded, **arguments))
    pipeline.build()

    def decode() -> Any:
        frames, _ = pipeline.run()
        return np.array((frames if gpu is None else frames.as_cpu()).at(0))

    yield decode


class _Video:
    """A video file, and the device that works on it."""

    def __init__(self, path: Path, device: str, *, transfers: bool = False) -> None:
        self.path = path
        self.device = device
        self.transfers = transfers
        with tricodec.FrameReader(path, device=device) as reader:
            stream = reader.stream
            self.times = reader.pts_seconds.tolist()
            self.on_gpu = reader.device != "cpu"
            self.frame_rate = stream.average_frame_rate or stream.real_frame_rate or 30
            self.frame_bytes = reader[0].size_bytes
            self.settings = {
                "input": f"{path.name}: {stream.codec_name}, {stream.width}x{stream.height}, {len(reader)} frames",
                "device": reader.device,
                "engine": reader.engine,
            }
        if self.on_gpu:
            copied = "copied to the host, as a part of the time" if transfers else "left in device memory"
            self.settings["transfers"] = f"results are {copied}"

    def count(self, batch: int, default: int = 0) -> int:
        """The frames of a query: those of the batch, by default so many, and 0 is all of the file."""
        most = len(self.times)
        if batch > most:
            raise ValueError(f"a batch of {batch} frames is more than {self.path.name} has; accepted: up to {most}")
        return batch or min(default or most, most)

    def done(self, frames: int, compressed_bytes: int = 0, parts: Mapping[str, float] | None = None) -> Done:
        return Done(frames, frames * self.frame_bytes, compressed_bytes, parts or {})

    def finish(self, result: Any, start: float, name: str) -> dict[str, float]:
        """Waits for an array on a GPU and copies it to the host; the seconds of both."""
        if not self.on_gpu:
            return {}
        result.wait()
        ready = time.perf_counter()
        if not self.transfers:
            return {name: ready - start}
        result.numpy()
        return {name: ready - start, "download": time.perf_counter() - ready}


def decode_engine(path: Path, device: str = "auto", *, transfers: bool = True) -> Engine:
    """Decodes the first `batch` frames of a file by `tricodec.FrameReader`; `threads` is `num_workers`."""
    video = _Video(path, device, transfers=transfers)

    @contextlib.contextmanager
    def open_work(batch: int, threads: int) -> Iterator[Work]:
        count = video.count(batch)

        def work() -> Done:
            start, number, download = time.perf_counter(), 0, 0.0
            with tricodec.FrameReader(path, device=device, num_workers=threads) as reader:
                # A read of all frames starts before the packets are indexed.
                frames = iter(reader) if count == len(video.times) else reader.iterate(count=count)
                if not video.on_gpu:
                    return video.done(sum(1 for _ in frames))
                for frame in frames:
                    frame.wait()
                    number += 1
                    if transfers:
                        ready = time.perf_counter()
                        frame.cpu()
                        download += time.perf_counter() - ready
                parts = {"decode": time.perf_counter() - start - download}
                return video.done(number, parts=parts | ({"download": download} if transfers else {}))

        yield work

    return Engine("decode", "from the path to the last frame, opening included", video.settings, open_work)


def transform_engine(
    path: Path, device: str = "auto", options: Mapping[str, Any] | None = None, *, transfers: bool = True
) -> Engine:
    """Transforms `batch` decoded frames in one call of a `tricodec.Transform`; those of a short video several times."""
    video = _Video(path, device, transfers=transfers)
    transform = tricodec.Transform(**(options or {}))
    video.settings["transform"] = str(options)
    place, memory = ("in device memory ", "") if video.on_gpu else ("", ", in memory that is in use")

    @contextlib.contextmanager
    def open_work(batch: int, threads: int) -> Iterator[Work]:
        count = batch or 16
        with tricodec.FrameReader(path, device=device) as reader:
            decoded = list(reader.iterate(count=min(count, len(reader))))
        frames = list(itertools.islice(itertools.cycle(decoded), count))
        out = None if video.on_gpu else transform(frames)

        def work() -> Done:
            start = time.perf_counter()
            result = transform(frames, out)
            return video.done(count, parts=video.finish(result, start, "transform"))

        yield work

    scope = f"from decoded frames {place}to one tensor of the batch{memory}"
    return Engine("transform", scope, video.settings, open_work)


def encode_engine(
    path: Path, device: str = "auto", options: Mapping[str, Any] | None = None, *, codec: str = "h264"
) -> Engine:
    """Encodes `batch` frames to a file in memory by `tricodec.Encoder` and `tricodec.Muxer`.

    The CPU decodes the frames of the video before the clock starts. `threads` is `num_threads`.
    """
    video = _Video(path, "cpu")
    encoder_name = tricodec.encode.encoder_for(codec, device)
    settings = video.settings | {"device": device, "engine": encoder_name, "options": str(options)}

    @contextlib.contextmanager
    def open_work(batch: int, threads: int) -> Iterator[Work]:
        count = video.count(batch, 60)
        with tricodec.FrameReader(path, device="cpu") as reader:
            frames = list(reader.iterate(count=count))

        def work() -> Done:
            with tricodec.Muxer(None, format="mp4") as muxer:
                encoder = tricodec.Encoder(
                    frames[0].width, frames[0].height, codec=codec, device=device, frame_rate=video.frame_rate,
                    num_threads=threads, options=options, global_header=muxer.wants_global_headers,
                )  # fmt: skip
                stream = muxer.add_stream(encoder.stream)
                for number, frame in enumerate(frames):
                    for packet in encoder.encode(frame, pts=number):
                        muxer.write(packet, stream)
                for packet in encoder.flush():
                    muxer.write(packet, stream)
                muxer.finish()
                return video.done(count, len(muxer.getvalue()))

        yield work

    scope = "from frames in host memory to a closed mp4 in memory; encoder delay and trailer included"
    return Engine("encode", scope, settings, open_work)


def transcode_engine(
    path: Path,
    device: str = "auto",
    options: Mapping[str, Any] | None = None,
    *,
    codec: str = "h264",
    size: tuple[int, int] | None = None,
) -> Engine:
    """Transcodes the first `batch` frames of a file by `tricodec.transcode`; `threads` is `num_threads`."""
    video = _Video(path, device)
    encoder = tricodec.encode.encoder_for(codec, device)
    settings = video.settings | {"encoder": encoder, "options": str(options), "size": str(size or "that of the video")}
    settings.pop("transfers", None)  # the file is in host memory, wherever its pictures were

    @contextlib.contextmanager
    def open_work(batch: int, threads: int) -> Iterator[Work]:
        count = video.count(batch)
        # Midway between two frames, so that the rounding of times cannot move the end by a frame.
        end = sum(video.times[count - 1 : count + 1]) / 2 if count < len(video.times) else None

        def work() -> Done:
            result = tricodec.transcode(
                path, None, format="mp4", codec=codec, device=device, size=size, end=end, audio=False,
                num_threads=threads, options=options,
            )  # fmt: skip
            return video.done(result.num_frames, result.size_bytes)

        yield work

    return Engine("transcode", "from the path to a closed mp4 in memory, without audio", settings, open_work)


def pipeline_engine(
    path: Path,
    device: str = "auto",
    options: Mapping[str, Any] | None = None,
    *,
    transfers: bool = True,
    front_end: str = "python",
) -> Engine:
    """Decodes and transforms `batch` frames of a file to one tensor; `threads` is `num_workers`.

    `front_end` is "python" for `tricodec.decode_video`, or "dali" for a pipeline with `fn.tricodec.decode_video` on so
    many threads, which always copies its result to the host.
    """
    video = _Video(path, device, transfers=transfers or front_end == "dali")
    tricodec.Transform(**(options or {}))  # refuses wrong options here
    settings = video.settings | {"front end": front_end, "transform": str(options)}

    @contextlib.contextmanager
    def open_work(batch: int, threads: int) -> Iterator[Work]:
        request = {"count": video.count(batch, 32), **(options or {})}
        if front_end == "dali":
            with open_dali(path, request, device=settings["device"], num_threads=threads) as decode:
                yield lambda: video.done(len(decode()))
            return

        def work() -> Done:
            start = time.perf_counter()
            found = tricodec.decode_video(path, device=device, num_workers=threads, **request)
            return video.done(len(found), parts=video.finish(found.frames, start, "decode and transform"))

        yield work

    return Engine("pipeline", _PIPELINES[front_end], settings, open_work)
