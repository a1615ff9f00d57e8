# SPDX-License-Identifier: Apache-2.0
"""Which files fn.tricodec.read_video reads, what it says of wrong arguments, and how it handles broken files."""

from __future__ import annotations

import re
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tricodec
from dali_testing import read_batches, reading_pipeline
from media import generated

pytestmark = pytest.mark.needs_dali

CLIP = "h264_bframes.mp4"


def listed(tmp_path: Path, *lines: str) -> str:
    path = tmp_path / "list.txt"
    path.write_text("".join(line + "\n" for line in lines))
    return str(path)


def firsts(num: int, **arguments: Any) -> list[tuple[int, int]]:
    """Label and first frame of so many sequences."""
    (batch,) = read_batches(1, batch_size=num, enable_frame_num=True, **arguments)
    return [(int(sequence.more[0][0]), int(sequence.more[1][0])) for sequence in batch]


def test_read_video_has_no_labels_where_none_are_given() -> None:
    (batch,) = read_batches(1, batch_size=1, filenames=str(generated(CLIP)), sequence_length=2)

    assert batch[0].more == ()


def test_read_video_gives_the_labels_of_its_files() -> None:
    files = [str(generated(clip)) for clip in (CLIP, "hevc.mp4")]

    (batch,) = read_batches(1, batch_size=4, filenames=files, labels=[7, -3], sequence_length=25)

    assert [sequence.more[0].tolist() for sequence in batch] == [[7], [7], [-3], [-3]]
    assert batch[0].more[0].dtype == np.int32
    assert [sequence.source for sequence in batch] == [files[0], files[0], files[1], files[1]]


def test_read_video_labels_the_directories_of_a_root_in_their_order(tmp_path: Path) -> None:
    for directory, clip in (("b_second", "hevc.mp4"), ("a_first", CLIP), ("c_third", "vp9.webm"), ("b_second", CLIP)):
        (tmp_path / directory).mkdir(exist_ok=True)
        shutil.copy(generated(clip), tmp_path / directory / clip)
    (tmp_path / "a_first" / ".hidden").write_text("no video")
    (tmp_path / ".cache").mkdir()

    (batch,) = read_batches(1, batch_size=4, file_root=str(tmp_path), sequence_length=50)

    assert [int(sequence.more[0][0]) for sequence in batch] == [0, 1, 1, 2]
    expected = [f"a_first/{CLIP}", f"b_second/{CLIP}", "b_second/hevc.mp4", "c_third/vp9.webm"]
    assert [sequence.source for sequence in batch] == [str(tmp_path / name) for name in expected]


def test_read_video_reads_a_root_without_directories(tmp_path: Path) -> None:
    for clip in ("vp9.webm", CLIP):
        shutil.copy(generated(clip), tmp_path / clip)

    (batch,) = read_batches(1, batch_size=2, file_root=str(tmp_path), sequence_length=50)

    assert [int(sequence.more[0][0]) for sequence in batch] == [0, 0]
    assert [Path(sequence.source).name for sequence in batch] == [CLIP, "vp9.webm"]


def test_read_video_reads_the_files_of_a_list(tmp_path: Path) -> None:
    clip = str(generated(CLIP))
    lines = listed(tmp_path, f"{clip} 5", "", f"{clip} -2 10", f"{clip}\t4   20 40")

    assert firsts(8, file_list=lines, file_list_format="frames", sequence_length=20) == [
        (5, 0), (5, 20), (-2, 10), (-2, 30), (4, 20), (5, 0), (5, 20), (-2, 10),
    ]  # fmt: skip


def test_read_video_numbers_the_files_of_a_list_without_labels(tmp_path: Path) -> None:
    lines = listed(tmp_path, str(generated(CLIP)), str(generated("hevc.mp4")))

    assert firsts(2, file_list=lines, sequence_length=50) == [(0, 0), (1, 0)]


@pytest.mark.parametrize("rounding", ["start_down_end_up", "start_up_end_down", "all_up", "all_down"])
@pytest.mark.parametrize(
    ("format", "start", "end"),
    [
        ("timestamps", "0.5", "1.0"), ("timestamps", "0.41", "0.83"), ("timestamps", "0", "1.93"),
        ("frames", "3", "17"), ("frames", "-20", "-10"), ("frames", "4", "49"), ("frames", "3.5", "7.5"),
    ],
)  # fmt: skip
@pytest.mark.sweep(4)
def test_read_video_reads_the_part_of_a_list_that_dalis_reader_reads(
    format: str, start: str, end: str, rounding: str, tmp_path: Path
) -> None:
    from nvidia.dali import Pipeline, fn

    words: dict[str, Any] = {
        "file_list": listed(tmp_path, f"{generated('vp9.webm')} 1 {start} {end}"),
        "file_list_format": format, "file_list_rounding": rounding, "sequence_length": 1, "enable_frame_num": True,
    }  # fmt: skip
    pipe = Pipeline(batch_size=60, num_threads=2, device_id=None)
    with pipe:
        _, _, number = fn.experimental.readers.video(**words, name="reader")
        pipe.set_outputs(number)
    pipe.build()
    (number,) = pipe.run()

    mine = reading_pipeline(batch_size=60, size=(16, 16), **words)

    assert mine.reader_meta("reader") == pipe.reader_meta("reader")
    assert mine.run()[3].as_array().tolist() == number.as_array().tolist()


@pytest.mark.parametrize(
    ("words", "start", "end", "expected"),
    [
        ({"file_list_include_end": True}, "0.5", "1.0", (12, 25)),
        ({"file_list_include_end": True, "file_list_format": "frames"}, "3", "17", (3, 17)),
        ({"file_list_include_end": True, "file_list_format": "frames"}, "-2", "-1", (48, 49)),
        ({}, "1.23", "", (30, 49)),
        ({}, "0", "100", (0, 49)),
        ({}, "0.48", "0.96", (12, 23)),
        ({"file_list_format": "frames"}, "47", "", (47, 49)),
        ({"file_list_format": "frames"}, "47", "1000", (47, 49)),
        ({"file_list_format": "frames"}, "-1000", "2", (0, 1)),
    ],
)
def test_read_video_reads_the_part_that_a_list_names(
    words: dict[str, Any], start: str, end: str, expected: tuple[int, int], tmp_path: Path
) -> None:
    lines = listed(tmp_path, f"{generated('vp9.webm')} 1 {start} {end}")
    first, last = expected

    pipe = reading_pipeline(
        batch_size=50, file_list=lines, sequence_length=1, size=(16, 16), enable_frame_num=True, **words
    )

    assert pipe.reader_meta("reader")["epoch_size"] == last - first + 1
    assert pipe.run()[3].as_array().ravel()[: last - first + 1].tolist() == list(range(first, last + 1))


def test_read_video_leaves_out_files_that_are_too_short(tmp_path: Path) -> None:
    files = [str(generated("h264_16x16.mp4")), str(generated(CLIP))]
    short = len(tricodec.decode_video(files[0]).frames)
    assert short < 50

    assert firsts(2, filenames=files, labels=[0, 1], sequence_length=short + 1, step=60, size=(16, 16)) == [(1, 0)] * 2


REFUSED: dict[str, tuple[dict[str, Any], str]] = {
    "no_files": ({}, r"exactly one of filenames, file_root, file_list and paths .*0 are given"),
    "two_sources": ({"filenames": ["a.mp4"], "file_root": "/tmp"}, r"exactly one of .*2 are given"),
    "labels_of_a_root": ({"file_root": "/tmp", "labels": [1]}, "labels are for filenames"),
    "too_few_labels": ({"filenames": ["a.mp4", "b.mp4"], "labels": [1]}, r"labels has 1 numbers, filenames 2"),
    "no_length": ({"filenames": ["a.mp4"], "sequence_length": 0}, "sequence_length is 0"),
    "stride": ({"filenames": ["a.mp4"], "stride": 0}, "stride is 0"),
    "step": ({"filenames": ["a.mp4"], "step": 0}, "step is 0"),
    "pad_mode": ({"filenames": ["a.mp4"], "pad_mode": "zeros"}, "pad_mode 'zeros' is not one of none, constant, edge"),
    "pad_twice": (
        {"filenames": ["a.mp4"], "pad_mode": "edge", "pad_sequences": True}, "pad_sequences=True is pad_mode"
    ),
    "fill_value": ({"filenames": ["a.mp4"], "fill_value": 256.0}, r"fill_value is 256.*0 to 255"),
    "frame_num": ({"filenames": ["a.mp4"], "enable_frame_num": "every"}, "enable_frame_num 'every' is not one of none"),
    "list_format": ({"filenames": ["a.mp4"], "file_list_format": "ms"}, "file_list_format 'ms' is not one of frames"),
    "rounding": ({"filenames": ["a.mp4"], "file_list_rounding": "near"}, "file_list_rounding 'near' is not one of"),
    "shard": ({"filenames": ["a.mp4"], "shard_id": 2, "num_shards": 2}, r"shard_id is 2; it must be from 0 .*1"),
    "num_shards": ({"filenames": ["a.mp4"], "num_shards": 0}, "num_shards is 0"),
    "open_files": ({"filenames": ["a.mp4"], "max_open_files": -1}, "max_open_files is -1"),
    "on_error": ({"filenames": ["a.mp4"], "on_error": "skip"}, "on_error 'skip' is not one of raise, empty"),
    "dtype": ({"filenames": ["a.mp4"], "resize": "sharp"}, "sharp"),
}  # fmt: skip


@pytest.mark.parametrize("name", REFUSED)
def test_read_video_refuses_wrong_arguments_when_the_pipeline_is_built(name: str) -> None:
    words, message = REFUSED[name]

    with pytest.raises(ValueError, match=message):
        reading_pipeline(batch_size=1, **({"sequence_length": 4} | words))


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("a.mp4 1 2 3 4", r"line 1 of file_list .* is 'a.mp4 1 2 3 4'; a line is: file \[label"),
        ("a b.mp4", "line 1 of file_list"),
        ("a.mp4 1.5", "line 1 of file_list"),
        ("a.mp4 99999999999", "the label of a file"),
    ],
)
def test_read_video_names_the_line_of_a_list_that_it_cannot_read(line: str, message: str, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=message):
        reading_pipeline(batch_size=1, file_list=listed(tmp_path, line), sequence_length=4)


def test_read_video_refuses_a_list_that_labels_some_files(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="labels 1 of its 2 files"):
        reading_pipeline(batch_size=1, file_list=listed(tmp_path, "a.mp4 1", "b.mp4"), sequence_length=4)


@pytest.mark.parametrize("words", [{"file_list": "/nonexistent/list"}, {"file_root": "/nonexistent"}], ids=repr)
def test_read_video_names_the_list_or_root_that_is_not_there(words: dict[str, str]) -> None:
    with pytest.raises(RuntimeError, match=r"/nonexistent.*cannot be read"):
        reading_pipeline(batch_size=1, sequence_length=4, **words)


def test_read_video_says_how_long_the_longest_file_is_when_all_are_too_short() -> None:
    with pytest.raises(
        ValueError, match=r"no file holds a sequence of 26 frames with stride 2: the longest of 1 has 50 f"
    ):
        reading_pipeline(batch_size=1, filenames=str(generated(CLIP)), sequence_length=26, stride=2)


def test_read_video_refuses_more_shards_than_sequences() -> None:
    with pytest.raises(ValueError, match="there are 5 sequences, fewer than num_shards 6"):
        reading_pipeline(batch_size=1, filenames=str(generated(CLIP)), sequence_length=10, num_shards=6)


def broken(tmp_path: Path) -> list[str]:
    garbage = tmp_path / "garbage.mp4"
    garbage.write_bytes(bytes(range(256)) * 20)
    return [str(generated(CLIP)), str(garbage), str(tmp_path / "missing.mp4"), str(generated("hevc.mp4"))]


def test_read_video_names_the_file_that_cannot_be_opened(tmp_path: Path) -> None:
    with pytest.raises(RuntimeError, match=r"File 1 of 4 \(.*garbage.mp4\): .* \[1 more files failed\]; on_error="):
        reading_pipeline(batch_size=1, filenames=broken(tmp_path), sequence_length=4)


def test_read_video_opens_no_file_before_it_must_with_lazy_init(tmp_path: Path) -> None:
    pipe = reading_pipeline(batch_size=1, filenames=broken(tmp_path), sequence_length=4, lazy_init=True)

    with pytest.raises(RuntimeError, match=r"File 1 of 4 \(.*garbage.mp4\)"):
        pipe.run()


def test_read_video_leaves_out_files_that_cannot_be_opened_when_told_to(tmp_path: Path) -> None:
    files = broken(tmp_path)

    assert firsts(3, filenames=files, labels=[], sequence_length=50, on_error="empty") == [(0, 0), (3, 0), (0, 0)]


def test_read_video_names_a_file_that_has_changed_since_it_was_counted(tmp_path: Path) -> None:
    path = tmp_path / "clip.mp4"
    shutil.copy(generated(CLIP), path)
    options = {"exec_async": False, "exec_pipelined": False, "exec_dynamic": False}
    pipe = reading_pipeline(batch_size=1, filenames=str(path), sequence_length=30, max_open_files=0, options=options)
    shutil.copy(generated("h264_16x16.mp4"), path)
    num_frames = len(tricodec.decode_video(path).frames)
    assert num_frames < 30

    with pytest.raises(RuntimeError, match=rf"\(.*clip.mp4\): it has {num_frames} frames, fewer than when they were"):
        pipe.run()


@pytest.mark.parametrize(
    ("clip", "is_told"),
    [("zeroed.mp4", True), ("truncated.mkv", True), ("zeroed_hevc.mkv", False), ("zeroed.webm", False)],
)
@pytest.mark.parametrize("shuffle", [False, True])
@pytest.mark.sweep(2)
def test_read_video_gives_of_a_damaged_file_what_decode_video_gives(clip: str, is_told: bool, shuffle: bool) -> None:
    batches = read_batches(
        6, batch_size=3, filenames=str(generated(clip)), sequence_length=6, step=5, random_shuffle=shuffle, seed=2,
        enable_frame_num=True, num_damaged_packets=True,
    )  # fmt: skip

    damaged = 0
    for sequence in (sequence for batch in batches for sequence in batch):
        start = int(sequence.more[0][0])
        alone = tricodec.decode_video(generated(clip), start=start, count=6, device="cpu")
        assert sequence.frames.tobytes() == alone.frames.tobytes()
        assert sequence.more[1].tolist() == [alone.num_damaged_packets]
        damaged += alone.num_damaged_packets > 0
    assert (damaged > 0) == is_told  # not every decoder notices


@pytest.mark.parametrize("batch_size", [1, 4])
def test_read_video_empties_the_sequences_that_damage_touches_when_told_to(batch_size: int) -> None:
    clip = generated("zeroed.mp4")
    words: dict[str, Any] = {"on_damage": "error", "on_error": "empty", "enable_frame_num": "sequence"}

    batches = read_batches(8 // batch_size, batch_size=batch_size, filenames=str(clip), sequence_length=6, **words)

    emptied = []
    for i, sequence in enumerate(sequence for batch in batches for sequence in batch):
        alone = tricodec.decode_video(clip, start=6 * i, count=6, device="cpu")
        damaged = alone.num_damaged_packets > 0
        emptied.append(damaged)
        assert len(sequence.frames) == len(sequence.pts) == len(sequence.more[0]) == (0 if damaged else 6)
        assert sequence.frames.shape[1:] == alone.frames.shape[1:]
    assert any(emptied)
    assert not all(emptied)


def test_read_video_fails_the_batch_of_a_damaged_sequence_and_goes_on_with_the_next() -> None:
    clip = generated("zeroed.mp4")
    pipe = reading_pipeline(
        batch_size=1, filenames=str(clip), sequence_length=6, on_damage="error", enable_frame_num=True
    )

    given = []
    failures = []
    for _ in range(8):
        try:
            given.append(int(pipe.run()[2].at(0)[0]))
        except RuntimeError as error:
            failures.append(str(error))
            given.append(-1)

    assert all(re.search(r"Sample 0 of the batch of 1 \(.*zeroed.mp4\): it is damaged: ", each) for each in failures)
    whole = [
        i * 6 if tricodec.decode_video(clip, start=6 * i, count=6).num_damaged_packets == 0 else -1 for i in range(8)
    ]
    assert given == whole
    assert -1 in given
    assert max(given) >= 0
