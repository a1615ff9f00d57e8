# SPDX-License-Identifier: Apache-2.0
"""Files with headers that lie: they are damage, not lack of memory or of reading, wherever their bytes are."""

from __future__ import annotations

import functools
import io
import struct
import subprocess
import sys
import textwrap
from collections.abc import Callable
from pathlib import Path
from typing import Any

import damaged_clips
import numpy as np
import pytest
import tricodec
import tricodec.io
from dali_testing import decode, read
from media import ffmpeg_framemd5, generated
from programs import limits, run_threads

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
LARGE = (0, 1, 8, 0x0FFFFFFF, 0x10000000, 0x7FFFFFFF, 0xFFFFFFFF)


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
        for value in LARGE[3:]:
            found[f"{table} count {value:#x}"] = lambda data, t=table, o=offset, v=value: put(data, t.encode(), o, v)
    for box in ("moov", "trak", "stsd", "avc1", "avcC", "stsz", "mdat"):
        for value in LARGE:
            found[f"{box} size {value:#x}"] = lambda data, b=box, v=value: put(data, b.encode(), -4, v)
    for value in (0, 1, 16, 2**31, 2**62, 2**63 - 1, 2**63, 2**64 - 1):
        found[f"mdat long size {value:#x}"] = lambda data, v=value: with_long_mdat(data, v)
    found["stco far"] = lambda data: put(data, b"stco", 12, 0xFFFFFFF0)
    return found


def mkv_damages() -> dict[str, Callable[[bytes], bytes]]:
    """Edits of elements' sizes, and cuts in the headers."""
    found: dict[str, Callable[[bytes], bytes]] = {}
    for name in EBML:
        for value in (0, 1, 100, 2**20, 2**28, 2**56 - 2, -1):
            found[f"{name} {value}"] = lambda data, n=name, v=value: with_ebml_size(data, n, v)
    for length in (40, 64, 100, 200, 300, 400, 500, 600):
        found[f"cut at {length}"] = lambda data, n=length: data[:n]
    return found


DAMAGES = [(MP4, name, edit) for name, edit in mp4_damages().items()] + [
    (MKV, name, edit) for name, edit in mkv_damages().items()
]
READERS: dict[str, Callable[[Any], Any]] = {
    "decode_video": lambda source: tricodec.decode_video(source, device="cpu", size=(18, 32)).frames.tobytes(),
    "probe": lambda source: tricodec.probe(source).to_dict()["streams"],
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
@pytest.mark.sweep(4)
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


@pytest.mark.parametrize(
    ("clip", "edit"),
    [
        (MP4, lambda data: put(data, b"stts", 8, 0x7FFFFFFF)),
        (MP4, lambda data: put(data, b"stco", 8, 0x3FFFFFFF)),
        (MP4, lambda data: put(data, b"ctts", 8, 0x10000000)),
        (MKV, lambda data: data[:100]),
    ],
    ids=["stts", "stco", "ctts", "cut"],
)
@pytest.mark.parametrize("as_path", [False, True], ids=["bytes", "path"])
def test_a_size_that_cannot_be_is_corrupt_data_and_said_so(
    clip: str, edit: Callable[[bytes], bytes], as_path: bool, tmp_path: Path
) -> None:
    data = edit(generated(clip).read_bytes())
    source: Any = data
    if as_path:
        source = tmp_path / clip
        source.write_bytes(data)

    for opened in (tricodec.FrameReader, tricodec.Demuxer, tricodec.probe, tricodec.io.StreamReader):
        with pytest.raises(tricodec.CorruptDataError) as caught:
            opened(source)
        assert "Cannot allocate memory" not in str(caught.value)
        assert "Input/output error" not in str(caught.value)


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


def message_of(source: bytes) -> str:
    """What opening it says."""
    with pytest.raises(tricodec.Error) as caught:
        tricodec.Demuxer(source)
    return str(caught.value)


def test_a_message_quotes_no_log_line_of_an_earlier_call() -> None:
    text = b"no media at all " * 100
    noisy = put(generated(MP4).read_bytes(), b"stsz", -4, 0x7FFFFFFF)  # opens, and logs "broken header"
    alone: list[str] = []
    run_threads([lambda: alone.append(message_of(text))])

    tricodec.Demuxer(noisy).close()

    assert [message_of(text)] == alone
    assert "broken header" not in alone[0]


def test_two_threads_never_quote_each_others_log_lines() -> None:
    cut = generated(MKV).read_bytes()[:100]
    broken = generated(MP4).read_bytes()
    broken = put(broken, b"stts", 8, 0x7FFFFFFF)
    expected = {data: message_of(data) for data in (cut, broken)}
    found: dict[bytes, set[str]] = {cut: set(), broken: set()}

    def work(data: bytes) -> None:
        for _ in range(100):
            found[data].add(message_of(data))

    run_threads([functools.partial(work, data) for data in (cut, broken)])

    assert found == {data: {message} for data, message in expected.items()}


@pytest.mark.needs_dali
def test_a_damaged_header_costs_its_sample_alone() -> None:
    clip = generated(MP4)
    damaged = put(clip.read_bytes(), b"stts", 8, 0x7FFFFFFF)
    expected = tricodec.decode_video(clip, count=3, device="cpu").frames

    samples = decode([clip, damaged, clip], count=3, on_error="empty")

    assert [len(sample.frames) for sample in samples] == [3, 0, 3]
    for sample in (samples[0], samples[2]):
        np.testing.assert_array_equal(sample.frames, expected)


@pytest.mark.needs_dali
def test_a_damaged_header_is_named_where_errors_are_raised() -> None:
    damaged = put(generated(MP4).read_bytes(), b"stts", 8, 0x7FFFFFFF)

    with pytest.raises(RuntimeError, match=r"Sample 1 of the batch of 2.*too large"):
        decode([generated(MP4), damaged])


def test_an_undamaged_clip_passes_the_edits_of_this_file() -> None:
    data = generated(MP4).read_bytes()
    start = data.index(b"mdat")

    same = with_long_mdat(data, struct.unpack(">I", data[start - 4 : start])[0] + 8)

    assert same != data
    with tricodec.FrameReader(same, device="cpu") as reader:
        assert [frame.md5() for frame in reader] == ffmpeg_framemd5(generated(MP4))
    assert read(same).tobytes() == same


def test_a_color_number_that_no_byte_holds_is_unspecified() -> None:
    words = "-c:v mpeg4 -q:v 8 -colorspace bt470bg -color_primaries bt470bg -color_trc gamma28"
    data = damaged_clips.made("colors.mkv", words, seconds=0.2).read_bytes()
    at = data.index(b"\x55\xb1\x81\x05")  # MatrixCoefficients, then another element of one byte
    assert data[at + 6] == 0x81
    edited = data[:at] + b"\x55\xb1\x85" + (257).to_bytes(5, "big") + data[at + 8 :]

    assert tricodec.probe(data).streams[0].color.matrix == "bt470bg"
    assert tricodec.probe(edited).streams[0].color.matrix == "unspecified"  # 1, the lower byte, is bt709


def test_an_index_of_more_samples_than_the_file_has_bytes_is_damage() -> None:
    data = damaged_clips.made("h264.mp4", damaged_clips.SMALL["h264.mp4"]).read_bytes()
    many = 5_000_000
    data = put(put(data, b"stsz", 8, 1), b"stsz", 12, many)  # all of one byte
    data = put(put(data, b"stsc", 8, 1), b"stsc", 16, many)  # in one chunk

    with pytest.raises(tricodec.CorruptDataError, match=f"claims {many} samples, but has {len(data)} bytes"):
        tricodec.FrameReader(data, device="cpu")
    with limits(max_packets=20), pytest.raises(tricodec.RefusedError, match=r"limits\.max_packets = 20"):
        tricodec.Demuxer(damaged_clips.made("h264.mp4", damaged_clips.SMALL["h264.mp4"]))
