# SPDX-License-Identifier: Apache-2.0
"""torchcodec's VideoPacketDecoder, RawFrame and ColorConverter on the project's Decoder and SwscaleRgb."""

from __future__ import annotations

import re
from typing import Any, Literal

import torch
import tricodec
from torch import Tensor
from tricodec import Transform
from tricodec.video import StreamInfo, SwscaleRgb

from tricodec_compat.torchcodec._metadata import color_names, rotation_of
from tricodec_compat.torchcodec._results import Frame
from tricodec_compat.torchcodec.decoders._arguments import DTYPES, device_of, expect_output_dtype
from tricodec_compat.torchcodec.decoders._packets import Packet, ProcessLocal

_RANGES = {"limited": "tv", "full": "pc"}


class RawFrame(ProcessLocal):
    """One decoded picture in the codec's own pixel format, before rotation; a `VideoPacketDecoder` gives it.

    Attributes:
        pts_seconds: when it comes on screen.
        duration_seconds: how long it stays there.
        pixel_format: FFmpeg's name, such as "yuv420p".
        color_space: FFmpeg's name of the matrix, or "unknown". So are color_primaries and
            color_transfer_characteristic.
        color_range: "tv", "pc" or "unknown".
        bit_depth: bits of a sample that count.
        width, height: in pixels, before rotation.
        rotation: degrees, counter-clockwise, that turn the picture upright.
        storage_cuda: the memory of `planes` on a GPU; None on the CPU.

    Thread safety: it does not change.
    """

    def __init__(self, frame: tricodec.Frame, stream: StreamInfo) -> None:
        base = frame.time_base or stream.time_base
        num, den = (0, 1) if base is None else (base.numerator, base.denominator)
        self._frame = frame
        self.pts_seconds = (frame.pts or 0) * num / den
        self.duration_seconds = frame.duration * num / den
        self.pixel_format = stream.pixel_format_name if frame.format == stream.pixel_format else frame.format
        names = color_names(frame.color)
        self.color_space, self.color_primaries, self.color_transfer_characteristic = (
            name or "unknown" for name in names
        )
        self.color_range = _RANGES.get(frame.color.range, "unknown")
        depth = re.search(r"(9|10|12|14|16)[lb]e$", self.pixel_format)
        self.bit_depth = int(depth[1]) if depth else 8
        self.width = frame.width
        self.height = frame.height
        self.rotation = rotation_of(stream) or 0.0
        self.storage_cuda: Tensor | None = None if frame.device == "cpu" else torch.from_dlpack(frame.planes[0])

    @property
    def planes(self) -> tuple[Tensor, ...]:
        """The samples of each component as a tensor [height, width], uint8 or uint16, of the decoder's own memory.

        Chroma is smaller where the pixel format says so, and rounded up. RGB formats give R, G and B.
        """
        components: list[Tensor] = []
        for plane in self._frame.planes:
            samples = torch.from_dlpack(plane)
            components += [samples] if samples.ndim == 2 else list(samples.unbind(-1))
        if self.pixel_format.startswith("gbr"):
            components[:3] = components[2], components[0], components[1]
        return tuple(components)


class VideoPacketDecoder(ProcessLocal):
    """The packets of one video stream to pictures; `VideoStream.make_decoder` makes it.

    Thread safety: calls from several threads take turns.
    """

    _decoder: tricodec.Decoder
    _stream: StreamInfo
    _drained: bool
    _generation: int | None

    def __init__(self, *_: Any, **__: Any) -> None:
        raise RuntimeError(
            "VideoPacketDecoder cannot be instantiated directly: call make_decoder() of the stream that its packets "
            "are of"
        )

    @classmethod
    def _of(cls, stream: StreamInfo, device: str, num_threads: int) -> VideoPacketDecoder:
        decoder = cls.__new__(cls)
        decoder._stream = stream
        decoder._decoder = tricodec.Decoder(stream, device=device, num_threads=num_threads)
        decoder._drained = False
        decoder._generation = None
        return decoder

    def decode(self, packet: Packet) -> list[RawFrame]:
        """Decode the next packet.

        Args:
            packet: of this decoder's stream, in the order of the demuxer.

        Returns:
            The pictures that are ready, in the order of presentation: none, one or several.

        Raises:
            RuntimeError: after drain(), after a seek without reset(), and for a packet of another stream.
        """
        if self._drained:
            raise RuntimeError("This decoder has been drained; call reset() before it decodes more")
        if self._generation not in (None, packet._generation):
            raise RuntimeError(
                "The demuxer seeked since this decoder was last reset(); call reset() of every decoder after a seek"
            )
        if packet.stream_index != self._stream.index:
            raise RuntimeError(
                f"the packet is of stream {packet.stream_index}, and the decoder of stream {self._stream.index}; pass "
                "each packet to the decoder of its stream_index"
            )
        self._generation = packet._generation
        return [RawFrame(frame, self._stream) for frame in self._decoder.decode(packet._packet)]

    def drain(self) -> list[RawFrame]:
        """End the stream; returns what the codec still holds, in the order of presentation."""
        if self._drained:
            return []
        rest = [RawFrame(frame, self._stream) for frame in self._decoder.flush()]
        self._drained = True
        return rest

    def reset(self) -> None:
        """Forget all packets: needed after `Demuxer.seek`, and after drain() to decode more."""
        self._decoder.reset()
        self._drained = False
        self._generation = None


class ColorConverter(ProcessLocal):
    """Raw pictures of any stream to upright RGB, with the pixels of `VideoDecoder`.

    Args:
        device: where the pictures are; None is torch's default device.
        output_dtype: torch.uint8 (0 to 255), torch.float32 (0 to 1), or "auto": float32 for pictures of more than 8
            bits.

    Raises:
        ValueError: for another output_dtype.
        RuntimeError: if the device does not exist.

    Thread safety: safe from several threads.
    """

    def __init__(
        self,
        device: str | torch.device | None = None,
        output_dtype: torch.dtype | Literal["auto"] = torch.uint8,
    ) -> None:
        expect_output_dtype(output_dtype)
        self._device = device_of(device)
        self._output_dtype = output_dtype
        self._converters: dict[str, SwscaleRgb | Transform] = {}

    def convert(self, raw_frame: RawFrame) -> Frame:
        """Convert one picture.

        Returns:
            A `Frame`: its data are [3, H, W], a view of HWC memory.

        Raises:
            RuntimeError: if the picture is on another device.
        """
        frame = raw_frame._frame
        kind = self._device.partition(":")[0]
        if frame.device.partition(":")[0] != kind:
            raise RuntimeError(
                f"the picture is on {frame.device} and the converter on {self._device}; give make_decoder() and "
                "ColorConverter the same device"
            )
        deep = self._output_dtype == torch.float32 or (self._output_dtype == "auto" and raw_frame.bit_depth > 8)
        dtype = next(name for name, known in DTYPES.items() if known == (torch.float32 if deep else torch.uint8))
        if dtype not in self._converters:
            on_gpu = kind != "cpu"
            self._converters[dtype] = Transform(dtype=dtype, chroma="nearest") if on_gpu else SwscaleRgb(dtype=dtype)
        array: Any = self._converters[dtype](frame)
        data = torch.from_numpy(array) if kind == "cpu" else torch.from_dlpack(array)
        return Frame(data.movedim(-1, -3), raw_frame.pts_seconds, raw_frame.duration_seconds)


for _class in (RawFrame, VideoPacketDecoder, ColorConverter):
    _class.__module__ = "tricodec_compat.torchcodec.decoders"
