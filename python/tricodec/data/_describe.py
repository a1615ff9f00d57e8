# SPDX-License-Identifier: Apache-2.0
"""The row of one video."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from typing import Any, Literal

import numpy as np

from tricodec._tricodec import FrameReader, StreamInfo, __version__, gpu_refusal
from tricodec.data._locate import Located, one_line
from tricodec.errors import CorruptDataError, Error, RefusedError, UnsupportedError

Reading = Literal["container", "packets", "frames"]
#: How much of a video is read, from the least to the most.
READINGS: tuple[Reading, ...] = ("container", "packets", "frames")


class _Stopped(Exception):
    """The run ends before this video is read."""


def describe(
    video: Located, reading: Reading, gpu: int | None, remote_options: Mapping[str, Any], stop: threading.Event
) -> dict[str, Any]:
    """The row of a video. A video that cannot be read has a row with the reason.

    Args:
        video: what the row is of.
        reading: what is read of it.
        gpu: the GPU that ``gpu_refusal`` is of; None is any.
        remote_options: for `tricodec.open_remote`.
        stop: ends the reading of frames.
    """
    row = {**video.columns(), "read": reading, "tricodec_version": __version__}
    if video.error:
        return row | {"status": "failed", "error": video.error}
    try:
        index = "container" if reading == "container" else "packets"
        with FrameReader(video.source(remote_options), device="cpu", num_workers=1, index=index) as reader:
            if reading == "frames":
                for _ in reader:
                    if stop.is_set():
                        raise _Stopped
            return row | _facts(reader, gpu)
    except (CorruptDataError, RefusedError, UnsupportedError, ValueError) as error:
        return row | {"status": "unreadable", "error": one_line(error)}
    except (Error, OSError, MemoryError) as error:  # the next run tries again
        return row | {"status": "failed", "error": one_line(error)}


def _facts(reader: FrameReader, gpu: int | None) -> dict[str, Any]:
    info, stream = reader.info, reader.stream
    times = reader.pts_seconds
    gops = reader._gops()
    issues = reader.issues
    audio = next((each for each in info.streams if each.kind == "audio"), None)
    color = stream.color
    status, error = "ok", None
    if issues:
        # A file that is cut has its end as the last issue, after its last packet.
        status = "cut" if issues[-1].packet_number >= gops[:, 1].sum() else "damaged"
        error = issues[-1 if status == "cut" else 0].message
    return {
        "checksum": reader._source_checksum().hex(),
        "status": "unreadable" if len(times) == 0 else status,
        "error": error,
        "num_damaged_packets": reader.num_damaged_packets,
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
        **_times(stream, times),
        "gop_first_frame": gops[:, 0].tolist(),
        "gop_num_frames": gops[:, 1].tolist(),
        "gop_offset": gops[:, 2].tolist(),
        "gop_size_bytes": gops[:, 3].tolist(),
        "gop_open": gops[:, 4].astype(bool).tolist(),
        "index": reader.index_bytes(),
    }


def _times(stream: StreamInfo, times: Any) -> dict[str, Any]:
    """The time base, and how far the frames are from the even rate of the stream's header, if it has one."""
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
