# SPDX-License-Identifier: Apache-2.0
"""The engines of one process: decoding, transforming, encoding and transcoding of a video file."""

from __future__ import annotations

import contextlib
import itertools
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import tricodec
from tricodec.measure.bench._load import Work
from tricodec.measure.bench._windows import Done

_ENCODED_FRAMES = 60
_TRANSFORMED_FRAMES = 16


class VideoEngine:
    """What the engines of a video file share.

    Args:
        path: the video.
        device: as in `tricodec.FrameReader`.
        transfers: whether results on a GPU are copied to the host; the copies are part of the time.

    Raises:
        Error: the errors of `tricodec.FrameReader`.
    """

    name = ""
    scope = ""
    profiled = True
    default_batch = 0
    """Frames of a query; 0 is all of the file."""

    def __init__(self, path: Path, device: str = "auto", *, transfers: bool = True) -> None:
        self.path = path
        self.device = device
        self.transfers = transfers
        with tricodec.FrameReader(path, device=device) as reader:
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
            copied = "copied to the host, as a part of the time" if transfers else "left in device memory"
            self.settings["transfers"] = f"results are {copied}"

    def count(self, batch: int) -> int:
        """The frames of a query.

        Raises:
            ValueError: the video has fewer.
        """
        if batch > self.num_frames:
            message = f"a batch of {batch} frames is more than {self.path.name} has; accepted: up to {self.num_frames}"
            raise ValueError(message)
        return batch or min(self.default_batch or self.num_frames, self.num_frames)

    def facts(self) -> dict[str, Any]:
        """None."""
        return {}

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
    """Transforms decoded frames by `tricodec.Transform`.

    Args:
        path: the video.
        device: as in `tricodec.FrameReader`.
        options: those of `tricodec.Transform`.
        transfers: as in `VideoEngine`.
    """

    name = "transform"
    scope = "from decoded frames to one tensor of the batch, in memory that is in use"
    default_batch = _TRANSFORMED_FRAMES

    def __init__(
        self, path: Path, device: str = "auto", options: Mapping[str, Any] | None = None, *, transfers: bool = True
    ) -> None:
        super().__init__(path, device, transfers=transfers)
        self.options = dict(options or {})
        tricodec.Transform(**self.options)  # finds wrong options before the first case
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

    Args:
        path: the video that has the frames; the CPU decodes it before the clock starts.
        device: the device that encodes, as in `tricodec.Encoder`.
        codec: as in `tricodec.Encoder`.
        options: options of the encoder, by FFmpeg's names.
    """

    name = "encode"
    scope = "from frames in host memory to a closed mp4 in memory; encoder delay and trailer included"
    default_batch = _ENCODED_FRAMES

    def __init__(
        self, path: Path, device: str = "auto", codec: str = "h264", options: Mapping[str, str] | None = None
    ) -> None:
        super().__init__(path, "cpu")
        self.encoding_device = device
        self.codec: Any = codec
        self.options = dict(options or {})
        encoder = tricodec.encode.encoder_for(codec, device)
        self.settings |= {"device": device, "engine": encoder, "options": str(self.options)}

    @contextlib.contextmanager
    def open(self, batch: int, threads: int) -> Iterator[Work]:
        """A query encodes `batch` frames; `threads` is `num_threads`."""
        count = self.count(batch)
        with tricodec.FrameReader(self.path, device="cpu") as reader:
            frames = list(reader.iterate(count=count))

        def work() -> Done:
            with tricodec.Muxer(None, format="mp4") as muxer:
                encoder = tricodec.Encoder(
                    frames[0].width, frames[0].height, codec=self.codec, device=self.encoding_device,
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
    """Decodes, resizes and encodes a file by `tricodec.transcode`.

    Args:
        path: the video.
        device: as in `tricodec.transcode`.
        codec: as in `tricodec.transcode`.
        options: options of the encoder, by FFmpeg's names.
        size: (height, width) of the output in pixels; None is that of the video.
    """

    name = "transcode"
    scope = "from the path to a closed mp4 in memory, without audio"

    def __init__(
        self,
        path: Path,
        device: str = "auto",
        codec: str = "h264",
        options: Mapping[str, str] | None = None,
        size: tuple[int, int] | None = None,
    ) -> None:
        super().__init__(path, device)
        self.codec: Any = codec
        self.options = dict(options or {})
        self.size = size
        with tricodec.FrameReader(path, device="cpu") as reader:
            self._times = [float(each) for each in reader.pts_seconds]
        encoder = tricodec.encode.encoder_for(codec, device)
        self.settings |= {"encoder": encoder, "options": str(self.options), "size": str(size or "that of the video")}
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
