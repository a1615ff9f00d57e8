# SPDX-License-Identifier: Apache-2.0
"""Bounds that hostile input is held to before memory is taken."""

from __future__ import annotations

from dataclasses import dataclass

from tricodec import _tricodec


@dataclass(frozen=True, slots=True)
class Limits:
    """Bounds of the process, read when an object is opened. See `set_limits`."""

    max_width: int
    """Pixels of one frame."""
    max_height: int
    """Pixels of one frame."""
    max_pixels: int
    """Width * height of one frame."""
    max_packet_bytes: int
    """Bytes of one access unit."""
    max_packets: int
    """Packets of one stream that an index will hold."""
    max_streams: int
    """Tracks of one container."""
    max_output_bytes: int
    """Bytes of one batch of frames or one array."""
    max_buffered_bytes: int
    """Bytes of the frames that a reader decodes ahead of its consumer."""
    max_device_buffered_bytes: int
    """The same of all readers of a GPU, in its memory, of which it is never more than an eighth. It counts at once."""
    max_spool_memory_bytes: int
    """Bytes in memory of what is kept of a source that cannot seek; the rest is in a temporary file."""
    max_spool_bytes: int
    """Bytes of such a source in memory and in the temporary file together."""


def get_limits() -> Limits:
    """The limits of the process.

    Thread safety: safe.
    """
    return Limits(**_tricodec.get_limits())


def set_limits(**fields: int) -> None:
    """Replace the limits that are named; the others stay. Objects that are already open keep theirs.

    ``set_limits(**dataclasses.asdict(old))`` restores what `get_limits` gave.

    Args:
        **fields: any attributes of `Limits`, positive.

    Raises:
        TypeError: if a name is no limit or a value is no int.
        ValueError: if a value is not positive.

    Thread safety: safe.
    """
    _tricodec.set_limits(**fields)
