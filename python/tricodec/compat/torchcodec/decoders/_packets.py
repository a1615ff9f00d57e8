# SPDX-License-Identifier: Apache-2.0
"""torchcodec's Packet, and what its packet decoders share."""

from __future__ import annotations

import abc
from typing import TYPE_CHECKING, Any, Generic, NoReturn, TypeVar

from tricodec import _tricodec

if TYPE_CHECKING:
    from typing_extensions import Self

_Decoded = TypeVar("_Decoded")


class ProcessLocal:
    """A block: it cannot be copied, nor pickled to another process."""

    def __reduce__(self) -> NoReturn:
        raise TypeError(
            f"a {type(self).__name__} cannot be pickled or copied: its state is of this process; make one in each "
            "process, from the same source"
        )


class Packet(ProcessLocal):
    """One compressed packet, as a `Demuxer` gives it.

    Attributes:
        stream_index: of its stream, among all streams of the file.
    """

    stream_index: int

    def __init__(self, packet: _tricodec.Packet, generation: int) -> None:
        self.stream_index = packet.stream_index
        self._packet = packet
        self._generation = generation  # how often the demuxer has sought before


class PacketDecoder(ProcessLocal, abc.ABC, Generic[_Decoded]):
    """The packets of one stream to what its codec makes of them; `make_decoder` of the stream makes it."""

    _stream_index: int
    _drained: bool
    _generation: int | None

    def __init__(self, *_: Any, **__: Any) -> None:
        raise RuntimeError(
            f"{type(self).__name__} cannot be instantiated directly: call make_decoder() of the stream that its "
            "packets are of"
        )

    @classmethod
    def _new(cls, stream_index: int) -> Self:
        decoder = cls.__new__(cls)
        decoder._stream_index = stream_index
        decoder._drained = False
        decoder._generation = None
        return decoder

    @abc.abstractmethod
    def _decode(self, packet: _tricodec.Packet) -> list[_Decoded]:
        """What the codec gives after a packet."""

    @abc.abstractmethod
    def _flush(self) -> list[_Decoded]:
        """What the codec still holds."""

    @abc.abstractmethod
    def _reset(self) -> None:
        """Lets the codec forget all packets."""

    def decode(self, packet: Packet) -> list[_Decoded]:
        """Decode the next packet.

        Args:
            packet: of this decoder's stream, in the order of the demuxer.

        Returns:
            What is ready, in the order of presentation: nothing, one element or several.

        Raises:
            RuntimeError: after drain(), after a seek without reset(), and for a packet of another stream.
        """
        if self._drained:
            raise RuntimeError("This decoder has been drained; call reset() before it decodes more")
        if self._generation not in (None, packet._generation):
            raise RuntimeError(
                "The demuxer seeked since this decoder was last reset(); call reset() of every decoder after a seek"
            )
        if packet.stream_index != self._stream_index:
            raise RuntimeError(
                f"the packet is of stream {packet.stream_index}, and the decoder of stream {self._stream_index}; pass "
                "each packet to the decoder of its stream_index"
            )
        self._generation = packet._generation
        return self._decode(packet._packet)

    def drain(self) -> list[_Decoded]:
        """End the stream; returns what the codec still holds, in the order of presentation."""
        if self._drained:
            return []
        rest = self._flush()
        self._drained = True
        return rest

    def reset(self) -> None:
        """Forget all packets: needed after `Demuxer.seek`, and after drain() to decode more."""
        self._reset()
        self._drained = False
        self._generation = None


Packet.__module__ = "tricodec.compat.torchcodec.decoders"
