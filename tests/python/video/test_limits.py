# SPDX-License-Identifier: Apache-2.0
"""Limits of a picture's size, and a process with too little memory."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path

import h264_writer
import hevc_writer
import media
import numpy as np
import pytest
import tricodec
from h264_writer import H264Stream, Picture
from hevc_writer import HevcStream
from programs import limits, printed_by, run_python

FAR = (3200, 32000)  # fewer pixels than limits.max_pixels, and a side past limits.max_height
MOST_MIB = 160
"""Much less than one picture of that size, which is 150 MiB, and the tables of its blocks."""


def h264(width: int, height: int) -> bytes:
    return bytes(h264_writer.first_block(width, height).data)


def hevc(width: int, height: int) -> bytes:
    """Headers of that size, and a picture that is too small for them."""
    small = HevcStream()
    headers = len(small.data)
    small.write(hevc_writer.Picture(0, hevc_writer.IDR), small.noise())
    return bytes(HevcStream(width=width, height=height).data) + bytes(small.data[headers:])


def small_hevc(count: int) -> bytes:
    stream = HevcStream()
    stream.write(hevc_writer.Picture(0, hevc_writer.IDR), stream.noise())
    for number in range(1, count):
        stream.write(hevc_writer.Picture(number, before=(number - 1,)))
    return bytes(stream.data)


READ = """
import resource, sys
import tricodec, tricodec.io

def peak(): return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss >> 10

def stream(path):
    reader = tricodec.io.StreamReader(path)
    reader.add_basic_video_stream(4)
    for _ in reader.stream(): pass

def packets(path):
    demuxer = tricodec.Demuxer(path)
    decoder = tricodec.Decoder(demuxer.stream, device="cpu")
    for packet in demuxer: decoder.decode(packet)
    decoder.flush()

WAYS = {
    "FrameReader": lambda path: list(tricodec.FrameReader(path, device="cpu", num_workers=1)),
    "decode_video": lambda path: tricodec.decode_video(path, device="cpu", num_workers=2),
    "StreamReader": stream,
    "Decoder": packets,
    "transcode": lambda path: tricodec.transcode(path, None, format="matroska", options={"preset": "ultrafast"}),
}
way, small, path, size, *most = sys.argv[1:]
ways = WAYS.values() if way == "all" else [WAYS[way]]
for read in ways: read(small)
if most: tricodec.set_limits(max_width=int(most[0]), max_height=int(most[0]))
before = peak()
for read in ways:
    try:
        read(path)
        print(read, "was not refused")
    except tricodec.RefusedError as error:
        assert size in str(error), error
print(peak() - before)
"""


# With few pictures before it libavformat meets the header; with many our decoder does.
@pytest.mark.parametrize("count", [2, 80])
@pytest.mark.parametrize(("small", "grown"), [(h264_writer.small, h264), (small_hevc, hevc)])
def test_a_picture_past_the_limits_is_refused_before_memory_is_taken(
    small: Callable[[int], bytes], grown: Callable[[int, int], bytes], count: int, tmp_path: Path
) -> None:
    start = tmp_path / "start.bin"
    start.write_bytes(small(count))
    path = tmp_path / "grown.bin"
    path.write_bytes(small(count) + grown(*FAR))

    assert int(printed_by(READ, "all", start, path, "3200x32000")) < MOST_MIB


def test_iteration_gives_the_frames_before_a_picture_past_the_limits(tmp_path: Path) -> None:
    # A number of a picture is damaged: several workers decode the stream first to number its frames.
    stream = H264Stream(64, 64)
    stream.write(stream.noise(), h264_writer.Picture(idr=True))
    for number in range(1, 40):
        stream.skip(h264_writer.Picture(frame_num=number + (number > 20), poc=2 * number))
    raw, path = tmp_path / "grown.264", tmp_path / "grown.mkv"
    raw.write_bytes(bytes(stream.data) + h264(*FAR))
    media.ffmpeg("-r 25 -i", raw, "-c copy", path)

    given = []
    for num_workers in (1, 2):
        frames = []
        with (
            tricodec.FrameReader(path, device="cpu", num_workers=num_workers) as reader,
            pytest.raises(tricodec.RefusedError, match="3200x32000"),
        ):
            frames.extend(frame.md5() for frame in reader)
        given.append(frames)

    assert given[0] == given[1]
    assert len(given[0]) > 20


def two_sizes(folder: Path, options: str, ending: str, first: tuple[str, int], second: tuple[str, int]) -> Path:
    """Pictures of one size and then of another, each so many, in a stream without a container."""
    path = folder / f"grows.{ending}"
    sources = (f"-f lavfi -i testsrc2=s={size} -frames:v {count}" for size, count in (first, second))
    path.write_bytes(b"".join(media.ffmpeg(source, "-pix_fmt yuv420p", options, "-") for source in sources))
    return path


_H264 = "-c:v libx264 -preset ultrafast -g 5 -bf 0 -f h264"
_AV1 = "-c:v libsvtav1 -preset 12 -g 5 -f obu"


@pytest.mark.parametrize(
    ("options", "ending", "limit", "most"),
    [
        (_H264, "h264", "max_width", 104),
        (_H264, "h264", "max_height", 66),
        (_H264, "h264", "max_pixels", 104 * 66),
        (_AV1, "obu", "max_width", 104),
        (_AV1, "obu", "max_pixels", 104 * 66),
    ],
)
def test_a_decoder_gives_pictures_of_just_the_limits_and_refuses_larger_ones(
    options: str, ending: str, limit: str, most: int, tmp_path: Path
) -> None:
    demuxer = tricodec.Demuxer(two_sizes(tmp_path, options, ending, ("104x66", 5), ("160x96", 5)))
    frames, refusals = [], []
    with limits(**{limit: most}):
        decoder = tricodec.Decoder(demuxer.stream, device="cpu", num_threads=1)
        for call in [*(partial(decoder.decode, packet) for packet in demuxer), *[decoder.flush] * 5]:
            try:
                frames += call()
            except tricodec.RefusedError as error:
                refusals.append(str(error))

    assert [frame.width for frame in frames] == [104] * 5
    assert "160x96, past limits.max_width, max_height or max_pixels" in refusals[-1]


def test_frames_past_the_limit_of_memory_are_refused_before_any_is_decoded() -> None:
    with tricodec.FrameReader(media.generated("h264_bframes.mp4"), device="cpu") as reader:
        assert len(reader) == 50
        with limits(max_output_bytes=10 * 320 * 180 * 3 // 2):
            with pytest.raises(tricodec.RefusedError, match=r"batches\(\)"):
                reader.frames(range(11))
            assert reader.stats.num_packets_decoded == 0
            assert len(reader.frames(range(10))) == 10
            assert len(reader.frames([3] * 40)) == 40  # one picture, forty times


def test_pictures_that_are_larger_than_the_headers_say_are_counted_as_they_are(tmp_path: Path) -> None:
    # More pictures of the first size than are probed for the headers.
    path = two_sizes(tmp_path, "-c:v libx264 -preset ultrafast -g 12 -f h264", "h264", ("96x64", 300), ("160x96", 5))
    with tricodec.FrameReader(path, device="cpu") as reader:
        assert (reader.stream.width, len(reader)) == (96, 305)
        with limits(max_output_bytes=5 * 96 * 64 * 3 // 2):
            with pytest.raises(tricodec.RefusedError, match=r"batches\(\)"):
                reader.frames(range(300, 305))
            assert len(reader.frames(range(5))) == 5


SIDE, NUM_FRAMES = 2048, 18
"""Sixteen references of 6 MB."""

CODE = """
    import re, resource, sys
    import numpy
    from pathlib import Path
    import tricodec

    data, extra = Path(sys.argv[1]).read_bytes(), int(sys.argv[2])
    used = int(re.search(r"VmData:\\s+(\\d+)", Path("/proc/self/status").read_text())[1]) << 10
    if extra:
        resource.setrlimit(resource.RLIMIT_DATA, (used + (extra << 20),) * 2)
    try:
        with tricodec.FrameReader(data, device="cpu", num_workers=int(sys.argv[3])) as reader:
            print(len(reader.batch(range(int(sys.argv[4])), size=(16, 16))))
    except tricodec.OutOfMemoryError:
        print("no memory")
"""

NO_MEMORY_FOR_THREAD = 127
"""How the C library ends a process that has no memory for the variables of a new thread."""


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> str:
    stream = H264Stream(SIDE, SIDE, num_ref_frames=16)
    block = [np.zeros((16, 16), np.uint8), np.zeros((8, 8), np.uint8), np.zeros((8, 8), np.uint8)]
    stream.write(block, Picture(idr=True, slices=[range(1)]))
    for number in range(1, NUM_FRAMES):
        stream.skip(Picture(frame_num=number, poc=2 * number))
    file = tmp_path_factory.mktemp("memory") / "references.h264"
    file.write_bytes(bytes(stream.data))
    return str(file)


@pytest.mark.parametrize("num_workers", [1, 2])
@pytest.mark.parametrize("extra_megabytes", [20, 60])
def test_a_video_past_the_memory_of_the_process_is_no_damage(path: str, extra_megabytes: int, num_workers: int) -> None:
    result = run_python(CODE, path, extra_megabytes, num_workers, NUM_FRAMES)

    assert result.stdout == "no memory\n" or result.returncode == NO_MEMORY_FOR_THREAD, result.stdout + result.stderr


def test_the_same_video_is_read_with_enough_memory(path: str) -> None:
    assert run_python(CODE, path, 0, 2, NUM_FRAMES).stdout == f"{NUM_FRAMES}\n"
