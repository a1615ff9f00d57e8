# SPDX-License-Identifier: Apache-2.0
"""Files that claim more samples than they hold: refused before libavformat takes memory for them."""

from __future__ import annotations

import io
import struct
from collections.abc import Callable
from pathlib import Path
from typing import Any

import damaged_clips
import pytest
import tricodec
from media import ffmpeg_framemd5
from programs import limits, printed_by

MANY = 50_000_000
FRAGMENTS = damaged_clips.SMALL["h264.mp4"] + " -movflags frag_keyframe+empty_moov+default_base_moof"
DV = "-vf scale=720:576 -c:v dvvideo"


def box(name: str, *parts: bytes, size: int | None = None, long: bool = False) -> bytes:
    """A box, of a size that is not its own if one is given, or with its size in 64 bits."""
    payload = b"".join(parts)
    header = 16 if long else 8
    stated = len(payload) + header if size is None else size
    return (
        struct.pack(">I4s", 1 if long else stated, name.encode())
        + (struct.pack(">Q", stated) if long else b"")
        + payload
    )


def numbers(*values: int) -> bytes:
    """Of 32 bits each."""
    return struct.pack(f">{len(values)}I", *values)


def run(count: int, flags: int = 0, fields: bytes = b"", **options: Any) -> bytes:
    """A `trun` of samples of the default size."""
    return box("trun", numbers(flags, count), fields, **options)


def fragment(*runs: bytes, track: int = 1) -> bytes:
    """A `moof` with samples of one byte and one tick."""
    head = box("tfhd", numbers(0x20018, track, 1, 1))
    time = box("tfdt", numbers(0, 1 << 30))
    return box("moof", box("mfhd", numbers(0, 99)), box("traf", head, time, *runs))


def fragments() -> bytes:
    """A clip in fragments, which end with `mfra`."""
    return damaged_clips.made("fragments.mp4", FRAGMENTS).read_bytes()


def until_mfra(data: bytes) -> bytes:
    """The clip without its list of fragments."""
    at = data.rfind(b"mfra")
    return data[: at - 4] if at > 0 else data


def replaced(data: bytes, name: str, payload: bytes) -> bytes:
    """The clip with other numbers at the start of the first box of a name."""
    at = data.index(name.encode()) + 4
    return data[:at] + payload + data[at + len(payload) :]


def plain(name: str = "h264.mp4", options: str = damaged_clips.SMALL["h264.mp4"]) -> bytes:
    """A clip without fragments."""
    return damaged_clips.made(name, options).read_bytes()


def of_one_size(data: bytes, num_samples: int) -> bytes:
    """The clip with a track of that many samples of a byte, in one chunk."""
    return replaced(replaced(data, "stsz", numbers(0, 1, num_samples)), "stsc", numbers(0, 1, 1, num_samples, 1))


def grown(data: bytes, boxes: bytes, at: int, replaced_bytes: int, parents: tuple[str, ...]) -> bytes:
    """The clip, which ends with `moov`, with boxes at a place of the last of the first boxes of those names."""
    data = data[:at] + boxes + data[at + replaced_bytes :]
    for parent in parents:
        place = data.index(parent.encode()) - 4
        length = struct.unpack(">I", data[place : place + 4])[0] + len(boxes) - replaced_bytes
        data = data[:place] + numbers(length) + data[place + 4 :]
    return data


def with_edits(data: bytes, num_edits: int) -> bytes:
    """The clip with a track of a million samples of one size and that many edits, at its end."""
    at = data.index(b"elst") - 4
    size = struct.unpack(">I", data[at : at + 4])[0]
    edits = box("elst", numbers(0, num_edits), numbers(0x7FFFFFFF, 0, 0x10000) * num_edits)
    return grown(of_one_size(data, 1 << 20), edits, at, size, ("edts", "trak", "moov"))


def with_counted_sound(samples_in_chunk: int) -> bytes:
    """A clip with sound that its header counts in ticks, that many samples in each chunk."""
    sound = "-f lavfi -i sine -t 1.2 -c:a pcm_s16le "
    data = plain("sound.mov", sound + damaged_clips.SMALL["h264.mp4"])
    at = data.index(b"sowt")
    return data[:at] + replaced(data[at:], "stsc", numbers(0, 1, 1, samples_in_chunk, 1))


def with_open_groups(num_samples: int, offsets: int | None = None) -> bytes:
    """A clip of HEVC with so many samples marked as open groups, and one time for so many samples."""
    data = plain("hevc_open.mp4", damaged_clips.SMALL["hevc_open.mp4"])
    is_open = bytes([21])  # the NAL unit of a CRA picture
    groups = box("sgpd", numbers(1 << 24), b"sync", numbers(1, 1), is_open)
    groups += box("sbgp", numbers(0), b"sync", numbers(1, num_samples, 1))
    data = grown(data, groups, data.index(b"stts") - 4, 0, ("stbl", "minf", "mdia", "trak", "moov"))
    return data if offsets is None else replaced(data, "ctts", numbers(0, 1, offsets, 0))


def led_into_media(data: bytes) -> bytes:
    """A list of fragments leads to one that the media data hide."""
    start = data.index(b"moof") - 4
    honest = until_mfra(data)[start:]
    junk, hidden = box("free", bytes(100)), fragment(run(MANY)) + box("mdat", bytes(100))
    places = numbers(len(honest) + 8 + len(junk), 15360, 0, len(hidden), 512, 0)
    sidx = box("sidx", numbers(0, 1, 12800, 0, 0), struct.pack(">HH", 0, 2), places)
    return data[:start] + sidx + honest + box("mdat", junk, hidden)


def mxf(duration: int) -> bytes:
    """A clip with an index table that claims so many frames."""
    data = bytearray(damaged_clips.made("mpeg2.mxf", "-c:v mpeg2video -q:v 8 -g 10 -bf 2").read_bytes())
    key = bytes.fromhex("060e2b34025301010d01020101100100")
    at = data.find(key)
    while at >= 0:
        length = int.from_bytes(data[at + 17 : at + 20], "big")
        segment = data[at : at + 20 + length]
        if b"\x3f\x0a" not in segment:
            data[at + 15] ^= 0xFF  # a segment without entries, which has libavformat ignore the others
        else:
            struct.pack_into(">q", data, at + segment.index(b"\x3f\x0d\x00\x08") + 4, duration)
        at = data.find(key, at + 1)
    return bytes(data)


HOSTILE: dict[str, Callable[[], bytes]] = {
    "a fragment": lambda: until_mfra(fragments()) + fragment(run(MANY)) + box("mdat", bytes(100)),
    "the first fragment": lambda: replaced(fragments(), "trun", numbers(0, MANY)),
    "samples with sizes": lambda: replaced(fragments(), "trun", numbers(0xF01, MANY)),
    "many runs": lambda: until_mfra(fragments()) + fragment(*[run(1 << 20)] * 50) + box("mdat", bytes(100)),
    "a long header": lambda: until_mfra(fragments()) + fragment(run(MANY, long=True)) + box("mdat", bytes(100)),
    "the last bytes": lambda: until_mfra(fragments()) + fragment(run(MANY)),
    "no fragment around": lambda: (
        until_mfra(fragments()) + box("tfhd", numbers(0x20018, 1, 1, 1)) + run(MANY) + box("mdat", bytes(100))
    ),
    "a run that is too short": lambda: until_mfra(fragments()) + fragment(run(MANY, size=8)) + box("mdat", bytes(99)),
    "a run in media data": lambda: led_into_media(fragments()),
    "one size": lambda: of_one_size(plain(), MANY),
    "edits": lambda: with_edits(plain(), 1000),
    "chunks of sound": lambda: with_counted_sound(0x7FFFFFFF),
    "groups of samples": lambda: with_open_groups(MANY),
    "times of grouped samples": lambda: with_open_groups(30, MANY),
    "an index of MXF": lambda: mxf(MANY),
    "a compressed index": lambda: (
        plain()[: plain().index(b"moov") - 4] + box("moov", box("cmov", box("dcom", b"zlib"), box("cmvd", bytes(100))))
    ),
}


@pytest.fixture(scope="module")
def hostile(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of them."""
    folder = tmp_path_factory.mktemp("hostile")
    for name, make in HOSTILE.items():
        (folder / name).write_bytes(make())
    return folder


def test_a_false_claim_takes_neither_memory_nor_time(hostile: Path) -> None:
    code = """
        import pathlib, resource, sys, time
        import tricodec
        def peak():
            return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss >> 10
        for path in sorted(pathlib.Path(sys.argv[1]).iterdir()):
            before, start = peak(), time.process_time()
            try:
                with tricodec.FrameReader(path, device="cpu", num_workers=1) as reader:
                    for frame in reader:
                        pass
                error = ""
            except tricodec.Error as caught:
                error = type(caught).__name__
            print(path.name, error, peak() - before, time.process_time() - start, sep="|")
    """

    lines = [line.split("|") for line in printed_by(code, hostile).splitlines()]

    assert sorted(name for name, *_ in lines) == sorted(HOSTILE)
    wrong = {name: what for name, *what in lines if what[0] not in ("CorruptDataError", "RefusedError")}
    assert not wrong
    assert {name: size for name, _, size, _ in lines if int(size) > 150} == {}  # MB, of a million samples and a decoder
    assert {name: seconds for name, _, _, seconds in lines if float(seconds) > 5} == {}


def monkeys_audio(num_frames: int, *, old: bool) -> bytes:
    """A header of Monkey's Audio of that many frames, with a table of places that is as long."""
    if old:
        head = (b"MAC ", 3950, 2000, 0x20, 2, 44100, 0, 0, num_frames, 1, 4 * num_frames, 0)
        return struct.pack("<4s4H7I", *head) + bytes(4000)
    head = (b"MAC ", 3990, 0, 52, 24, 4 * num_frames, 0, 1000, 0, 0, bytes(16))
    return struct.pack("<4s2H7I16s", *head) + struct.pack("<2H3I2HI", 2000, 32, 73728, 1, num_frames, 16, 2, 44100)


@pytest.mark.parametrize("old", [True, False])
def test_a_false_claim_of_sound_takes_no_memory(old: bool, tmp_path: Path) -> None:
    path = tmp_path / "sound.ape"
    path.write_bytes(monkeys_audio(MANY, old=old))
    code = """
        import resource, sys
        import tricodec
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        try:
            tricodec.AudioReader(sys.argv[1])
        except tricodec.CorruptDataError:
            print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)
    """

    assert int(printed_by(code, path)) < 100 << 10  # KiB


class _InOrder(io.RawIOBase):
    """A source that cannot seek, in pieces of odd sizes."""

    def __init__(self, data: bytes) -> None:
        self._data = io.BytesIO(data)

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return False

    def read(self, size: int | None = -1, /) -> bytes:
        return self._data.read(min(997, 997 if size is None or size < 0 else size))


@pytest.mark.parametrize("name", ["a fragment", "the first fragment", "a long header", "one size"])
def test_a_source_that_cannot_seek_is_bound_by_the_limit(name: str) -> None:
    data = HOSTILE[name]()

    with limits(max_packets=1 << 20), pytest.raises((tricodec.RefusedError, tricodec.CorruptDataError), match="claims"):
        for _ in tricodec.Demuxer(_InOrder(data)):
            pass


def test_the_message_says_what_is_claimed_and_what_can_be() -> None:
    data = HOSTILE["one size"]()
    most = (1 << 20) + len(data)

    with pytest.raises(
        tricodec.CorruptDataError,
        match=rf"claims 50000000 samples of one size, but its {len(data)} bytes hold at most {most}",
    ):
        tricodec.FrameReader(data, device="cpu")


@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("fragments.mp4", FRAGMENTS),
        ("one_size_fragments.mov", DV + " -movflags frag_keyframe+empty_moov+default_base_moof"),
        ("one_size.mov", DV),
        ("listed.mp4", FRAGMENTS + "+global_sidx"),
        ("dash.mp4", FRAGMENTS + "+dash"),
        ("index.mxf", "-c:v mpeg2video -q:v 8 -g 10 -bf 2"),
    ],
)
def test_honest_files_are_read_as_before(name: str, options: str) -> None:
    path = damaged_clips.made(name, options, seconds=0.4)
    data = path.read_bytes()

    for source in (path, data, _InOrder(data)):
        with tricodec.FrameReader(source, device="cpu") as reader:
            assert [frame.md5() for frame in reader] == ffmpeg_framemd5(path)
