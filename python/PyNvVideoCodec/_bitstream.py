# SPDX-License-Identifier: Apache-2.0
"""What Encode() returns, and what is put around and into its packets: IVF, SEI messages, headers."""

from __future__ import annotations

import struct
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, SupportsIndex

_IVF_HEADER_BYTES = 32
_IVF_COUNT_OFFSET = 24


class EncodedBitstream(bytes):
    """The bytes of all packets that one call gave; as a sequence, the packets themselves.

    ``bytearray(x)``, ``bytes(x)``, ``file.write(x)`` and ``b"".join([x])`` see the bytes. Iterating, ``len(x)``,
    ``x[i]`` and ``bool(x)`` see the packets: dicts of ``data`` (bytes), ``timestamp`` (int) and ``picture_type`` (int).
    """

    _packets: tuple[dict[str, Any], ...]

    @classmethod
    def of(cls, packets: Iterable[dict[str, Any]]) -> EncodedBitstream:
        """Of packets in decoding order."""
        kept = tuple(packets)
        self = super().__new__(cls, b"".join(packet["data"] for packet in kept))
        self._packets = kept
        return self

    @property
    def nbytes(self) -> int:
        """How many bytes all packets have."""
        return bytes.__len__(self)

    def tobytes(self) -> bytes:
        """The bytes as a plain ``bytes``."""
        return bytes(memoryview(self))

    def __iter__(self) -> Iterator[Any]:
        return iter(self._packets)

    def __len__(self) -> int:
        return len(self._packets)

    def __bool__(self) -> bool:
        return bool(self._packets)

    def __getitem__(self, index: SupportsIndex | slice) -> Any:
        return self._packets[index]

    def __repr__(self) -> str:
        return f"<EncodedBitstream of {len(self._packets)} packets, {self.nbytes} bytes>"

    __hash__ = bytes.__hash__

    def __eq__(self, other: object) -> bool:
        return bytes.__eq__(self, other) is True if isinstance(other, (bytes, bytearray)) else NotImplemented


def ivf_header(codec_tag: bytes, width: int, height: int, rate: tuple[int, int]) -> bytes:
    """The head of an IVF file whose number of frames is not known yet."""
    return struct.pack("<4sHH4sHHIIII", b"DKIF", 0, 32, codec_tag, width, height, rate[0], rate[1], 0xFFFF, 0)


def ivf_frame(data: bytes, timestamp: int) -> bytes:
    """One frame of an IVF file."""
    return struct.pack("<IQ", len(data), timestamp) + data


def patch_ivf_frame_count(buffer: Any, count: int) -> bool:
    """Writes the number of frames into the head of an IVF file.

    Args:
        buffer: a writable buffer that starts with the file's first 32 bytes.
        count: the number of frames.

    Returns:
        False, and nothing is written, if it is no IVF file.

    Raises:
        BufferError: the buffer is read-only.
    """
    view = memoryview(buffer).cast("B")
    if len(view) < _IVF_HEADER_BYTES or bytes(view[:4]) != b"DKIF":
        return False
    if view.readonly:
        message = "the buffer is read-only; pass a bytearray or a writable memory map"
        raise BufferError(message)
    struct.pack_into("<I", view, _IVF_COUNT_OFFSET, count)
    return True


def _escaped(payload: bytes) -> bytes:
    """With emulation prevention: no start code can appear inside a NAL unit (H.264 7.4.1.1)."""
    out = bytearray()
    zeros = 0
    for byte in payload:
        if zeros >= 2 and byte <= 3:
            out.append(3)
            zeros = 0
        out.append(byte)
        zeros = zeros + 1 if byte == 0 else 0
    return bytes(out)


def _sized(number: int) -> bytes:
    return b"\xff" * (number // 255) + bytes([number % 255])


def sei_unit(codec: str, messages: Sequence[tuple[Mapping[str, int], Sequence[int]]]) -> bytes:
    """SEI messages as one NAL unit with its start code, for AV1 as metadata OBUs.

    Args:
        codec: "h264", "hevc" or "av1".
        messages: each a dict with "sei_type" (for AV1: the metadata type) and the payload's bytes as integers.

    Raises:
        ValueError: a message lacks its type, or a payload is no sequence of integers from 0 to 255.
    """
    body = bytearray()
    for facts, payload in messages:
        if "sei_type" not in facts:
            message = f"an SEI message has no 'sei_type': {dict(facts)!r}"
            raise ValueError(message)
        kind, data = int(facts["sei_type"]), bytes(payload)
        if codec == "av1":
            content = bytes([kind]) + data + b"\x80"
            # type 5 (metadata), with a size, which is LEB128
            body += b"\x2a" + _leb128(len(content)) + content
        else:
            body += _sized(kind) + _sized(len(data)) + data
    if codec == "av1":
        return bytes(body)
    head = b"\x06" if codec == "h264" else b"\x4e\x01"  # SEI, prefix SEI
    return b"\x00\x00\x00\x01" + head + _escaped(bytes(body) + b"\x80")


def _leb128(number: int) -> bytes:
    out = bytearray()
    while True:
        out.append((number & 0x7F) | (0x80 if number > 0x7F else 0))
        number >>= 7
        if number == 0:
            return bytes(out)


def _units(data: bytes) -> Iterator[tuple[int, int]]:
    """(position of the start code, position of the first byte behind it) of each NAL unit."""
    at = data.find(b"\x00\x00\x01")
    while at >= 0:
        start = at - 1 if at > 0 and data[at - 1] == 0 else at
        yield start, at + 3
        at = data.find(b"\x00\x00\x01", at + 3)


def insert_before_picture(codec: str, data: bytes, unit: bytes) -> bytes:
    """The packet with a unit before its first slice, behind the headers; for AV1 behind the sequence header."""
    if codec == "av1":
        return _insert_obu(data, unit)
    for start, first in _units(data):
        kind = data[first] & 0x1F if codec == "h264" else (data[first] >> 1) & 0x3F
        if (1 <= kind <= 5) if codec == "h264" else kind < 32:
            return data[:start] + unit + data[start:]
    return data + unit


def _insert_obu(data: bytes, unit: bytes) -> bytes:
    at = 0
    while at < len(data):
        kind = (data[at] >> 3) & 15
        if kind not in (1, 2):  # sequence header, temporal delimiter
            break
        size, shift, position = 0, 0, at + 1 + ((data[at] >> 2) & 1)
        while True:
            byte = data[position]
            size |= (byte & 0x7F) << shift
            position, shift = position + 1, shift + 7
            if byte < 0x80:
                break
        at = position + size
    return data[:at] + unit + data[at:]
