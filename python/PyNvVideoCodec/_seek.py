# SPDX-License-Identifier: Apache-2.0
"""Where a demuxer may continue: the packets of a stream, read once without decoding."""

from __future__ import annotations

import bisect
import dataclasses
from collections.abc import Iterable

import tricodec

from ._errors import PyNvVCException, PyNvVCExceptionUnsupported


@dataclasses.dataclass(frozen=True, slots=True)
class KeyPacket:
    """A packet from which decoding can start."""

    pts: int
    dts: int | None

    def is_in(self, packet: tricodec.Packet) -> bool:
        """Whether this is that packet."""
        return bool(packet.key) and packet.dts == self.dts and time_of(packet) == self.pts


def time_of(packet: tricodec.Packet) -> int | None:
    """Presentation time; some containers (AVI) give the decoding time only."""
    return packet.dts if packet.pts is None else packet.pts


class PacketIndex:
    """Presentation times of a stream's frames, and its key packets.

    Args:
        packets: all packets of the stream, in file order.
        name: of the file, for messages.
    """

    def __init__(self, packets: Iterable[tricodec.Packet], name: str) -> None:
        times: list[int] = []
        keys: list[KeyPacket] = []
        most = tricodec.get_limits().max_packets
        for packet in packets:
            time = time_of(packet)
            if time is None:
                message = (
                    f"Seek isn't supported for {name}: its packets carry no time stamps (a bare elementary stream?)"
                )
                raise PyNvVCExceptionUnsupported(message)
            if len(times) >= most:
                message = f"{name} has more than limits.max_packets = {most} packets"
                raise PyNvVCException(message)
            if packet.key:
                keys.append(KeyPacket(time, packet.dts))
            if not packet.discard:
                times.append(time)
        self._name = name
        self._frame_times = sorted(times)
        self._keys = sorted(keys, key=lambda key: key.pts)
        self._key_times = [key.pts for key in self._keys]

    def at_or_after(self, seconds: float, seconds_per_unit: float) -> KeyPacket:
        """The first key packet shown at ``seconds`` or later. Raises PyNvVCException if there is none."""
        # The nearest unit: 0.48 s is 0.48 s though 0.48 / (1 / 12800) is a hair off a whole number.
        number = bisect.bisect_left(self._key_times, round(seconds / seconds_per_unit))
        if number == len(self._keys):
            last = f"the last one is at {self._key_times[-1] * seconds_per_unit:.6g} s" if self._keys else "it has none"
            message = f"Seek({seconds!r}): {self._name} has no key frame at or after {seconds} s; {last}"
            raise PyNvVCException(message)
        return self._keys[number]

    def before_frame(self, index: int) -> KeyPacket:
        """The last key packet shown at or before frame ``index``. Raises PyNvVCException past the last frame."""
        if not 0 <= index < len(self._frame_times):
            message = (
                f"Seek({index}): {self._name} has {len(self._frame_times)} frames, 0 to {len(self._frame_times) - 1}"
            )
            raise PyNvVCException(message)
        number = bisect.bisect_right(self._key_times, self._frame_times[index]) - 1
        if not self._keys:
            message = f"Seek({index}): {self._name} has no key frame"
            raise PyNvVCException(message)
        return self._keys[max(number, 0)]
