# SPDX-License-Identifier: Apache-2.0
"""The engines of one process: decoding, transforming, encoding and transcoding of a video file, and a pipeline."""

from __future__ import annotations

import contextlib
import itertools
import tempfile
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import tricodec
from tricodec.io import StreamReader
from tricodec.measure.bench._load import Done, Work
from tricodec.measure.bench._session import Engine
from tricodec.measure.bench.front_ends import open_dali

PIPELINES = ("python", "dali")
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


class VideoEngine(Engine):
    """What the engines of a video file share.

    `options` are those of `tricodec.Transform`, or of the encoder by FFmpeg's names. With `transfers` results on a GPU
    are copied to the host; the copies are part of the time. `codec` is that of the encoder, `size` (height, width) of
    its pictures, and `front_end` one of PIPELINES.
    """

    default_batch = 0
    """Frames of a query; 0 is all of the file."""
    decoding_device = ""
    """Of the frames that a query starts with; "" is the device that is measured."""

    def __init__(
        self,
        path: Path,
        device: str = "auto",
        options: Mapping[str, Any] | None = None,
        *,
        transfers: bool = True,
        codec: str = "h264",
        size: tuple[int, int] | None = None,
        front_end: str = "python",
    ) -> None:
        self.path = path
        self.device = device
        self.options = dict(options or {})
        self.transfers = transfers or front_end == "dali"
        self.codec: Any = codec
        self.size = size
        self.front_end = front_end
        with tricodec.FrameReader(path, device=self.decoding_device or device) as reader:
            self.num_frames = len(reader)
            self.on_gpu = reader.device != "cpu"
            stream = reader.stream
            self.frame_rate = stream.average_frame_rate or stream.real_frame_rate or 30
            self.frame_bytes = reader[0].size_bytes
            self.settings = {
                "input": f"{path.name}: {stream.codec_name}, {stream.width}x{stream.height}, {self.num_frames} frames",
                "device": reader.device,
                "engine": reader.engine,
            }
        if self.on_gpu:
            copied = "copied to the host, as a part of the time" if self.transfers else "left in device memory"
            self.settings["transfers"] = f"results are {copied}"
        self._set_up()

    def _set_up(self) -> None:
        """Checks the options before the first case, and adds to `settings`."""

    def count(self, batch: int) -> int:
        """The frames of a query."""
        if batch > self.num_frames:
            raise ValueError(
                f"a batch of {batch} frames is more than {self.path.name} has; accepted: up to {self.num_frames}"
            )
        return batch or min(self.default_batch or self.num_frames, self.num_frames)

    def _done(self, frames: int, compressed_bytes: int = 0, parts: Mapping[str, float] | None = None) -> Done:
        return Done(frames, frames * self.frame_bytes, compressed_bytes, parts or {})

    def _finish(self, result: Any, start: float, name: str) -> dict[str, float]:
        """Waits for an array on a GPU and copies it to the host; the seconds of both."""
        if not self.on_gpu:
            return {}
        result.wait()
        ready = time.perf_counter()
        if not self.transfers:
            return {name: ready - start}
        result.numpy()
        return {name: ready - start, "download": time.perf_counter() - ready}


class DecodeEngine(VideoEngine):
    """Decodes frames of a file by `tricodec.FrameReader`."""

    name = "decode"
    scope = "from the path to the last frame, opening included"

    @contextlib.contextmanager
    def open(self, batch: int, threads: int) -> Iterator[Work]:
        """A query reads the first `batch` frames; `threads` is `num_workers`."""
        count = self.count(batch)

        def work() -> Done:
            start = time.perf_counter()
            with tricodec.FrameReader(self.path, device=self.device, num_workers=threads) as reader:
                # A read of all frames starts before the packets are indexed.
                frames = iter(reader) if count == self.num_frames else reader.iterate(count=count)
                if self.on_gpu:
                    return self._take_from_gpu(frames, start)
                return self._done(sum(1 for _ in frames))

        yield work

    def _take_from_gpu(self, frames: Iterator[tricodec.Frame], start: float) -> Done:
        number, download = 0, 0.0
        for frame in frames:
            frame.wait()
            number += 1
            if self.transfers:
                ready = time.perf_counter()
                frame.cpu()
                download += time.perf_counter() - ready
        parts = {"decode": time.perf_counter() - start - download}
        return self._done(number, parts=parts | ({"download": download} if self.transfers else {}))


class TransformEngine(VideoEngine):
    """Transforms decoded frames by `tricodec.Transform`."""

    name = "transform"
    scope = "from decoded frames to one tensor of the batch, in memory that is in use"
    default_batch = 16

    def _set_up(self) -> None:
        tricodec.Transform(**self.options)
        self.settings["transform"] = str(self.options)
        if self.on_gpu:
            self.scope = "from decoded frames in device memory to one tensor of the batch"

    def count(self, batch: int) -> int:
        """The frames of a query; those of a short video are used several times."""
        return batch or self.default_batch

    @contextlib.contextmanager
    def open(self, batch: int, threads: int) -> Iterator[Work]:
        """A query transforms `batch` frames in one call; `threads` is not used."""
        count = self.count(batch)
        transform = tricodec.Transform(**self.options)
        with tricodec.FrameReader(self.path, device=self.device) as reader:
            decoded = list(reader.iterate(count=min(count, self.num_frames)))
        frames = list(itertools.islice(itertools.cycle(decoded), count))
        out = None if self.on_gpu else transform(frames)

        def work() -> Done:
            start = time.perf_counter()
            result = transform(frames, out)
            return self._done(count, parts=self._finish(result, start, "transform"))

        yield work


class EncodeEngine(VideoEngine):
    """Encodes frames to a file in memory by `tricodec.Encoder` and `tricodec.Muxer`.

    The CPU decodes the frames of the video before the clock starts; `device` and `codec` are those of the encoder.
    """

    name = "encode"
    scope = "from frames in host memory to a closed mp4 in memory; encoder delay and trailer included"
    default_batch = 60
    decoding_device = "cpu"

    def _set_up(self) -> None:
        encoder = tricodec.encode.encoder_for(self.codec, self.device)
        self.settings |= {"device": self.device, "engine": encoder, "options": str(self.options)}

    @contextlib.contextmanager
    def open(self, batch: int, threads: int) -> Iterator[Work]:
        """A query encodes `batch` frames; `threads` is `num_threads`."""
        count = self.count(batch)
        with tricodec.FrameReader(self.path, device="cpu") as reader:
            frames = list(reader.iterate(count=count))

        def work() -> Done:
            with tricodec.Muxer(None, format="mp4") as muxer:
                encoder = tricodec.Encoder(
                    frames[0].width, frames[0].height, codec=self.codec, device=self.device,
                    frame_rate=self.frame_rate, num_threads=threads, options=self.options,
                    global_header=muxer.wants_global_headers,
                )  # fmt: skip
                stream = muxer.add_stream(encoder.stream)
                for number, frame in enumerate(frames):
                    for packet in encoder.encode(frame, pts=number):
                        muxer.write(packet, stream)
                for packet in encoder.flush():
                    muxer.write(packet, stream)
                muxer.finish()
                return self._done(count, len(muxer.getvalue()))

        yield work


class TranscodeEngine(VideoEngine):
    """Decodes, resizes and encodes a file by `tricodec.transcode`."""

    name = "transcode"
    scope = "from the path to a closed mp4 in memory, without audio"

    def _set_up(self) -> None:
        with tricodec.FrameReader(self.path, device="cpu") as reader:
            self._times = [float(each) for each in reader.pts_seconds]
        encoder, size = tricodec.encode.encoder_for(self.codec, self.device), self.size or "that of the video"
        self.settings |= {"encoder": encoder, "options": str(self.options), "size": str(size)}
        self.settings.pop("transfers", None)  # the file is in host memory, wherever its pictures were

    @contextlib.contextmanager
    def open(self, batch: int, threads: int) -> Iterator[Work]:
        """A query transcodes the first `batch` frames; `threads` is `num_threads`."""
        count = self.count(batch)
        # Midway between two frames, so that the rounding of times cannot move the end by a frame.
        end = sum(self._times[count - 1 : count + 1]) / 2 if count < self.num_frames else None

        def work() -> Done:
            result = tricodec.transcode(
                self.path, None, format="mp4", codec=self.codec, device=self.device, size=self.size, end=end,
                audio=False, num_threads=threads, options=self.options,
            )  # fmt: skip
            return self._done(result.num_frames, result.size_bytes)

        yield work


class PipelineEngine(VideoEngine):
    """Decodes and transforms frames of a file to one tensor.

    `front_end` is "python" for `tricodec.decode_video`, or "dali" for a pipeline with `fn.tricodec.decode_video`, which
    always copies its result to the host.
    """

    name = "pipeline"
    default_batch = 32

    def _set_up(self) -> None:
        tricodec.Transform(**self.options)
        self.scope = {
            "python": "from the path to one tensor of the batch: open, read, decode, transform",
            "dali": "one run of a DALI pipeline, from reading the file to one array of the batch in host memory",
        }[self.front_end]
        self.settings |= {"front end": self.front_end, "transform": str(self.options)}

    @contextlib.contextmanager
    def open(self, batch: int, threads: int) -> Iterator[Work]:
        """A query makes a tensor of `batch` frames; `threads` is `num_workers`, or the threads of DALI's pipeline."""
        request = {"count": self.count(batch), **self.options}
        if self.front_end == "dali":
            with open_dali(self.path, request, device=self.settings["device"], num_threads=threads) as decode:
                yield lambda: self._done(len(decode()))
            return

        def work() -> Done:
            start = time.perf_counter()
            video = tricodec.decode_video(self.path, device=self.device, num_workers=threads, **request)
            return self._done(len(video), parts=self._finish(video.frames, start, "decode and transform"))

        yield work
