# SPDX-License-Identifier: Apache-2.0
"""FFmpegMuxer, GetMediaFormat and Transcoder: writing containers, by the names of release 2.2."""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Mapping
from fractions import Fraction
from pathlib import Path
from typing import Any

import tricodec
from tricodec import _tricodec

from ._calls import PyNvVCException, PyNvVCExceptionUnsupported, expect_int, logger, note_2, translated_errors
from ._demuxer import PyNvDemuxer, demuxer_of
from ._encoder_options import format_optional_params, plan_of, read_settings
from ._enums import MEDIA_FORMAT, NV_ENC_PIC_TYPE
from ._packet import NO_TIMESTAMP, memory_of

_FORMATS = {".mp4": MEDIA_FORMAT.MP4, ".mov": MEDIA_FORMAT.MOV, ".webm": MEDIA_FORMAT.WEBM}
_CONTAINERS = {MEDIA_FORMAT.MP4: "mp4", MEDIA_FORMAT.MOV: "mov", MEDIA_FORMAT.WEBM: "webm"}
_KEYS = (NV_ENC_PIC_TYPE.I, NV_ENC_PIC_TYPE.IDR)


def GetMediaFormat(filename: str) -> MEDIA_FORMAT:
    """The container of a file by its extension; ELEMENTARY for unknown ones."""
    note_2()
    return _FORMATS.get(Path(os.fsdecode(filename)).suffix.lower(), MEDIA_FORMAT.ELEMENTARY)


@dataclasses.dataclass(frozen=True)
class _Target:
    """The target of a muxer, from either of its signatures."""

    codec: str
    size: tuple[int, int]
    time_base: Fraction
    increment: int
    extradata: bytes
    source: PyNvDemuxer | None = None


def _uniform(
    codec: str,
    width: int,
    height: int,
    fps_num: int = 30,
    fps_den: int = 1,
    timebase_num: int = 1,
    timebase_den: int = 90000,
    extradata: bytes = b"",
) -> _Target:
    time_base = Fraction(timebase_num, timebase_den)
    increment = max(1, round(Fraction(fps_den, fps_num) / time_base))
    return _Target(str(codec), (width, height), time_base, increment, extradata)


def _like_source(in_format_context: int, codec: str, width: int, height: int, extradata: bytes = b"") -> _Target:
    source = demuxer_of(in_format_context)
    time_base = Fraction(source.GetTimebaseNum() or 1, source.GetTimebaseDen() or 90000)
    rate = source.FrameRate() or 30.0
    increment = max(1, round(1 / (rate * float(time_base))))
    return _Target(str(codec), (width, height), time_base, increment, extradata, source)


class FFmpegMuxer:
    """Writes packets of an encoder to a container, with time stamps from the order of the pictures.

    ``FFmpegMuxer(file_path, media_format, codec, width, height, fps_num=30, fps_den=1, timebase_num=1,
    timebase_den=90000, extradata=b"")``, or for a transcode ``FFmpegMuxer(file_path, media_format, in_format_context,
    codec, width, height, extradata=b"")``, which takes the time base and the audio of a source.

    Args:
        file_path: path of the file to write.
        media_format: MP4, MOV or WEBM.
        codec: "h264", "hevc" or "av1".
        width: width of a picture in pixels.
        height: height of a picture in pixels.
        fps_num: number of pictures in ``fps_den`` seconds.
        fps_den: see ``fps_num``.
        timebase_num, timebase_den: the unit of time stamps is ``timebase_num / timebase_den`` seconds.
        in_format_context: the result of ``GetAVFormatInputContext()`` of a demuxer, which must be alive.
        extradata: the codec's headers, ``PyNvEncoder.GetSequenceParams()``.

    Raises:
        ValueError: the codec or the input context is not known.
        PyNvVCExceptionUnsupported: the format is ELEMENTARY, or the container cannot hold the codec.

    Thread safety: one thread at a time.
    """

    def __init__(
        self, file_path: str | os.PathLike[str], media_format: MEDIA_FORMAT, *arguments: Any, **named: Any
    ) -> None:
        container = _CONTAINERS.get(MEDIA_FORMAT(media_format))
        if container is None:
            message = "ELEMENTARY is not a container: write the packets directly to a file"
            raise PyNvVCExceptionUnsupported(message)
        like_source = "in_format_context" in named or (bool(arguments) and isinstance(arguments[0], int))
        target = _like_source(*arguments, **named) if like_source else _uniform(*arguments, **named)
        self._time_base, self._increment = target.time_base, target.increment
        note_2()
        self._packets: list[tuple[bytes, int, bool]] = []
        self._passed: list[tuple[tricodec.Packet, int]] = []  # copied packets, and their streams
        self._times: list[int] = []
        self._finished = False
        self._audio: dict[int, tuple[int, Fraction]] = {}  # by number in the source: number here, and time base
        with translated_errors(os.fspath(file_path)):
            stream = tricodec.video.describe_stream(
                target.codec.lower(), *target.size, self._time_base, target.extradata or None
            )
            self._muxer = tricodec.Muxer(file_path, format=container)
            self._stream = self._muxer.add_stream(stream)
            for each in target.source._demuxer.info.streams if target.source is not None else ():
                if each.kind == "audio" and each.time_base is not None:
                    self._audio[int(each.index)] = (self._muxer.add_stream(each), each.time_base)

    def MuxVideoPacket(self, data: bytes, picture_type: int, input_timestamp: int) -> None:
        """Add a packet of the encoder.

        Args:
            data: bytes of the packet.
            picture_type: the packet's type from the encoder; 2 and 3 are key frames.
            input_timestamp: number of the picture, in the order in which pictures were passed to the encoder.
        """
        self._packets.append((bytes(data), int(input_timestamp), int(picture_type) in _KEYS))

    def RecordSourceVideoPacket(self, packet: Any) -> None:
        """Record the time of a source packet: the n-th picture in presentation order gets the n-th time."""
        if not getattr(packet, "is_video", True) or getattr(packet, "discardable", False):
            return
        self._times.append(int(packet.pts))

    def SetUniformPtsIncrement(self, pts_inc: int) -> None:
        """Set the distance of pictures in units of the time base, for pictures without a recorded source time."""
        if pts_inc < 1:
            message = f"pts_inc is {pts_inc}; it must be positive"
            raise ValueError(message)
        self._increment = int(pts_inc)

    def PreparePassthroughPacket(self, packet: Any) -> int | None:
        """The number of the packet's stream in the file; None for a packet that is not copied.

        Audio packets with times are copied, if they come from the source of the muxer.
        """
        if getattr(packet, "is_video", True) or not packet.bsl or NO_TIMESTAMP in (packet.pts, packet.dts):
            return None
        found = self._audio.get(int(packet.stream_index))
        return None if found is None else found[0]

    def MuxPassthroughPacket(self, packet: Any) -> bool:
        """Copy an audio packet of the source. Returns False for any other packet, which is not copied."""
        stream = self.PreparePassthroughPacket(packet)
        if stream is None:
            return False
        time_base = self._audio[int(packet.stream_index)][1]
        # A first pts after its dts marks the delay of an audio encoder, not a change of order.
        copied = tricodec.Packet(
            memory_of(packet), pts=packet.pts, dts=packet.pts, duration=packet.duration, key=True, time_base=time_base
        )
        self._passed.append((copied, stream))
        return True

    def Mux(
        self, data: bytes, pts: int, dts: int, duration: int, stream_index: int, is_key_frame: int = 0, numb: int = 0
    ) -> bool:
        """Add a packet with its times, in units of its stream's time base.

        Args:
            data: bytes of the packet.
            pts: presentation time.
            dts: decoding time.
            duration: duration; 0 if it is not known.
            stream_index: 0 is the video; `PreparePassthroughPacket` returns the others.
            is_key_frame: whether decoding can start here.
            numb: number of B frames in a row: ``dts`` is moved ahead by as many pictures.

        Returns:
            True.

        Raises:
            ValueError: there is no such stream.
        """
        bases = {self._stream: self._time_base, **dict(self._audio.values())}
        if stream_index not in bases:
            message = f"stream_index is {stream_index}; the file has the streams {sorted(bases)}"
            raise ValueError(message)
        shift = int(numb) * self._increment if stream_index == self._stream else 0
        taken = tricodec.Packet(
            bytes(data), pts=int(pts), dts=int(dts) - shift, duration=int(duration), key=bool(is_key_frame),
            time_base=bases[stream_index],
        )  # fmt: skip
        self._passed.append((taken, stream_index))
        return True

    def Finalize(self) -> None:
        """Write all packets and the index. A second call does nothing."""
        if self._finished:
            return
        self._finished = True
        with translated_errors("muxing"):
            packets = [*((packet, self._stream) for packet in self._video_packets()), *self._passed]
            for packet, stream in sorted(packets, key=_decoding_seconds):
                self._muxer.write(packet, stream)
            self._muxer.finish()

    def _video_packets(self) -> list[tricodec.Packet]:
        times = sorted(self._times)
        numbers = sorted(number for _, number, _ in self._packets)
        place = {number: index for index, number in enumerate(numbers)}
        shown = [times[i] if i < len(times) else self._next(times, i) for i in range(len(numbers))]
        # A picture may be decoded at the presentation time of the picture `delay` places before it.
        delay = max((index - place[number] for index, (_, number, _) in enumerate(self._packets)), default=0)
        packets = []
        for index, (data, number, key) in enumerate(self._packets):
            earlier = index - delay
            dts = shown[earlier] if earlier >= 0 else shown[0] + earlier * self._increment
            packets.append(
                tricodec.Packet(
                    data, pts=shown[place[number]], dts=dts, duration=self._increment, key=key,
                    time_base=self._time_base,
                )
            )  # fmt: skip
        return packets

    def _next(self, times: list[int], index: int) -> int:
        return (times[-1] if times else 0) + (index - max(0, len(times) - 1) if times else index) * self._increment


def _decoding_seconds(each: tuple[tricodec.Packet, int]) -> Fraction:
    packet, _ = each
    assert packet.dts is not None
    assert packet.time_base is not None
    return packet.dts * packet.time_base


class Transcoder:
    """Transcodes a video and copies its audio.

    Args:
        enc_file_path: path of the source.
        muxed_file_path: path of the file to write.
        gpu_id: number of the GPU that decodes, and encodes if it can; without a GPU it has no effect.
        cuda_context: accepted without effect; a GPU works in its primary context.
        cuda_stream: accepted without effect; a GPU works on separate streams.
        kwargs: parameters of Table 1, as in ``CreateEncoder``. Frames keep their times, so ``fps`` has no
            effect.

    Raises:
        ValueError: a parameter is not accepted; the text lists the accepted values.
        PyNvVCException: the source cannot be read, or has no video.
        PyNvVCExceptionUnsupported: the encoder cannot do what a parameter requests; the text gives the reason.

    Thread safety: one thread at a time.
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
        del cuda_context, cuda_stream
        note_2()
        gpu = expect_int("gpu_id", gpu_id)
        self._source, self._target = os.fspath(enc_file_path), os.fspath(muxed_file_path)
        with translated_errors(self._source):
            video = tricodec.probe(enc_file_path).video
        if video is None:
            message = f"'{self._source}' has no video"
            raise PyNvVCException(message)
        options: dict[str, Any] = {**format_optional_params(kwargs)}
        rate = video.average_frame_rate or video.real_frame_rate
        if options.pop("fps", None) is not None:
            logger.warning("Transcoder: frames keep their times; fps=%s is not used", kwargs["fps"])
        settings = read_settings("Transcoder", {**options, "fps": rate}, video.width, video.height)
        device = "auto" if gpu == 0 or tricodec.video.resolve_device("auto") == "cpu" else f"auto:{gpu}"
        with translated_errors(f"encoding {settings.codec}"):
            plan = plan_of(settings, tricodec.encode.encoder_for(settings.codec, device))
        # A frame rate or headers that are not given follow the source and the container.
        unset = {"frame_rate"} if "repeatspspps" in options else {"frame_rate", "repeat_headers"}
        self._encoder = {name: value for name, value in plan.keywords.items() if name not in unset} | {"device": device}

    def transcode_with_mux(self) -> None:
        """Transcode the whole file."""
        self._transcode(self._target)

    def segmented_transcode(self, start: float, end: float) -> None:
        """Transcode from ``start`` to ``end`` seconds, to a file with both numbers before its extension.

        Raises:
            ValueError: the range is empty.
        """
        target = Path(self._target)
        named = target.with_name(f"{target.stem}_{start:g}_{end:g}{target.suffix}")
        self._transcode(named, start, end)

    def _transcode(self, target: str | Path, start: float | None = None, end: float | None = None) -> None:
        # The extension's function, because tricodec.transcode() does not take all keywords of an encoder.
        muxer = {"format": "", "fast_start": False, "fragmented": False, "metadata": {}}
        with translated_errors(self._source):
            _tricodec.transcode(self._source, target, self._encoder, muxer, None, None, start, end, True, 1, None)


def CreateTranscoder(
    encSource: str | os.PathLike[str],
    muxedDst: str | os.PathLike[str],
    gpuId: int = 0,
    cudaContext: int = 0,
    cudaStream: int = 0,
    kwargs: Mapping[str, Any] | None = None,
) -> Transcoder:
    """A Transcoder by the native argument names; ``kwargs`` holds the parameters of Table 1."""
    return Transcoder(encSource, muxedDst, gpuId, cudaContext, cudaStream, **(kwargs or {}))
