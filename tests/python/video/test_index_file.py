# SPDX-License-Identifier: Apache-2.0
"""Indexes saved for the next time (`FrameReader(source, index=...)`)."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest
import tricodec
from media import ffmpeg, ffmpeg_framemd5, generated

# How damage is concealed depends on the number of threads; one is the definition (docs/explanation/architecture.md).
ONE_THREAD = ("-threads", "1")


class CountingFile:
    """A file-like object that counts the bytes read from it."""

    def __init__(self, path: Path) -> None:
        self._file = path.open("rb")
        self.num_bytes = 0

    def read(self, size: int = -1) -> bytes:
        data = self._file.read(size)
        self.num_bytes += len(data)
        return data

    def seek(self, offset: int, whence: int = os.SEEK_SET) -> int:
        return self._file.seek(offset, whence)

    def close(self) -> None:
        self._file.close()


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
        file = CountingFile(clip)
        with tricodec.FrameReader(file, index=index) as reader:
            opened = file.num_bytes
            len(reader)
            read.append(file.num_bytes - opened)
        file.close()
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
        file = CountingFile(clip)
        with tricodec.FrameReader(file, index=index) as reader:
            opened = file.num_bytes
            assert len(reader) == 60 * len(ffmpeg_framemd5(source))
            num_bytes.append(file.num_bytes - opened)
            md5s_of_a_frame.add(reader[len(reader) * 3 // 4].md5())
            assert file.num_bytes - opened - num_bytes[-1] < clip.stat().st_size / 8
        file.close()
    without, saved = num_bytes

    assert without >= 0.9 * clip.stat().st_size - opened
    assert saved == 0
    assert len(md5s_of_a_frame) == 1


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


def test_damaged_index_is_built_anew(tmp_path: Path) -> None:
    clip = generated("h264_bframes.mp4")
    index = tmp_path / "clip.index"
    with tricodec.FrameReader(clip, index=index) as reader:
        num_frames = len(reader)
    whole = index.read_bytes()
    for size in range(0, len(whole), max(1, len(whole) // 40)):
        index.write_bytes(whole[:size])
        with tricodec.FrameReader(clip, index=index) as reader:
            assert len(reader) == num_frames
        assert index.read_bytes() == whole
    # A file that does not begin as an index does is none, and stays (test_output_files.py).
    for position in range(len(b"tricodec index "), len(whole), max(1, len(whole) // 60)):
        index.write_bytes(whole[:position] + bytes([whole[position] ^ 0x55]) + whole[position + 1 :])
        with tricodec.FrameReader(clip, index=index) as reader:
            assert len(reader) == num_frames
        assert index.read_bytes() == whole
