# SPDX-License-Identifier: Apache-2.0
"""Containers without a sample table that list their packets all the same: fragments, blocks of Matroska, AVI's index.

`index="packets"` reads all packets and is the oracle; `ffprobe` says how many bytes a GOP has.
"""

from __future__ import annotations

import shlex
import struct
from pathlib import Path

import pytest
import tricodec
from media import ffmpeg, ffprobe

GOP, FRAMES = 30, 240
NOISE = "color=gray:size=160x120:rate=30,noise=alls=100:allf=t+u"
SOUND = "sine=sample_rate=48000:duration=8"

H264 = "-c:v libx264 -pix_fmt yuv420p -preset ultrafast -bf 2 -qp 18 -g 30 -keyint_min 30 -sc_threshold 0"
#: What is remuxed, and to what.
LISTED = {
    "fragments with sidx": ("h264", "-movflags +dash+global_sidx", "mp4"),
    "CMAF in chunks": ("h264", "-movflags +cmaf+frag_discont -frag_duration 200000", "mp4"),
    "fragments": ("h264", "-movflags +frag_keyframe+empty_moov", "mp4"),
    "Matroska": ("h264", "", "mkv"),
    "Matroska as a live stream": ("h264", "-live 1", "mkv"),
    "Matroska of HEVC": ("hevc", "", "mkv"),
    "AVI of MJPEG": ("mjpeg", "", "avi"),
}


@pytest.fixture(scope="module")
def clips(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the streams, each of 240 frames in eight GOPs and some MB, with sound."""
    folder = tmp_path_factory.mktemp("lists")
    x265 = "keyint=30:min-keyint=30:scenecut=0:qp=24:log-level=1"
    for name, encoder in {
        "h264.mp4": H264,
        "hevc.mp4": f"-c:v libx265 -pix_fmt yuv420p -preset ultrafast -x265-params {x265}",
        "vp8.mkv": "-c:v libvpx -pix_fmt yuv420p -deadline realtime -cpu-used 16 -g 30 -b:v 8M",
        "mjpeg.mkv": "-c:v mjpeg -q:v 3 -pix_fmt yuvj420p",
    }.items():
        sound = "-c:a libopus" if name == "vp8.mkv" else "-c:a aac"
        inputs = ("-f", "lavfi", "-i", NOISE, "-f", "lavfi", "-i", SOUND)
        ffmpeg(*inputs, "-frames:v", str(FRAMES), *shlex.split(encoder), *sound.split(), folder / name)
    return folder


def remuxed(clips: Path, tmp_path: Path, recipe: tuple[str, str, str]) -> Path:
    stream, options, suffix = recipe
    path = tmp_path / f"clip.{suffix}"
    ffmpeg("-i", next(clips.glob(f"{stream}.*")), "-c", "copy", *shlex.split(options), path)
    return path


def facts(reader: tricodec.FrameReader) -> tuple[object, ...]:
    return len(reader), reader.pts_seconds.tolist(), reader.key_frames, reader._gops().tolist()


@pytest.mark.parametrize("name", LISTED)
def test_a_list_gives_the_numbers_of_the_packets_without_reading_them(clips: Path, tmp_path: Path, name: str) -> None:
    path = remuxed(clips, tmp_path, LISTED[name])
    wanted = [95, 96, 97, 98, 185, 186, 187, 188]
    packets = ffprobe(path, "-select_streams v:0 -show_entries packet=size")["packets"]
    needed = sum(int(packets[number]["size"]) for first in (90, 180) for number in range(first, first + GOP))

    with (
        tricodec.FrameReader(path, device="cpu", index="container") as reader,
        tricodec.FrameReader(path, device="cpu", index="packets") as whole,
    ):
        listed = facts(reader)
        opened = reader.stats.bytes_read
        frames = [(frame.md5(), frame.pts, frame.duration) for frame in reader.frames(wanted)]
        taken = reader.stats.bytes_read - opened
        last = reader[-1]

        assert listed == facts(whole)
        assert frames == [(frame.md5(), frame.pts, frame.duration) for frame in whole.frames(wanted)]
        assert (last.md5(), last.duration) == (whole[-1].md5(), whole[-1].duration)
        assert facts(reader) == listed
    assert opened < 0.2 * path.stat().st_size
    if LISTED[name][0] != "mjpeg":  # each frame is a GOP
        assert taken <= 1.15 * needed


@pytest.mark.parametrize("name", ["CMAF in chunks", "Matroska of HEVC"])
def test_iteration_by_a_list_gives_all_frames(clips: Path, tmp_path: Path, name: str) -> None:
    path = remuxed(clips, tmp_path, LISTED[name])
    with (
        tricodec.FrameReader(path, device="cpu", index="container") as reader,
        tricodec.FrameReader(path, device="cpu", index="packets") as whole,
    ):
        assert len(reader) == FRAMES
        assert [frame.md5() for frame in reader] == [frame.md5() for frame in whole]


@pytest.mark.parametrize("name", ["fragments", "Matroska", "AVI of MJPEG"])
def test_a_packet_that_contradicts_the_list_gives_the_answer_of_the_packets(
    clips: Path, tmp_path: Path, name: str
) -> None:
    path = remuxed(clips, tmp_path, LISTED[name])
    packets = ffprobe(path, "-select_streams v:0 -show_entries packet=pos,size")["packets"]
    data = bytearray(path.read_bytes())
    position, size = int(packets[100]["pos"]), int(packets[100]["size"])
    at = data.index(b"\x00\x00", position) if name == "AVI of MJPEG" else position + 4
    data[at : position + size] = bytes(position + size - at)
    path.write_bytes(data)
    wanted = [95, 100, 110, 200]
    with (
        tricodec.FrameReader(path, device="cpu", index="container") as reader,
        tricodec.FrameReader(path, device="cpu", index="packets") as whole,
    ):
        assert [frame.md5() for frame in reader.frames(wanted)] == [frame.md5() for frame in whole.frames(wanted)]
        assert len(reader) == len(whole)
        assert reader.num_damaged_packets == whole.num_damaged_packets > 0


@pytest.mark.parametrize("count", [0xFFFFFFFF, 0x7FFFFFFF])
def test_a_fragment_with_samples_without_end_costs_no_memory(clips: Path, tmp_path: Path, count: int) -> None:
    """A run may count samples that have no fields of their own, which costs no bytes in the file."""
    import resource

    path = remuxed(clips, tmp_path, LISTED["fragments"])
    data = bytearray(path.read_bytes())
    run = data.index(b"trun", len(data) // 2)
    data[run + 4 : run + 12] = struct.pack(">II", 0x000001, count)  # flags: a place, and nothing a sample
    path.write_bytes(data)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    try:
        with tricodec.FrameReader(path, device="cpu", index="container") as reader:
            assert len(reader) <= FRAMES
    except tricodec.Error:
        pass
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 512 << 10  # KiB
