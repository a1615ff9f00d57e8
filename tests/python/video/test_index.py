# SPDX-License-Identifier: Apache-2.0
"""Indexes of frames: saved ones, tables of MP4 files and lists of other containers."""

from __future__ import annotations

import logging
import os
import shlex
import shutil
import struct
from pathlib import Path

import numpy as np
import pytest
import tricodec
from file_likes import FileLike
from media import ffmpeg, ffmpeg_framemd5, ffprobe, generated

# How damage is concealed depends on the number of threads; one is the definition (docs/explanation/architecture.md).
ONE_THREAD = ("-threads", "1")


def md5s(reader: tricodec.FrameReader) -> list[str]:
    return [frame.md5() for frame in reader]


@pytest.mark.parametrize(
    "name",
    ["hevc_open_gop.mkv", "vp9.webm", "h264_raw.h264", "h264_edit_list.mp4"],
)
def test_saved_index_gives_the_same_video(tmp_path: Path, name: str) -> None:
    clip = generated(name)
    index = tmp_path / "clip.index"
    with tricodec.FrameReader(clip, index=index) as first:
        md5s(first)  # damage is only met by decoding
        expected = (len(first), first.key_frames, list(first.pts_seconds))
    assert index.is_file()
    written = index.stat().st_mtime_ns
    with tricodec.FrameReader(clip, index=os.fspath(index)) as second:
        assert (len(second), second.key_frames, list(second.pts_seconds)) == expected
        last = len(second) - 1
        expected_md5s = ffmpeg_framemd5(clip, input_options=ONE_THREAD)
        assert [frame.md5() for frame in second.frames([last, 0, last // 2])] == [
            expected_md5s[last],
            expected_md5s[0],
            expected_md5s[last // 2],
        ]
        assert md5s(second) == expected_md5s
    assert index.stat().st_mtime_ns == written  # read, not made again


def test_saved_index_spares_reading_the_file(tmp_path: Path) -> None:
    clip = generated("h264_raw.h264")  # a bare stream: numbering its frames takes decoding all of it
    index = tmp_path / "clip.index"
    read = []
    for _ in range(2):
        file = FileLike(clip.read_bytes())
        with tricodec.FrameReader(file, index=index) as reader:
            opened = file.num_read
            len(reader)
            read.append(file.num_read - opened)
    assert read[0] >= clip.stat().st_size - opened
    assert read[1] == 0


@pytest.mark.parametrize("suffix", ["mp4", "mkv", "ts"])
def test_saved_index_leaves_only_the_group_of_a_frame_to_be_read(tmp_path: Path, suffix: str) -> None:
    clip = tmp_path / f"long.{suffix}"
    source = generated("h264_bframes.mp4")
    ffmpeg("-stream_loop 59 -i", source, "-c copy", clip)
    index = tmp_path / "clip.index"
    num_bytes, md5s_of_a_frame = [], set()
    for _ in range(2):
        file = FileLike(clip.read_bytes())
        with tricodec.FrameReader(file, index=index) as reader:
            opened = file.num_read
            assert len(reader) == 60 * len(ffmpeg_framemd5(source))
            num_bytes.append(file.num_read - opened)
            md5s_of_a_frame.add(reader[len(reader) * 3 // 4].md5())
            assert file.num_read - opened - num_bytes[-1] < clip.stat().st_size / 8
    without, saved = num_bytes

    assert without >= 0.9 * clip.stat().st_size - opened
    assert saved == 0
    assert len(md5s_of_a_frame) == 1


SOUND_FILES = [
    *(("h264_bframes.mp4", ending) for ending in ("mp4", "mkv", "ts")),
    *(("hevc.mp4", ending) for ending in ("mp4", "mkv", "ts")),
    *(("av1.mp4", ending) for ending in ("mp4", "mkv", "webm")),
    *(("vp9.webm", ending) for ending in ("mp4", "mkv", "webm")),
    ("h264_bframes.mp4", "h264"),
]


@pytest.mark.parametrize(("name", "ending"), SOUND_FILES)
def test_only_the_frames_of_a_bare_stream_are_numbered_by_decoding(
    name: str, ending: str, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    path = tmp_path / f"a.{ending}"
    ffmpeg("-i", generated(name), "-c copy", path)

    with caplog.at_level(logging.INFO, "tricodec"), tricodec.FrameReader(path, device="cpu") as reader:
        assert len(reader) == 50
        assert [reader[number].index for number in (33, 7)] == [33, 7]
        assert reader.issues == []

    assert ("numbering the frames" in caplog.text) == (ending == "h264")


def test_index_of_a_file_that_changed_is_replaced(tmp_path: Path) -> None:
    clip = tmp_path / "clip.mp4"
    index = tmp_path / "clip.index"
    shutil.copy(generated("h264_bframes.mp4"), clip)
    with tricodec.FrameReader(clip, index=index) as reader:
        len(reader)
    shutil.copy(generated("h264_audio.mp4"), clip)
    with tricodec.FrameReader(clip, index=index) as reader:
        assert md5s(reader) == ffmpeg_framemd5(clip)
        assert len(reader) == len(ffmpeg_framemd5(clip))


RATE = 30


@pytest.fixture(scope="module")
def long_clip(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """600 frames of noise in ten GOPs, with sound in between, more than 16 MiB, the table in front."""
    path = tmp_path_factory.mktemp("container") / "long.mp4"
    noise = "color=gray:size=320x240:rate=30,noise=c0s=100:c0f=t+u:all_seed=5"
    ffmpeg(
        *("-f", "lavfi", "-i", noise, "-f", "lavfi", "-i", "sine=sample_rate=48000", "-frames:v", "600", "-shortest"),
        *("-c:v", "libx264", "-preset", "ultrafast", "-bf", "2", "-qp", "14", "-g", "60", "-keyint_min", "60"),
        *("-sc_threshold", "0", "-c:a", "aac", "-movflags", "+faststart", path),
    )
    assert path.stat().st_size > 16 << 20
    return path


def test_the_length_and_the_times_of_a_large_file_take_its_table_alone(long_clip: Path) -> None:
    with tricodec.FrameReader(long_clip, device="cpu") as reader:
        assert len(reader) == 600
        np.testing.assert_allclose(reader.pts_seconds, np.arange(600) / RATE, atol=1e-6)
        assert reader.key_frames == list(range(0, 600, 60))
        assert reader.stats.bytes_read < 512 << 10
        assert reader.stats.num_packets_decoded == 0


@pytest.mark.parametrize(
    "encoder",
    [
        "libx264 -x264-params keyint=30:min-keyint=30:scenecut=0:bframes=3:open-gop=1",
        "libx265 -x265-params keyint=30:min-keyint=30:scenecut=0:bframes=3:open-gop=1:log-level=error",
    ],
    ids=["h264", "hevc"],
)
def test_open_groups_are_read_once(encoder: str, tmp_path: Path) -> None:
    path = tmp_path / "open.mp4"
    noise = "color=gray:size=320x240:rate=30,noise=c0s=100:c0f=t+u:all_seed=5"
    ffmpeg("-f", "lavfi", "-i", noise, "-frames:v", "120", "-c:v", *encoder.split(), "-preset", "ultrafast", path)
    leading = [28, 30, 31, 58, 61, 119]

    with tricodec.FrameReader(path, device="cpu", index="packets") as reader:
        expected = [frame.md5() for frame in reader]
        few = [frame.md5() for frame in reader.frames(leading)]
    most = 1.3 * path.stat().st_size
    taken = []
    for num_workers in (1, 2, 2, 2, 2, 2, 2):
        with tricodec.FrameReader(path, device="cpu", index="container", num_workers=num_workers) as reader:
            assert len(reader) == 120
            assert [frame.md5() for frame in reader] == expected
            taken += [reader.stats.bytes_read] * (num_workers == 2)
        with tricodec.FrameReader(path, device="cpu", index="container", num_workers=num_workers) as reader:
            assert [frame.md5() for frame in reader.frames(leading)] == few
        # A decoder that takes a group which is not the next one for it reads some of it again.
        if taken and taken[-1] < most:
            break
    assert min(taken) < most


GOP, FRAMES = 30, 240
NOISE = "color=gray:size=160x120:rate=30,noise=alls=100:allf=t+u"
SOUND = "sine=sample_rate=48000:duration=8"
H264 = "-c:v libx264 -pix_fmt yuv420p -preset ultrafast -bf 2 -qp 18 -g 30 -keyint_min 30 -sc_threshold 0"


#: What is remuxed, and to what.
LISTED = {
    "a table": ("h264", "-movflags +faststart", "mp4"),
    "fragments with sidx": ("h264", "-movflags +dash+global_sidx", "mp4"),
    "CMAF in chunks": ("h264", "-movflags +cmaf+frag_discont -frag_duration 200000", "mp4"),
    "fragments": ("h264", "-movflags +frag_keyframe+empty_moov", "mp4"),
    "Matroska": ("h264", "", "mkv"),
    "Matroska as a live stream": ("h264", "-live 1", "mkv"),
    "Matroska of HEVC": ("hevc", "", "mkv"),
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
        tricodec.FrameReader(path, device="cpu", index="container") as another,
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
        assert [frame.md5() for frame in another] == [frame.md5() for frame in whole]
    assert opened < 0.2 * path.stat().st_size
    assert taken <= 1.15 * needed


def by_both(source: Path | bytes, numbers: list[int]) -> tuple[object, ...]:
    """What a reader that goes by the table gives, which is what one gives that reads all packets."""
    found = []
    for index in ("container", "packets"):
        with tricodec.FrameReader(source, device="cpu", num_workers=1, index=index) as reader:
            early = reader[5].md5()
            frames = [(frame.index, frame.md5(), frame.pts, frame.duration) for frame in reader.frames(numbers)]
            found.append((early, frames, facts(reader), reader.num_damaged_packets))
    assert found[0] == found[1]
    return found[0]


@pytest.mark.parametrize(
    ("name", "options", "ending"),
    [
        ("h264_bframes.mp4", "", "mp4"),
        ("h264_bframes.mp4", "-movflags negative_cts_offsets", "mp4"),
        ("h264_bframes.mp4", "-movflags +faststart", "mov"),
        ("h264_mbaff.ts", "", "mp4"),
        ("h264.ts", "", "ts"),
        *((name, "", "mp4") for name in ("hevc.mp4", "hevc_open_gop.mkv", "hevc_layers.mkv", "av1.mp4", "vp9.webm")),
        ("mpeg4.mp4", "", "mp4"),
        ("mjpeg.avi", "", "mov"),
    ],
)
def test_a_table_gives_the_numbers_and_frames_of_the_packets(
    name: str, options: str, ending: str, tmp_path: Path
) -> None:
    path = tmp_path / f"a.{ending}"
    ffmpeg("-i", generated(name), "-c copy", options, path)

    by_both(path, list(range(1, len(ffmpeg_framemd5(path)), 2)))


def test_packets_that_contradict_the_table_make_the_reader_read_all() -> None:
    data = bytearray(generated("h264_bframes.mp4").read_bytes())
    packet = list(tricodec.Demuxer(generated("h264_bframes.mp4")))[23]
    assert packet.pos is not None
    data[packet.pos : packet.pos + len(packet)] = bytes(len(packet))

    *_, num_damaged_packets = by_both(bytes(data), list(range(20, 48, 2)))

    assert num_damaged_packets == 1


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
