# SPDX-License-Identifier: Apache-2.0
"""Frame i is the i-th frame that ffmpeg writes, for every clip, by every path through FrameReader."""

from __future__ import annotations

import hashlib
import random
from collections.abc import Callable
from functools import cache
from pathlib import Path
from unittest import mock

import media
import numpy as np
import pytest
import tricodec
import unusual_clips
from media_recipes import RECIPES

UNREADABLE = ("truncated.mp4", "audio_only.m4a")
READABLE = [name for name in RECIPES if name not in UNREADABLE]
SMALL = [name for name in READABLE if name != "h264_1080p.mp4"]  # which takes as long as twenty others
# Concealment depends on the number of threads; one thread is the definition (docs/explanation/architecture.md).
ONE_THREAD = ("-threads", "1")
# In front of a filter that keeps all pictures each has memory of its own, zeros at first.
OWN_MEMORY = ("-vf", "reverse,reverse")
DAMAGED = ("zeroed", "flipped", "truncated")


@cache
def oracle(name: str) -> list[str]:
    path = media.generated(name)
    expected = media.ffmpeg_framemd5(path, input_options=ONE_THREAD)
    if not name.startswith(DAMAGED):
        return expected
    # FFmpeg 7 leaves open what follows damage in a picture: where it does not agree with itself, it is no reference.
    other = media.ffmpeg_framemd5(path, input_options=ONE_THREAD, output_options=OWN_MEMORY)
    return [one if one == two else mock.ANY for one, two in zip(expected, other, strict=True)]


@pytest.mark.parametrize("name", [name for name in READABLE if name.startswith(DAMAGED)])
def test_what_ffmpeg_leaves_open_of_damaged_pictures_is_nearly_its_own(name: str) -> None:
    expected = media.ffmpeg_frames(media.generated(name), input_options=ONE_THREAD, output_options=OWN_MEMORY)
    left_open = [number for number, md5 in enumerate(oracle(name)) if md5 is mock.ANY]

    with tricodec.FrameReader(media.generated(name)) as reader:
        frames = {number: np.frombuffer(reader[number].pack(), np.uint8) for number in left_open}

    assert len(left_open) <= len(expected) / 3
    for number, frame in frames.items():
        assert np.mean(frame != np.frombuffer(expected[number], np.uint8)) < 0.25, number


def shuffled(count: int, most: int) -> list[int]:
    order = list(range(count))
    random.Random(5).shuffle(order)
    return order[:most]


@pytest.mark.parametrize("name", READABLE)
@pytest.mark.sweep(4)
def test_iteration_gives_ffmpegs_frames(name: str) -> None:
    with tricodec.FrameReader(media.generated(name)) as reader:
        frames = [frame.md5() for frame in reader]

    assert frames == oracle(name)


@pytest.mark.parametrize("name", SMALL)
@pytest.mark.sweep(4)
def test_random_access_gives_ffmpegs_frames(name: str) -> None:
    expected = oracle(name)
    with tricodec.FrameReader(media.generated(name)) as reader:
        for i in shuffled(len(expected), 12):
            assert reader[i].md5() == expected[i], i

        assert len(reader) == len(expected)


@pytest.mark.parametrize("name", ["h264_bframes.mp4", "hevc.mp4", "vp9.webm", "av1.mp4", "mpeg2.ts"])
@pytest.mark.parametrize("num_workers", [1, 3])
def test_calls_for_one_frame_after_the_other_decode_each_once_up_to_the_last(name: str, num_workers: int) -> None:
    expected = oracle(name)
    with tricodec.FrameReader(media.generated(name), num_workers=num_workers) as reader:
        assert [reader.frames([i])[0].md5() for i in range(len(reader))] == expected
        assert reader.stats.num_packets_decoded <= len(expected) + 8


@pytest.mark.parametrize("name", SMALL)
@pytest.mark.sweep(4)
def test_a_list_of_frames_in_any_order_gives_ffmpegs_frames(name: str) -> None:
    expected = oracle(name)
    order = shuffled(len(expected), len(expected))
    order += order[:9]
    with tricodec.FrameReader(media.generated(name), num_workers=3) as reader:
        frames = reader.frames(order)

    assert [frame.md5() for frame in frames] == [expected[i] for i in order]


@pytest.mark.parametrize("name", SMALL)
@pytest.mark.sweep(4)
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


@pytest.mark.parametrize("name", ["h264_bframes.mp4", "hevc.mp4", "vp9.webm", "av1.mp4"])
@pytest.mark.parametrize("num_workers", [1, 3])
def test_iteration_with_a_stride_decodes_nothing_between_a_wanted_frame_and_the_next_key_frame(
    name: str, num_workers: int
) -> None:
    expected = oracle(name)
    with tricodec.FrameReader(media.generated(name), num_workers=num_workers) as reader:
        entries = reader.key_frames
        gop = entries[1]
        frames = list(reader.iterate(stride=gop + 1))
        decoded = reader.stats.num_packets_decoded
    most = sum(frame.index - max(entry for entry in entries if entry <= frame.index) + 1 for frame in frames)

    assert [frame.md5() for frame in frames] == expected[:: gop + 1]
    assert decoded <= most + 4 * len(frames)  # pictures that are shown later than one that refers to them
    assert decoded < len(expected) / 2


@pytest.mark.parametrize("name", SMALL)
@pytest.mark.sweep(4)
def test_reading_on_in_pieces_gives_ffmpegs_frames(name: str) -> None:
    """A decoder continues where the piece before ended."""
    expected = oracle(name)
    with tricodec.FrameReader(media.generated(name)) as reader:
        found = []
        for start in range(0, len(expected), 7):
            found += [frame.md5() for frame in reader.frames(range(start, min(start + 7, len(expected))))]

    assert found == expected


@pytest.mark.parametrize("name", SMALL)
@pytest.mark.sweep(4)
def test_bytes_and_file_objects_give_the_same_frames_as_a_path(name: str) -> None:
    path = media.generated(name)
    expected = oracle(name)

    with tricodec.FrameReader(path.read_bytes()) as reader:
        assert [frame.md5() for frame in reader] == expected
    with path.open("rb") as file, tricodec.FrameReader(file) as reader:
        assert len(reader) == len(expected)
        assert reader[len(expected) // 2].md5() == expected[len(expected) // 2]
        assert reader[0].md5() == expected[0]


@pytest.mark.parametrize("name", ["h264_rot90.mp4", "h264_rot180.mp4", "h264_rot270.mp4", "h264_mirrored.mp4"])
def test_the_transform_stands_pictures_upright_as_ffmpeg_does(name: str) -> None:
    path = media.generated(name)
    turned = media.run_ffmpeg_raw(path, ("-frames:v", "1"), autorotate=True)  # starts with the luma plane
    with tricodec.FrameReader(path) as reader:
        # Full range keeps luma as it is, so that the pixels can be compared one by one.
        luma = reader.batch([0], color="gray", range="full")[0]

    assert turned[: luma.size] == luma.tobytes()


@pytest.mark.parametrize("clip", media.manifest(), ids=lambda clip: clip.name)
@pytest.mark.sweep(3)
def test_real_clips_have_their_published_frames(clip: media.Clip) -> None:
    total = hashlib.md5(usedforsecurity=False)
    with tricodec.FrameReader(clip.path, stream_index=clip.stream_index) as reader:
        for frame in reader:
            assert (frame.width, frame.height) == (clip.width, clip.height)
            total.update(frame.pack())
        assert len(reader) == clip.num_frames
    assert total.hexdigest() == clip.md5


@pytest.mark.parametrize("clip", media.manifest(), ids=lambda clip: clip.name)
@pytest.mark.sweep(3)
def test_real_clips_have_their_published_frames_in_random_order(clip: media.Clip) -> None:
    expected = clip.frame_md5s()
    order = shuffled(clip.num_frames, 8)
    with tricodec.FrameReader(clip.path, stream_index=clip.stream_index) as reader:
        assert [reader[i].md5() for i in order] == [expected[i] for i in order]


@pytest.mark.parametrize("name", UNREADABLE)
def test_files_without_frames_say_so(name: str) -> None:
    with pytest.raises((tricodec.CorruptDataError, tricodec.UnsupportedError), match=name):
        tricodec.FrameReader(media.generated(name))


def test_times_are_those_of_the_container() -> None:
    path = media.generated("h264_vfr.mkv")
    expected = media.ffprobe_times(path)

    with tricodec.FrameReader(path) as reader:
        assert reader.pts_seconds.tolist() == pytest.approx(expected, abs=1e-9)
        assert [frame.pts_seconds for frame in reader] == pytest.approx(expected, abs=1e-9)


def test_times_that_do_not_start_at_zero_are_kept() -> None:
    path = media.generated("h264_nonzero_start.mkv")
    expected = media.ffprobe_times(path)

    with tricodec.FrameReader(path) as reader:
        assert expected[0] > 0
        assert reader.pts_seconds.tolist() == pytest.approx(expected, abs=1e-9)
        assert reader.index_at(expected[7] + 0.001) == 7


@pytest.mark.parametrize("num_workers", [1, 2])
@pytest.mark.parametrize("make", unusual_clips.MPEG4)
def test_each_frame_of_unusual_mpeg4_is_that_of_an_iteration(
    make: Callable[[Path], Path], num_workers: int, tmp_path: Path
) -> None:
    path = make(tmp_path)
    with tricodec.FrameReader(path, device="cpu", num_workers=1) as reader:
        iterated = [frame.md5() for frame in reader]
    expected = media.ffmpeg_framemd5(path, input_options=("-threads", "1"))

    assert iterated == expected
    with tricodec.FrameReader(path, device="cpu", num_workers=num_workers) as reader:
        assert [frame.md5() for frame in reader] == expected
        assert [reader[i].md5() for i in reversed(range(len(reader)))] == expected[::-1]
        assert reader.num_damaged_packets == 0
    for number in range(len(expected)):
        with tricodec.FrameReader(path, device="cpu", num_workers=num_workers) as reader:
            assert reader[number].md5() == expected[number], number
