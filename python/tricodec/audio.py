# SPDX-License-Identifier: Apache-2.0
"""Sound: `AudioReader`, and `read_av`, the frames of a video and the sound that goes with them, on one clock."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from tricodec._tricodec import AudioReader, AudioSamples, FrameReader, SpooledSource
from tricodec.options import request_of
from tricodec.video._decode import DecodedVideo, read_video

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from tricodec._option_types import Device, RequestOptions, SoundDType
    from tricodec._tricodec import Source

__all__ = ["AudioReader", "AudioSamples", "DecodedAV", "read_av"]


@dataclass(frozen=True, slots=True, eq=False)
class DecodedAV(DecodedVideo[Any]):
    """The result of `read_av`: that of `decode_video`, with sound. Damaged packets are those of both."""

    audio: AudioSamples = field(kw_only=True)
    """The sound from the time of the earliest frame to the end of the latest one. Sample k is heard at
    ``audio.pts_seconds + k / audio.sample_rate``, on the clock of ``pts_seconds``."""

    def __repr__(self) -> str:
        shape = ", ".join(map(str, self.frames.shape))
        return f"<tricodec.audio.DecodedAV {self.frames.dtype} [{shape}], {self.audio!r}>"


def read_av(
    source: Source,
    *,
    audio_rate: int | None = None,
    audio_channels: int | None = None,
    audio_dtype: SoundDType = "float32",
    audio_stream_index: int = -1,
    device: Device = "auto",
    stream_index: int = -1,
    num_workers: int = 0,
    ignore_edit_list: bool = False,
    out: Any = None,
    context: Any = None,
    stream: Any = None,
    pinned: bool = False,
    **options: Unpack[RequestOptions],
) -> DecodedAV:
    """Decode frames of a video and the sound of the same time.

        >>> clip = tricodec.read_av(tricodec.sample_video(), start_s=1, end_s=2, size=(90, 160))
        >>> clip.frames.shape, clip.audio.data.shape
        ((25, 90, 160, 3), (1, 48000))

    The sound lasts from the earliest frame to the end of the latest one; silence fills what the file does not have.

    Args:
        source: as in `decode_video`.
        device, stream_index, num_workers, ignore_edit_list, out, context: as in `decode_video`.
        audio_rate: samples per second of the sound; None is the stream's own rate.
        audio_channels: channels of the sound: 1 is mono, 2 stereo; None is the stream's own.
        audio_dtype: "float32", from -1 to 1, or "int16".
        audio_stream_index: number of the audio stream; -1 is the best one.
        stream, pinned: as in `Transform`.
        **options: as in `decode_video`.

    Returns:
        The frames, their times and the sound.

    Raises:
        UnsupportedError: the file has no sound, or no frames.
        ValueError, IndexError: as `decode_video` raises them.
        Error: the errors of `decode_video` and `AudioReader`.

    Thread safety: safe.
    """
    # First, to find wrong options before the source is opened.
    selection, transform = request_of(read_av, options)
    again = SpooledSource(source)
    with FrameReader(
        again, device=device, stream_index=stream_index, num_workers=num_workers, ignore_edit_list=ignore_edit_list,
        context=context, stream=stream,
    ) as reader:  # fmt: skip
        if not any(each.kind == "audio" for each in reader.info.streams):
            AudioReader(again)  # raises its error before the frames are decoded
        video = read_video(reader, transform, selection, out, pinned=pinned)
        begin, end = reader.time_span([] if video.indices is None else video.indices)
    # After the frames: an object of the caller has one position.
    with AudioReader(
        again, stream_index=audio_stream_index, sample_rate=audio_rate, num_channels=audio_channels,
        dtype=audio_dtype, ignore_edit_list=ignore_edit_list,
    ) as sound:  # fmt: skip
        audio = sound.read(start_s=begin, end_s=end, pad=True)
        damaged = video.num_damaged_packets + sound.num_damaged_packets
    return DecodedAV(video.frames, video.pts_seconds, damaged, video.indices, video.asked_seconds, audio=audio)
