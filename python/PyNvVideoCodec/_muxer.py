# SPDX-License-Identifier: Apache-2.0
"""FFmpegMuxer, GetMediaFormat and Transcoder: the names of release 2.2 for containers."""

from __future__ import annotations

import os
from fractions import Fraction
from pathlib import Path
from typing import Any

import tricodec
from tricodec import encode_parameters

from ._enums import MEDIA_FORMAT, NV_ENC_PIC_TYPE
from ._errors import PyNvVCException, PyNvVCExceptionUnsupported, translated_errors
from ._options import format_optional_params

_FORMATS = {".mp4": MEDIA_FORMAT.MP4, ".mov": MEDIA_FORMAT.MOV, ".webm": MEDIA_FORMAT.WEBM}
_CONTAINERS = {MEDIA_FORMAT.MP4: "mp4", MEDIA_FORMAT.MOV: "mov", MEDIA_FORMAT.WEBM: "webm"}
_KEYS = (NV_ENC_PIC_TYPE.I, NV_ENC_PIC_TYPE.IDR)


def GetMediaFormat(filename: str) -> MEDIA_FORMAT:
    """The container that a file's extension names; ELEMENTARY for any other."""
    return _FORMATS.get(Path(os.fsdecode(filename)).suffix.lower(), MEDIA_FORMAT.ELEMENTARY)


class FFmpegMuxer:
    """Packets of an encoder to a container, with time stamps from the order of its pictures.

    Args:
        file_path: the file to write.
        media_format: MP4, MOV or WEBM.
        codec: "h264", "hevc" or "av1".
        width: pixels.
        height: pixels.
        fps_num: pictures in ``fps_den`` seconds.
        fps_den: see ``fps_num``.
        timebase_num: seconds per unit of time stamps, times ``timebase_den``.
        timebase_den: see ``timebase_num``.
        extradata: the codec's headers, ``PyNvEncoder.GetSequenceParams()``.

    Raises:
        ValueError: a codec that is not known.
        PyNvVCExceptionUnsupported: ELEMENTARY, or a container that does not hold the codec.
    """

    def __init__(
        self,
        file_path: str | os.PathLike[str],
        media_format: MEDIA_FORMAT,
        codec: str,
        width: int,
        height: int,
        fps_num: int = 30,
        fps_den: int = 1,
        timebase_num: int = 1,
        timebase_den: int = 90000,
        extradata: bytes = b"",
    ) -> None:
        container = _CONTAINERS.get(MEDIA_FORMAT(media_format))
        if container is None:
            message = "ELEMENTARY is no container: write the packets to a file as they are"
            raise PyNvVCExceptionUnsupported(message)
        self._time_base = Fraction(timebase_num, timebase_den)
        self._increment = max(1, round(Fraction(fps_den, fps_num) / self._time_base))
        self._packets: list[tuple[bytes, int, bool]] = []
        self._times: list[int] = []
        self._finished = False
        with translated_errors(os.fspath(file_path)):
            self._muxer = tricodec.Muxer(file_path, format=container)
            stream = tricodec.describe_stream(str(codec).lower(), width, height, self._time_base, extradata or None)
            self._stream = self._muxer.add_stream(stream)

    def MuxVideoPacket(self, data: bytes, picture_type: int, input_timestamp: int) -> None:
        """Takes a packet of the encoder's.

        Args:
            data: its bytes.
            picture_type: as the encoder gave it; 2 and 3 are key frames.
            input_timestamp: the number of its picture, in the order in which pictures were encoded.
        """
        self._packets.append((bytes(data), int(input_timestamp), int(picture_type) in _KEYS))

    def RecordSourceVideoPacket(self, packet: Any) -> None:
        """Takes the time of a packet of the source: the n-th picture in presentation order keeps the n-th time."""
        if not getattr(packet, "is_video", True) or getattr(packet, "discardable", False):
            return
        self._times.append(int(packet.pts))

    def SetUniformPtsIncrement(self, pts_inc: int) -> None:
        """The distance of pictures in units of the time base, where no times of a source are recorded."""
        if pts_inc < 1:
            message = f"pts_inc is {pts_inc}; it must be positive"
            raise ValueError(message)
        self._increment = int(pts_inc)

    def Finalize(self) -> None:
        """Writes what was taken, and the index. A second time does nothing."""
        if self._finished:
            return
        self._finished = True
        times = sorted(self._times)
        numbers = sorted(number for _, number, _ in self._packets)
        place = {number: index for index, number in enumerate(numbers)}
        shown = [times[i] if i < len(times) else self._next(times, i) for i in range(len(numbers))]
        # A picture may be decoded when the one that is `delay` places before it is shown.
        delay = max((index - place[number] for index, (_, number, _) in enumerate(self._packets)), default=0)
        with translated_errors("muxing"):
            for index, (data, number, key) in enumerate(self._packets):
                earlier = index - delay
                dts = shown[earlier] if earlier >= 0 else shown[0] + earlier * self._increment
                self._muxer.write(
                    tricodec.Packet(
                        data, pts=shown[place[number]], dts=dts, duration=self._increment, key=key,
                        time_base=self._time_base,
                    ),
                    self._stream,
                )  # fmt: skip
            self._muxer.finish()

    def _next(self, times: list[int], index: int) -> int:
        return (times[-1] if times else 0) + (index - max(0, len(times) - 1) if times else index) * self._increment


class Transcoder:
    """One video to another, with the audio.

    Args:
        enc_file_path: the source.
        muxed_file_path: the file to write.
        gpu_id: accepted; the engine is chosen.
        cuda_context: accepted.
        cuda_stream: accepted.
        kwargs: parameters of Table 1; ``fps`` is the source's.
    """

    def __init__(
        self,
        enc_file_path: str | os.PathLike[str],
        muxed_file_path: str | os.PathLike[str],
        gpu_id: int = 0,
        cuda_context: int = 0,
        cuda_stream: int = 0,
        **kwargs: Any,
    ) -> None:
        del gpu_id, cuda_context, cuda_stream
        with translated_errors(os.fspath(enc_file_path)):
            video = tricodec.probe(enc_file_path).video
        if video is None:
            message = f"'{os.fspath(enc_file_path)}' has no video"
            raise PyNvVCException(message)
        self._source, self._target = os.fspath(enc_file_path), os.fspath(muxed_file_path)
        settings, _ = encode_parameters.Settings.of(format_optional_params(kwargs), video.width, video.height)
        plan = encode_parameters.build(settings, tricodec.encoder_for(settings.codec))
        self._words = {"codec": plan.encoder, "options": plan.words["options"]}

    def transcode_with_mux(self) -> None:
        """Transcodes the whole file."""
        with translated_errors(self._source):
            tricodec.transcode(self._source, self._target, **self._words)

    def segmented_transcode(self, start: float, end: float) -> None:
        """Transcodes from ``start`` to ``end`` seconds, to a file whose name has both before its extension.

        Raises:
            ValueError: the range is empty.
        """
        target = Path(self._target)
        named = target.with_name(f"{target.stem}_{start:g}_{end:g}{target.suffix}")
        with translated_errors(self._source):
            tricodec.transcode(self._source, named, start=start, end=end, **self._words)
