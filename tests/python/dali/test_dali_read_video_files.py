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


def test_read_video_reads_the_files_of_a_list(tmp_path: Path) -> None:
    clip = str(generated(CLIP))
    lines = listed(tmp_path, f"{clip} 5", "", f"{clip} -2 10", f"{clip}\t4   20 40")

    assert firsts(8, file_list=lines, file_list_format="frames", sequence_length=20) == [
        (5, 0), (5, 20), (-2, 10), (-2, 30), (4, 20), (5, 0), (5, 20), (-2, 10),
    ]  # fmt: skip


@pytest.mark.parametrize("rounding", ["start_down_end_up", "start_up_end_down", "all_up", "all_down"])
@pytest.mark.parametrize(
    ("format", "start", "end"),
    [("timestamps", "0.41", "0.83"), ("frames", "3", "17"), ("frames", "-20", "-10")],
)
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


REFUSED: dict[str, tuple[dict[str, Any], str]] = {
    "no_files": ({}, r"exactly one of filenames, file_root, file_list and paths .*0 are given"),
    "labels_of_a_root": ({"file_root": "/tmp", "labels": [1]}, "labels are for filenames"),
    "no_length": ({"filenames": ["a.mp4"], "sequence_length": 0}, "sequence_length is 0"),
    "pad_mode": ({"filenames": ["a.mp4"], "pad_mode": "zeros"}, "pad_mode 'zeros' is not one of none, constant, edge"),
    "list_format": ({"filenames": ["a.mp4"], "file_list_format": "ms"}, "file_list_format 'ms' is not one of frames"),
    "shard": ({"filenames": ["a.mp4"], "shard_id": 2, "num_shards": 2}, r"shard_id is 2; it must be from 0 .*1"),
    "on_error": ({"filenames": ["a.mp4"], "on_error": "skip"}, "on_error 'skip' is not one of raise, empty"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_read_video_refuses_wrong_arguments_when_the_pipeline_is_built(name: str) -> None:
    words, message = REFUSED[name]

    with pytest.raises(ValueError, match=message):
        reading_pipeline(batch_size=1, **({"sequence_length": 4} | words))


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("a.mp4 1 2 3 4", r"line 1 of file_list .* is 'a.mp4 1 2 3 4'; a line is: file \[label"),
        ("a.mp4 1.5", "line 1 of file_list"),
    ],
)
def test_read_video_names_the_line_of_a_list_that_it_cannot_read(line: str, message: str, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=message):
        reading_pipeline(batch_size=1, file_list=listed(tmp_path, line), sequence_length=4)


def broken(tmp_path: Path) -> list[str]:
    garbage = tmp_path / "garbage.mp4"
    garbage.write_bytes(bytes(range(256)) * 20)
    return [str(generated(CLIP)), str(garbage), str(tmp_path / "missing.mp4"), str(generated("hevc.mp4"))]


def test_read_video_names_the_file_that_cannot_be_opened(tmp_path: Path) -> None:
    with pytest.raises(RuntimeError, match=r"File 1 of 4 \(.*garbage.mp4\): .* \[1 more files failed\]; on_error="):
        reading_pipeline(batch_size=1, filenames=broken(tmp_path), sequence_length=4)


def test_read_video_leaves_out_files_that_cannot_be_opened_when_told_to(tmp_path: Path) -> None:
    files = broken(tmp_path)

    assert firsts(3, filenames=files, labels=[], sequence_length=50, on_error="empty") == [(0, 0), (3, 0), (0, 0)]


@pytest.mark.parametrize(
    ("clip", "is_told"),
    [("zeroed.mp4", True), ("zeroed.webm", False)],
)
@pytest.mark.parametrize("shuffle", [False, True])
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
