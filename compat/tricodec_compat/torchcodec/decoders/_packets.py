# SPDX-License-Identifier: Apache-2.0
"""torchcodec's Packet, and what all blocks share."""

from __future__ import annotations

from typing import NoReturn

import tricodec


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

    def __init__(self, packet: tricodec.Packet, generation: int) -> None:
        self.stream_index = packet.stream_index
        self._packet = packet
        self._generation = generation  # how often the demuxer has sought before


Packet.__module__ = "tricodec_compat.torchcodec.decoders"
