# SPDX-License-Identifier: Apache-2.0
"""The row of one video."""

from __future__ import annotations

import dataclasses
import threading
from collections.abc import Callable, Mapping
from typing import Any, Literal

import numpy as np

from tricodec._dataset._locate import Located, one_line
from tricodec._tricodec import FrameReader, StreamInfo, __version__, gpu_refusal
from tricodec.errors import CorruptDataError, Error, MediaNotFoundError, RefusedError, UnsupportedError

Reading = Literal["container", "packets", "frames"]
#: How much of a video is read, from the least to the most.
READINGS: tuple[Reading, ...] = ("container", "packets", "frames")
_MOST_MESSAGES = 10
_ENDS_EARLY = "it ends early"


class Stopped(Exception):
    """The run ends before this video is read."""


@dataclasses.dataclass(frozen=True)
class Reader:
    """What makes rows. Thread safety: safe."""

    reading: Reading
    """What is read of a video."""
    gpu: int | None
    """The GPU that `gpu_refusal` is of; None is any."""
    remote_options: Mapping[str, Any]
    """For `tricodec.remote`."""
    kept: Callable[[Located], dict[str, Any] | None]
    """The row of an earlier run, if it is of this version of a video."""
    stop: threading.Event = dataclasses.field(default_factory=threading.Event)
    """Set to end the reading of frames."""

    def row(self, video: Located) -> dict[str, Any]:
        """The row of a video. A video that cannot be read has a row with the reason."""
        return _row(self, video)


def _row(by: Reader, video: Located) -> dict[str, Any]:
    reading = by.reading
    row: dict[str, Any] = {
        "path": video.path, **video.columns(),
        "size_bytes": video.size_bytes, "mtime_ns": video.mtime_ns, "etag": video.etag,
        "read": reading, "tricodec_version": __version__,
    }  # fmt: skip
    if video.error:
        return row | {"status": "failed", "error": video.error}
    try:
        source = video.source(by.remote_options)
        if video.is_remote:
            row |= {"size_bytes": source.size_bytes, "etag": source.etag}
            if (
                known := by.kept(dataclasses.replace(video, size_bytes=source.size_bytes, etag=source.etag))
            ) is not None:
                return known
        index = "container" if reading == "container" else "packets"
        with FrameReader(source, device="cpu", num_workers=1, index=index) as reader:
            if reading == "frames":
                for _ in reader:
                    if by.stop.is_set():
                        raise Stopped
            return row | _facts(reader, by.gpu)
    except MediaNotFoundError as error:
        return row | {"status": "missing", "error": one_line(error)}
    except (CorruptDataError, RefusedError, UnsupportedError, ValueError) as error:
        return row | {"status": "unreadable", "error": one_line(error)}
    except (Error, OSError, MemoryError) as error:  # it may go away by itself
        return row | {"status": "failed", "error": one_line(error)}


def _facts(reader: FrameReader, gpu: int | None) -> dict[str, Any]:
    info, stream = reader.info, reader.stream
    times = reader.pts_seconds
    gops = reader._gops()
    issues = [issue.message for issue in reader.issues]
    audio = next((each for each in info.streams if each.kind == "audio"), None)
    color = stream.color
    status = "ok"
    if issues:
        # The end of the file is the last issue; where it is cut in mid-packet, that packet is one before.
        status = "cut" if issues[-1].startswith(_ENDS_EARLY) else "damaged"
    return {
        "checksum": reader._source_checksum().hex(),
        "status": "unreadable" if len(times) == 0 else status,
        "error": None if not issues else issues[-1] if status == "cut" else issues[0],
        "num_damaged_packets": reader.num_damaged_packets,
        "damage": issues[:_MOST_MESSAGES],
        "bytes_read": reader.stats.bytes_read,
        "container": info.format_name,
        "stream_index": stream.index,
        "codec": stream.codec_name,
        "profile": stream.profile,
        "level": stream.level,
        "width": stream.width,
        "height": stream.height,
        "sample_aspect_ratio": None if stream.sample_aspect_ratio is None else str(stream.sample_aspect_ratio),
        "rotation": stream.rotation,
        "mirrored": stream.mirrored,
        "pixel_format": stream.pixel_format_name,
        "color_matrix": color.matrix,
        "color_range": color.range,
        "color_primaries": color.primaries,
        "color_transfer": color.transfer,
        "interlaced": stream.interlaced,
        "gpu_refusal": gpu_refusal(stream, gpu) or None,
        "audio_codec": audio and audio.codec_name,
        "audio_sample_rate": audio and audio.sample_rate,
        "audio_channels": audio and audio.num_channels,
        "num_frames": len(times),
        "fps": reader.fps,
        "start_seconds": float(times[0]) if len(times) else None,
        "duration_seconds": reader.duration,
        "stated_duration_seconds": stream.duration_seconds or info.duration_seconds or None,
        **_times(stream, times),
        "gop_first_frame": gops[:, 0].tolist(),
        "gop_num_frames": gops[:, 1].tolist(),
        "gop_offset": gops[:, 2].tolist(),
        "gop_size_bytes": gops[:, 3].tolist(),
        "gop_open": gops[:, 4].astype(bool).tolist(),
        "index": reader.index_bytes(),
    }


def _times(stream: StreamInfo, times: Any) -> dict[str, Any]:
    """The time base, and how far the frames are from an even rate: that of the stream's header, if it has one."""
    base, rate = stream.time_base, stream.average_frame_rate or stream.real_frame_rate
    drift = None
    if rate and len(times):
        drift = float(np.abs(times - times[0] - np.arange(len(times)) / float(rate)).max())
    return {
        "time_base_num": base and base.numerator,
        "time_base_den": base and base.denominator,
        "max_drift_seconds": drift,
        "num_times_back": int((times[1:] <= times[:-1]).sum()),
    }
