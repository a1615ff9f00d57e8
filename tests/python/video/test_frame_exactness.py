# SPDX-License-Identifier: Apache-2.0
"""Frame i is the i-th frame that ffmpeg writes, for every clip, by every path through FrameReader."""

from __future__ import annotations

import hashlib
import os
import random
import struct
import subprocess
import sys
from functools import cache
from pathlib import Path

import cropped_clips
import media
import media_recipes
import numpy as np
import pytest
import tricodec
from cropped_clips import HEIGHT, WIDTH, Kind

CLIPS = [
    "h264_bframes.mp4", "h264_open_gop.mkv", "h264_one_gop.mp4", "h264_intra_only.mp4", "h264.ts",
    "h264_missing_first_key.ts", "h264_missing_first_key.h264", "h264_nonzero_start.mkv", "h264_edit_list.mp4",
    "h264_vfr.mkv", "h264_raw.h264", "h264_mbaff.ts", "h264_intra_refresh.mp4", "h264_two_videos.mkv", "h264.avi",
    "h264_fragmented.mp4", "h264_faststart.mp4", "h264_422_10.mkv", "h264_rgb.mkv", "h264_444_odd.mkv",
    "h264_cropped.mp4", "h264_rot90.mp4", "h264_size_change.h264", "hevc.mp4", "hevc_open_gop.mkv", "hevc_layers.mkv",
    "hevc10.mkv", "hevc_raw.hevc", "hevc.ts", "vp8.webm", "vp9.webm", "vp9.ivf", "vp9_shown_again.webm", "av1.mp4",
    "av1.ivf", "av1_raw.obu", "mpeg1.mpg", "mpeg2.ts", "mpeg4.avi", "mjpeg.avi", "n_vops.avi", "h263.avi",
    "h264_open.mxf",
]  # fmt: skip


@cache
def oracle(name: str) -> list[str]:
    return media.ffmpeg_framemd5(media.generated(name))


def shuffled(count: int, most: int) -> list[int]:
    order = list(range(count))
    random.Random(5).shuffle(order)
    return order[:most]


@pytest.mark.parametrize("name", CLIPS)
def test_iteration_of_a_path_bytes_and_a_file_object_gives_ffmpegs_frames(name: str) -> None:
    path = media.generated(name)
    expected = oracle(name)
    for source in (path, path.read_bytes()):
        with tricodec.FrameReader(source) as reader:
            assert [frame.md5() for frame in reader] == expected
    with path.open("rb") as file, tricodec.FrameReader(file) as reader:
        assert len(reader) == len(expected)
        assert reader[len(expected) // 2].md5() == expected[len(expected) // 2]
        assert reader[0].md5() == expected[0]


@pytest.mark.parametrize("name", CLIPS)
def test_random_access_and_a_list_in_any_order_give_ffmpegs_frames(name: str) -> None:
    expected = oracle(name)
    with tricodec.FrameReader(media.generated(name)) as reader:
        for i in shuffled(len(expected), 12):
            assert reader[i].md5() == expected[i], i

        assert len(reader) == len(expected)
    order = shuffled(len(expected), len(expected))
    order += order[:9]
    with tricodec.FrameReader(media.generated(name), num_workers=3) as reader:
        frames = reader.frames(order)

    assert [frame.md5() for frame in frames] == [expected[i] for i in order]


@pytest.mark.parametrize("name", CLIPS)
def test_sparse_reads_give_ffmpegs_frames(name: str) -> None:
    """Decoding leaves out what was not asked for and nothing refers to."""
    expected = oracle(name)
    with tricodec.FrameReader(media.generated(name), num_workers=2) as reader:
        for first, stride in ((0, 8), (2, 5)):
            frames = reader.frames(range(first, len(expected), stride))

            assert [frame.md5() for frame in frames] == expected[first::stride], (first, stride)

    with tricodec.FrameReader(media.generated(name), num_workers=1) as reader:
        assert [reader[i].md5() for i in range(1, len(expected), 3)] == expected[1::3]
        assert [frame.md5() for frame in reader.iterate(stride=4)] == expected[::4]
        assert [frame.md5() for frame in reader.iterate(stride=13)] == expected[::13]


@pytest.mark.parametrize("name", CLIPS)
def test_reading_on_in_pieces_gives_ffmpegs_frames(name: str) -> None:
    """A decoder continues where the piece before ended."""
    expected = oracle(name)
    with tricodec.FrameReader(media.generated(name)) as reader:
        found = []
        for start in range(0, len(expected), 7):
            found += [frame.md5() for frame in reader.frames(range(start, min(start + 7, len(expected))))]

    assert found == expected


@pytest.mark.parametrize("name", ["h264_rot90.mp4", "h264_rot180.mp4", "h264_rot270.mp4", "h264_mirrored.mp4"])
def test_the_transform_stands_pictures_upright_as_ffmpeg_does(name: str) -> None:
    path = media.generated(name)
    turned = media.run_ffmpeg_raw(path, ("-frames:v", "1"), autorotate=True)  # starts with the luma plane
    with tricodec.FrameReader(path) as reader:
        # Full range keeps luma as it is, so that the pixels can be compared one by one.
        luma = reader.batch([0], color="gray", range="full")[0]

    assert turned[: luma.size] == luma.tobytes()


@pytest.mark.parametrize("clip", media.manifest(), ids=lambda clip: clip.name)
def test_real_clips_have_their_published_frames(clip: media.Clip) -> None:
    total = hashlib.md5(usedforsecurity=False)
    with tricodec.FrameReader(clip.path, stream_index=clip.stream_index) as reader:
        for frame in reader:
            assert (frame.width, frame.height) == (clip.width, clip.height)
            total.update(frame.pack())
        assert len(reader) == clip.num_frames
    assert total.hexdigest() == clip.md5


@pytest.mark.parametrize("name", ["truncated.mp4", "audio_only.m4a"])
def test_files_without_frames_say_so(name: str) -> None:
    with pytest.raises((tricodec.CorruptDataError, tricodec.UnsupportedError), match=name):
        tricodec.FrameReader(media.generated(name))


@pytest.mark.parametrize("name", ["h264_vfr.mkv", "h264_nonzero_start.mkv"])
def test_times_are_those_of_the_container(name: str) -> None:
    path = media.generated(name)
    expected = media.ffprobe_times(path)

    with tricodec.FrameReader(path) as reader:
        assert (expected[0] > 0) is (name == "h264_nonzero_start.mkv")
        assert reader.pts_seconds.tolist() == pytest.approx(expected, abs=1e-9)
        assert [frame.pts_seconds for frame in reader] == pytest.approx(expected, abs=1e-9)
        assert reader.index_at(expected[7] + 0.001) == 7


@pytest.mark.parametrize(("kind", "crop"), cropped_clips.CASES, ids=cropped_clips.case_id)
def test_every_frame_is_the_crop_of_the_whole_picture(
    kind: Kind, crop: tuple[int, int, int, int], tmp_path: Path
) -> None:
    left, right, top, bottom = crop
    with tricodec.FrameReader(cropped_clips.cropped(kind, crop, tmp_path), device="cpu") as reader:
        frames = list(reader)
        again = reader[4]

    expected = cropped_clips.cut(kind, crop)
    assert {(frame.width, frame.height) for frame in frames} == {(WIDTH - left - right, HEIGHT - top - bottom)}
    assert all(frame.pack() == wanted for frame, wanted in zip(frames, expected, strict=True))
    assert again.pack() == expected[4]


@pytest.mark.parametrize("suffix", [".mp4", ".ts"])
@pytest.mark.parametrize("codec", ["h264", "hevc"])
def test_containers_change_nothing(codec: str, suffix: str, tmp_path: Path) -> None:
    kind, crop = Kind(codec, "yuv420p"), (26, 14, 20, 12)
    with tricodec.FrameReader(cropped_clips.cropped(kind, crop, tmp_path, suffix), device="cpu") as reader:
        expected = cropped_clips.cut(kind, crop)
        assert all(frame.pack() == wanted for frame, wanted in zip(reader, expected, strict=True))
        assert (reader.stream.width, reader.stream.height) == (216, 192)


def test_a_cropped_picture_is_transformed_like_the_same_picture_cut_out(tmp_path: Path) -> None:
    """Its planes begin where no kernel would have put them."""
    kind, crop = Kind("h264", "yuv420p"), (26, 14, 20, 12)
    transform = tricodec.Transform(size=(48, 48), dtype="float32", layout="CHW")
    with tricodec.FrameReader(cropped_clips.cropped(kind, crop, tmp_path), device="cpu") as reader:
        batch = reader.batch(slice(None), transform)
        frames = list(reader)

    copies = [tricodec.Frame.from_planes([np.array(p) for p in f.planes], f.format, color=f.color) for f in frames]
    np.testing.assert_array_equal(batch, np.stack([transform(copy) for copy in copies]))


def states_size(data: bytes, width: int, height: int) -> bytes:
    """Changes the size in an MP4 file's sample entry (ISO/IEC 14496-12, 12.1.3)."""
    at = data.index(b"avc1", data.index(b"stsd")) + 4 + 24
    return data[:at] + struct.pack(">HH", width, height) + data[at + 4 :]


def test_h264_follows_a_container_that_cuts_off_less_than_a_macroblock(tmp_path: Path) -> None:
    """As libavcodec does in every version, at the right and the bottom."""
    source = media.generated("h264_bframes.mp4")
    path = tmp_path / "smaller.mp4"
    path.write_bytes(states_size(source.read_bytes(), 318, 178))
    with tricodec.FrameReader(source, device="cpu") as reader:
        expected = [[np.asarray(plane) for plane in frame.planes] for frame in reader]

    with tricodec.FrameReader(path, device="cpu") as reader:
        frames = list(reader)

    assert {(frame.width, frame.height) for frame in frames} == {(318, 178)}
    assert [frame.md5() for frame in frames] == media.ffmpeg_framemd5(path)
    for frame, (luma, *_) in zip(frames, expected, strict=True):
        np.testing.assert_array_equal(np.asarray(frame.planes[0]), luma[:178, :318])


SHOWN_AGAIN = ["vp9_shown_again.ivf", "vp9_shown_again.webm"]
"""VP9 packets that only show an earlier picture again (show_existing_frame) are frames with times of their own."""


@pytest.mark.parametrize("name", SHOWN_AGAIN)
def test_each_packet_that_shows_a_picture_is_a_frame_with_its_time(name: str) -> None:
    path = media.generated(name)
    packets = media_recipes.ivf_packets(media.generated("vp9_shown_again.ivf").read_bytes())
    assert sum(packet[0] & 0x08 != 0 for packet in packets) > 10
    times = media.ffprobe_times(path)
    with tricodec.FrameReader(path, device="cpu") as reader:
        frames = list(reader)

        assert [frame.md5() for frame in frames] == media.ffmpeg_framemd5(path)
        assert [frame.pts_seconds for frame in frames] == pytest.approx(times)
        for i in (4, 5, 30, 11, len(frames) - 1, 29, 0):
            assert (reader[i].md5(), reader[i].pts) == (frames[i].md5(), frames[i].pts), i


@pytest.mark.parametrize("name", SHOWN_AGAIN)
def test_their_frames_are_numbered_without_decoding(name: str) -> None:
    code = f"import tricodec\nr = tricodec.FrameReader({str(media.generated(name))!r}, device='cpu')\n"
    code += "list(r)\nr.frames([60, 4, 33])\nassert not r.issues, r.issues\n"
    environment = {**os.environ, "TRICODEC_LOG": "info"}
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=environment, check=False)

    assert result.returncode == 0, result.stderr
    assert "decoding vp9 by" in result.stderr
    assert "numbering the frames" not in result.stderr
