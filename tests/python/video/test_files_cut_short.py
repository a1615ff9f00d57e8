# SPDX-License-Identifier: Apache-2.0
"""Files without their end: what is there comes, and the loss is reported; whole files and live ones report nothing."""

from __future__ import annotations

import io
from typing import Any

import media
import pytest
import tricodec

SIZED = ["h264_fragmented.mp4", "h264_open_gop.mkv", "h264.avi", "h264.ts"]
"""Of each container that is checked."""

WHOLE = ["h264_bframes.mp4", "h264_fragmented.mp4", "h264_open_gop.mkv", "h264.ts", "vp9.webm", "mpeg4.avi"]


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


@pytest.mark.parametrize("name", WHOLE)
def test_whole_files_say_nothing(name: str) -> None:
    assert ends_early(media.generated(name)) == ""


def test_an_object_that_can_seek_is_told_of_and_left_where_it_was_read() -> None:
    data = cut("h264_open_gop.mkv")
    with tricodec.Demuxer(io.BytesIO(data)) as demuxer:
        first = [packet.pts for packet in demuxer]
        assert "its segment ends at byte" in demuxer.ends_early
        demuxer.seek(0)
        assert [packet.pts for packet in demuxer] == first


@pytest.mark.parametrize("name", ["truncated.ts", "zeroed.mp4"])
def test_damage_is_counted_alike_however_many_threads_decode(name: str, caplog: pytest.LogCaptureFixture) -> None:
    clip = media.generated(name)
    counts = {}
    for num_workers in (1, 4):
        with tricodec.FrameReader(clip, num_workers=num_workers) as reader:
            for _ in reader:
                pass
            counts["in order", num_workers] = len(reader.issues)
        with tricodec.FrameReader(clip, num_workers=num_workers) as reader:
            reader[len(reader) - 1]
            reader.frames(range(0, len(reader), 3))
            counts["here and there", num_workers] = len(reader.issues)
        video = tricodec.decode_video(clip, num_workers=num_workers, size=(18, 32))
        counts["decode_video", num_workers] = video.num_damaged_packets
        assert caplog.text.count("this and what follows is in issues") == 3
        caplog.clear()
    result = tricodec.transcode(clip, None, format="mp4", num_threads=1, options={"preset": "ultrafast"})

    assert result.num_damaged_packets > 0
    assert set(counts.values()) == {result.num_damaged_packets}, counts


@pytest.mark.parametrize("num_workers", [1, 2])
def test_transcode_counts_the_cut(num_workers: int, caplog: pytest.LogCaptureFixture) -> None:
    source = cut("h264_open_gop.mkv")

    result = tricodec.transcode(source, None, format="mp4", options={"preset": "ultrafast"}, num_workers=num_workers)

    assert (result.num_frames, result.num_damaged_packets) == (33, 1)
    assert caplog.text.count("ends early") == 1
