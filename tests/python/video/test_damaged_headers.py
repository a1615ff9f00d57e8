# SPDX-License-Identifier: Apache-2.0
"""Files with headers that lie: they are damage, not lack of memory or of reading, wherever their bytes are."""

from __future__ import annotations

import io
import struct
import subprocess
import sys
import textwrap
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tricodec
import tricodec.io
from media import generated

MP4 = "h264_bframes.mp4"
MKV = "h264_open_gop.mkv"
# Of Matroska: the segment, the tracks, a codec's headers, a cluster, and a group of blocks or a block in it.
EBML = {
    "Segment": b"\x18\x53\x80\x67",
    "Tracks": b"\x16\x54\xae\x6b",
    "CodecPrivate": b"\x63\xa2",
    "Cluster": b"\x1f\x43\xb6\x75",
    "SimpleBlock": b"\xa3",
}
LARGE = (0, 8, 0x0FFFFFFF, 0xFFFFFFFF)


def put(data: bytes, fourcc: bytes, offset: int, value: int, layout: str = ">I") -> bytes:
    """Writes a number `offset` bytes after the first box's type."""
    edited = bytearray(data)
    struct.pack_into(layout, edited, data.index(fourcc) + offset, value)
    return bytes(edited)


def with_long_mdat(data: bytes, size: int) -> bytes:
    """`mdat` with a size of 64 bits, which takes the place of the empty box that ffmpeg leaves before it."""
    at = data.index(b"free") - 4
    assert data[at + 8 :][4:8] == b"mdat"
    return data[:at] + struct.pack(">I4sQ", 1, b"mdat", size) + data[at + 16 :]


def with_ebml_size(data: bytes, name: str, size: int) -> bytes:
    """An element's size made `size` in as many bytes as it has; -1 is all ones, which means unknown."""
    start = data.index(EBML["Cluster"]) if name == "SimpleBlock" else 0
    at = data.index(EBML[name], start) + len(EBML[name])
    length = 9 - data[at].bit_length()
    largest = (1 << (7 * length)) - 1
    written = (1 << (7 * length)) | (largest if size < 0 else min(size, largest - 1))
    return data[:at] + written.to_bytes(length, "big") + data[at + length :]


def mp4_damages() -> dict[str, Callable[[bytes], bytes]]:
    """Edits of sizes and counts, each by its name."""
    found: dict[str, Callable[[bytes], bytes]] = {}
    for table, offset in (("stsz", 12), ("stts", 8), ("ctts", 8), ("stsc", 8), ("stco", 8), ("stss", 8), ("elst", 8)):
        for value in LARGE[2:]:
            found[f"{table} count {value:#x}"] = lambda data, t=table, o=offset, v=value: put(data, t.encode(), o, v)
    for box in ("moov", "stsd", "avcC", "mdat"):
        for value in LARGE:
            found[f"{box} size {value:#x}"] = lambda data, b=box, v=value: put(data, b.encode(), -4, v)
    for value in (16, 2**62, 2**64 - 1):
        found[f"mdat long size {value:#x}"] = lambda data, v=value: with_long_mdat(data, v)
    found["stco far"] = lambda data: put(data, b"stco", 12, 0xFFFFFFF0)
    return found


def mkv_damages() -> dict[str, Callable[[bytes], bytes]]:
    """Edits of elements' sizes, and cuts in the headers."""
    found: dict[str, Callable[[bytes], bytes]] = {}
    for name in EBML:
        for value in (0, 2**28, -1):
            found[f"{name} {value}"] = lambda data, n=name, v=value: with_ebml_size(data, n, v)
    for length in (64, 300, 600):
        found[f"cut at {length}"] = lambda data, n=length: data[:n]
    return found


DAMAGES = [(MP4, name, edit) for name, edit in mp4_damages().items()] + [
    (MKV, name, edit) for name, edit in mkv_damages().items()
]
READERS: dict[str, Callable[[Any], Any]] = {
    "decode_video": lambda source: tricodec.decode_video(source, device="cpu", size=(18, 32)).frames.tobytes(),
    "StreamReader": lambda source: all_of(tricodec.io.StreamReader(source)),
}


def all_of(reader: tricodec.io.StreamReader) -> int:
    """How many bytes of pictures a StreamReader gives."""
    reader.add_basic_video_stream(frames_per_chunk=10)
    return sum(np.asarray(chunk).nbytes for (chunk,) in reader.stream() if chunk is not None)


def outcome(call: Callable[[Any], Any], source: Any) -> Any:
    """What the call gives, or the class of what it raises."""
    try:
        return call(source)
    except tricodec.Error as error:
        return type(error)


@pytest.mark.parametrize("reader", READERS)
@pytest.mark.parametrize(("clip", "edit"), [(c, e) for c, _, e in DAMAGES], ids=[f"{c}: {n}" for c, n, _ in DAMAGES])
def test_a_damaged_header_is_damage_from_every_source(
    clip: str, edit: Callable[[bytes], bytes], reader: str, tmp_path: Path
) -> None:
    data = edit(generated(clip).read_bytes())
    path = tmp_path / clip
    path.write_bytes(data)

    from_bytes = outcome(READERS[reader], data)

    if isinstance(from_bytes, type):
        assert from_bytes in (tricodec.CorruptDataError, tricodec.UnsupportedError, tricodec.RefusedError)
    assert outcome(READERS[reader], path) == from_bytes
    assert outcome(READERS[reader], io.BytesIO(data)) == from_bytes
    with path.open("rb") as file:
        assert outcome(READERS[reader], file) == from_bytes


def test_a_lack_of_memory_is_still_out_of_memory() -> None:
    data = put(generated(MP4).read_bytes(), b"stts", 8, 0x7FFFFFFF)
    code = textwrap.dedent("""
        import resource, sys
        import tricodec
        data = sys.stdin.buffer.read()
        def kind():
            try:
                tricodec.Demuxer(data)
            except tricodec.Error as error:
                return type(error).__name__
        before = kind()
        with open("/proc/self/statm") as file:
            used = int(file.read().split()[0]) * resource.getpagesize()
        resource.setrlimit(resource.RLIMIT_AS, (used + (32 << 20), resource.RLIM_INFINITY))
        print(before, kind())
    """)

    result = subprocess.run([sys.executable, "-c", code], input=data, capture_output=True, check=True)

    assert result.stdout.decode().split() == ["CorruptDataError", "OutOfMemoryError"]


class _Failing(io.BytesIO):
    """A file on a disk that fails after its first bytes."""

    def read(self, size: int | None = -1, /) -> bytes:
        if self.tell() >= 512:
            raise OSError(5, "the disk failed")
        return super().read(min(512, 512 if size is None or size < 0 else size))


def test_an_error_of_the_source_itself_stays_what_it_is() -> None:
    with pytest.raises(OSError, match="the disk failed") as caught:
        tricodec.FrameReader(_Failing(generated(MKV).read_bytes()))

    assert not isinstance(caught.value, tricodec.Error)
