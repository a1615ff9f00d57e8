# SPDX-License-Identifier: Apache-2.0
"""Files without their end: what is there comes, and the loss is reported; whole files and live ones report nothing."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import media
import pytest
import tricodec
from media_recipes import RECIPES
from tricodec.cli import main

SIZED = [
    "h264_faststart.mp4",
    "h264_fragmented.mp4",
    "h264_open_gop.mkv",
    "vp9.webm",
    "mpeg4.avi",
    "h264.avi",
    "h264.ts",
    "hevc.ts",
]
"""Of each container that is checked."""

UNREADABLE = ("truncated.mp4", "audio_only.m4a")
WHOLE = [name for name in RECIPES if not name.startswith("truncated") and name not in UNREADABLE]


def cut(name: str, part: float = 2 / 3) -> bytes:
    """The first part of a clip; of a transport stream never whole packets alone, which show no cut."""
    data = media.generated(name).read_bytes()
    size = int(len(data) * part)
    return data[: size + (size % 188 == 0)]


def ends_early(source: Any) -> str:
    with tricodec.Demuxer(source) as demuxer:
        assert demuxer.ends_early == ""
        for _ in demuxer:
            pass
        return demuxer.ends_early


def remuxed(name: str, *options: str) -> bytes:
    """A clip in a container that was written to a pipe, by a writer that cannot go back."""
    return media.ffmpeg("-i", media.generated(name), "-c copy", *options, "-")


@pytest.mark.parametrize("name", SIZED)
def test_what_is_there_of_a_cut_file_comes_and_the_cut_is_told(name: str, caplog: pytest.LogCaptureFixture) -> None:
    with tricodec.FrameReader(media.generated(name), num_workers=1) as whole:
        expected = [frame.md5() for frame in whole]

    with tricodec.FrameReader(cut(name), num_workers=1) as reader:
        md5s = [frame.md5() for frame in reader]
        told = reader.issues[-1]

    # The last pictures may lack what they refer to, or a part of their own.
    assert len(expected) // 4 < len(md5s) < len(expected)
    assert md5s[:-5] == expected[: len(md5s) - 5]
    assert told.message.startswith("it ends early: ")
    assert "bytes; it was cut off or is still being written" in told.message
    assert (told.pts, told.pos) == (None, len(cut(name)))
    assert caplog.text.count("ends early") == 1


@pytest.mark.parametrize("name", SIZED)
def test_a_demuxer_tells_when_it_comes_to_the_end(name: str, caplog: pytest.LogCaptureFixture) -> None:
    assert ends_early(cut(name)) in caplog.text
    assert "ends early: " in caplog.text


@pytest.mark.parametrize("name", WHOLE)
@pytest.mark.sweep(5)
def test_whole_files_say_nothing(name: str) -> None:
    assert ends_early(media.generated(name)) == ""


@pytest.mark.parametrize("clip", media.manifest(), ids=lambda clip: clip.name)
def test_whole_files_of_others_say_nothing(clip: media.Clip) -> None:
    assert ends_early(clip.path) == ""


LIVE: dict[str, tuple[str, ...]] = {
    "matroska": ("-f", "matroska", "-cluster_time_limit", "300"),
    "live matroska": ("-f", "matroska", "-live", "1", "-cluster_time_limit", "300"),
    "mp4": ("-f", "mp4", "-movflags", "frag_keyframe+empty_moov"),
    "flv": ("-f", "flv"),
    "mpegts": ("-f", "mpegts"),
    "m2ts": ("-f", "mpegts", "-mpegts_m2ts_mode", "1"),
    "avi": ("-f", "avi"),
    "nut": ("-f", "nut"),
    "asf": ("-f", "asf"),
}


@pytest.mark.parametrize("options", LIVE.values(), ids=LIVE)
def test_what_a_live_writer_leaves_says_nothing(options: tuple[str, ...]) -> None:
    assert ends_early(remuxed("h264_nob.mp4", *options)) == ""


@pytest.mark.parametrize("flags", ["empty_moov", "default_base_moof", "dash", "empty_moov+frag_every_frame"])
@pytest.mark.parametrize("part", [0.3, 0.9, 1])
def test_the_header_of_a_fragment_that_is_cut_off_costs_no_frame_before_it(
    flags: str, part: float, tmp_path: Path
) -> None:
    path = tmp_path / "cut.mp4"
    media.ffmpeg("-i", media.generated("h264_nob.mp4"), f"-c copy -movflags frag_keyframe+{flags}", path)
    data = path.read_bytes()
    begin = data.rfind(b"moof") - 4
    header = int.from_bytes(data[begin : begin + 4], "big")
    data = data[: begin + max(9, int(header * part) - 1)]
    path.write_bytes(data)
    expected = media.ffmpeg("-i pipe:0 -f framemd5 -", stdin=data).decode().splitlines()
    with tricodec.FrameReader(path, device="cpu") as reader:
        frames = sum(1 for _ in reader)
        assert frames == sum(not line.startswith("#") for line in expected) > 0
        assert "ends early" in reader.issues[-1].message


@pytest.mark.parametrize("kind", ["matroska", "live matroska", "mp4", "mpegts", "m2ts"])
def test_what_a_live_writer_leaves_is_told_if_it_stops_in_mid_part(kind: str) -> None:
    data = remuxed("h264_nob.mp4", *LIVE[kind])

    packet = 192 if kind == "m2ts" else 188  # of transport streams: not between two
    told = [ends_early(data[: len(data) * part // 16 // packet * packet + 100]) for part in range(8, 15)]

    assert all("bytes; it was cut off" in each for each in told)


def test_an_object_that_can_seek_is_told_of_and_left_where_it_was_read() -> None:
    data = cut("h264_open_gop.mkv")
    with tricodec.Demuxer(io.BytesIO(data)) as demuxer:
        first = [packet.pts for packet in demuxer]
        assert "its segment ends at byte" in demuxer.ends_early
        demuxer.seek(0)
        assert [packet.pts for packet in demuxer] == first


def test_a_stream_that_cannot_seek_is_read_to_its_end() -> None:
    class Pipe(io.BytesIO):
        def seekable(self) -> bool:
            return False

    assert ends_early(Pipe(cut("h264_open_gop.mkv"))) == ""  # its length is not known


def test_a_saved_index_tells_of_the_cut(tmp_path: Path) -> None:
    clip, index = tmp_path / "cut.mkv", tmp_path / "cut.index"
    clip.write_bytes(cut("h264_open_gop.mkv"))
    with tricodec.FrameReader(clip, index=index) as first:
        assert len(first) > 0
        told = first.issues
    with tricodec.FrameReader(clip, index=index) as second:
        assert second.issues == []
        assert len(second) > 0
        assert [issue.message for issue in second.issues] == [issue.message for issue in told]
    assert len(told) == 1


def test_decode_video_counts_what_a_reader_lists() -> None:
    assert tricodec.decode_video(media.generated("h264_open_gop.mkv"), count=1).num_damaged_packets == 0

    video = tricodec.decode_video(cut("h264_open_gop.mkv"), start=2, count=3)

    assert video.num_damaged_packets == 1
    assert "1 damaged packet>" in repr(video)
    assert tricodec.decode_video(media.generated("zeroed.h264")).num_damaged_packets > 0


@pytest.mark.parametrize("num_workers", [1, 2])
def test_transcode_counts_the_cut(num_workers: int, caplog: pytest.LogCaptureFixture) -> None:
    source = cut("h264_open_gop.mkv")

    result = tricodec.transcode(source, None, format="mp4", options={"preset": "ultrafast"}, num_workers=num_workers)

    assert (result.num_frames, result.num_damaged_packets) == (33, 1)
    assert caplog.text.count("ends early") == 1


def test_a_range_before_the_cut_is_whole() -> None:
    source = cut("h264_open_gop.mkv")

    result = tricodec.transcode(source, None, format="mp4", options={"preset": "ultrafast"}, end=0.4)

    assert (result.num_frames, result.num_damaged_packets) == (10, 0)


def test_the_command_line_tells_of_the_cut(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    clip = tmp_path / "cut.mkv"
    clip.write_bytes(cut("h264_open_gop.mkv"))

    assert main(["frames", str(clip), "--md5"]) == 0

    assert "cut.mkv: 1 packet damaged; first: it ends early: its segment ends at byte" in capsys.readouterr().err


def test_a_stream_reader_logs_the_cut(caplog: pytest.LogCaptureFixture) -> None:
    from tricodec.io import StreamReader

    reader = StreamReader(io.BytesIO(cut("h264_open_gop.mkv")))
    reader.add_basic_video_stream(100)
    reader.process_all_packets()

    assert caplog.text.count("ends early: its segment ends at byte") == 1
