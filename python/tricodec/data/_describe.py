# SPDX-License-Identifier: Apache-2.0
"""The row of one video."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from typing import Any, Literal

import numpy as np

from tricodec._tricodec import FrameReader, __version__, gpu_refusal
from tricodec.data._locate import Located, one_line
from tricodec.errors import CorruptDataError, Error, RefusedError, UnsupportedError

Reading = Literal["container", "packets", "frames"]
#: How much of a video is read, from the least to the most.
READINGS: tuple[Reading, ...] = ("container", "packets", "frames")
_OF_STREAM = ("profile", "level", "width", "height", "rotation", "mirrored", "interlaced")
_OF_COLOR = ("matrix", "range", "primaries", "transfer")
_OF_GROUPS = ("gop_first_frame", "gop_num_frames", "gop_offset", "gop_size_bytes")


def describe(
    video: Located, reading: Reading, gpu: int | None, remote_options: Mapping[str, Any], stop: threading.Event
) -> dict[str, Any]:
    """The row of a video; one that cannot be read has a row with the reason. `stop` ends the reading of frames.

    ``gpu_refusal`` is of the GPU `gpu`; None is any.
    """
    row = {**video.columns(), "read": reading, "tricodec_version": __version__}
    if video.error:
        return row | {"status": "failed", "error": video.error}
    try:
        index = "container" if reading == "container" else "packets"
        with FrameReader(video.source(remote_options), device="cpu", num_workers=1, index=index) as reader:
            if reading == "frames":
                for _ in reader:
                    if stop.is_set():  # the run ends, and writes no index
                        return row
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
    base, rate = stream.time_base, stream.average_frame_rate or stream.real_frame_rate
    drift = None  # from the even rate of the stream's header, if it has one
    if rate and len(times):
        drift = float(np.abs(times - times[0] - np.arange(len(times)) / float(rate)).max())
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
        "sample_aspect_ratio": None if stream.sample_aspect_ratio is None else str(stream.sample_aspect_ratio),
        "pixel_format": stream.pixel_format_name,
        **{name: getattr(stream, name) for name in _OF_STREAM},
        **{f"color_{name}": getattr(stream.color, name) for name in _OF_COLOR},
        "gpu_refusal": gpu_refusal(stream, gpu) or None,
        "audio_codec": audio and audio.codec_name,
        "audio_sample_rate": audio and audio.sample_rate,
        "audio_channels": audio and audio.num_channels,
        "num_frames": len(times),
        "fps": reader.fps,
        "start_seconds": float(times[0]) if len(times) else None,
        "duration_seconds": reader.duration,
        "time_base_num": base and base.numerator,
        "time_base_den": base and base.denominator,
        "max_drift_seconds": drift,
        "num_times_back": int((times[1:] <= times[:-1]).sum()),
        **dict(zip(_OF_GROUPS, gops[:, :4].T.tolist(), strict=True)),
        "gop_open": gops[:, 4].astype(bool).tolist(),
        "index": reader.index_bytes(),
    }
