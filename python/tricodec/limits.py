# SPDX-License-Identifier: Apache-2.0
"""Bounds for untrusted input, checked before memory is allocated."""

from __future__ import annotations

import dataclasses

from tricodec._tricodec import get_limits as native_limits
from tricodec._tricodec import set_limits as change_limits

__all__ = ["Limits", "get_limits", "set_limits"]


@dataclasses.dataclass(frozen=True, slots=True)
class Limits:
    """Bounds of the process. Objects read them when they are opened. See `set_limits`."""

    max_width: int
    """Width of a frame in pixels."""
    max_height: int
    """Height of a frame in pixels."""
    max_pixels: int
    """Width times height of a frame in pixels."""
    max_packet_bytes: int
    """Size of an access unit in bytes."""
    max_packets: int
    """Number of packets of a stream in an index."""
    max_streams: int
    """Number of streams of a container."""
    max_output_bytes: int
    """Size of the result of one call in bytes: a batch of frames or an array."""
    max_buffered_bytes: int
    """Size in bytes of the frames that a reader decodes ahead of its consumer."""
    max_device_buffered_bytes: int
    """Size in bytes of the frames that all readers of a GPU decode ahead, at most an eighth of its memory; and of its
    decoders, where those that wait for another stream go first, a sixteenth. A change takes effect at once."""
    max_spool_memory_bytes: int
    """Size in bytes of kept data of a source that cannot seek, in memory; further data are in a temporary file."""
    max_spool_bytes: int
    """Size in bytes of kept data of a source that cannot seek, in memory and in the temporary file together."""


def get_limits() -> Limits:
    """Return the limits of the process, in pixels, packets, streams and bytes.

        >>> tricodec.get_limits().max_streams
        256

    Thread safety: safe.
    """
    return Limits(**native_limits())


def set_limits(**fields: int) -> None:
    """Change limits of the process. Limits that are left out stay, and open objects keep theirs.

        >>> old = tricodec.get_limits()
        >>> tricodec.set_limits(max_width=8192)
        >>> tricodec.set_limits(max_width=old.max_width)  # the limit of before

    Args:
        **fields: attributes of `Limits` with positive values.

    Raises:
        TypeError: a name is not a limit, or a value is not an int.
        ValueError: a value is not positive.

    Thread safety: safe.
    """
    change_limits(**fields)
