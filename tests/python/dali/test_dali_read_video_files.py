# SPDX-License-Identifier: Apache-2.0
"""Which files and archives fn.tricodec.read_video reads, and what it says of wrong arguments and broken files."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tricodec
from dali_testing import read_batches, reading_pipeline, sequences_of, write_archive
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


CLIPS = ["h264_bframes.mp4", "vp9.webm", "hevc.mp4", "av1.mp4", "vp9_odd.webm"]


@pytest.fixture
def shards(tmp_path: Path) -> dict[str, list[str]]:
    """Two archives of samples with a video, a label and a text."""
    members: list[list[tuple[str, bytes]]] = [[], []]
    for i, clip in enumerate(CLIPS):
        data = generated(clip).read_bytes()
        members[i % 2] += [
            (f"data/{i:03}.cls", f"{10 + i}\n".encode()),
            (f"data/{i:03}{Path(clip).suffix}", data),
            (f"data/{i:03}.json", b"{}"),
        ]
    pairs = [write_archive(tmp_path, f"shard-{i}", each) for i, each in enumerate(members)]
    return {"paths": [archive for archive, _ in pairs], "index_paths": [index for _, index in pairs]}


ORDER = [0, 2, 4, 1, 3]  # of the clips in the two archives


def test_read_video_reads_the_videos_of_archives(shards: dict[str, list[str]]) -> None:
    pipe = reading_pipeline(batch_size=5, sequence_length=10, step=100, label_ext="cls", size=(48, 64), **shards)

    batch = sequences_of(pipe.run())

    for sequence, i in zip(batch, ORDER, strict=True):
        expected = tricodec.decode_video(generated(CLIPS[i]), count=10, size=(48, 64), device="cpu")
        assert sequence.frames.tobytes() == expected.frames.tobytes()
        assert sequence.pts.tolist() == expected.pts_seconds.tolist()
        assert sequence.more[0].tolist() == [10 + i]
        assert sequence.source.endswith(f"shard-{i % 2}.tar/data/{i:03}{Path(CLIPS[i]).suffix}")


def test_it_reads_the_samples_that_dalis_reader_of_webdatasets_reads(shards: dict[str, list[str]]) -> None:
    import tricodec.dali  # noqa: F401  (registers the operators)
    from nvidia.dali import Pipeline, fn

    pipe = Pipeline(batch_size=5, num_threads=2, device_id=None)
    with pipe:
        encoded = fn.readers.webdataset(ext=["mp4;webm"], name="theirs", **shards)
        pipe.set_outputs(*fn.tricodec.decode_video(encoded, count=4, size=(48, 64)))
    pipe.build()
    frames, _ = pipe.run()

    mine = reading_pipeline(batch_size=5, sequence_length=4, step=100, ext="mp4;webm", size=(48, 64), **shards)

    assert mine.reader_meta("reader")["epoch_size"] == pipe.reader_meta("theirs")["epoch_size"] == 5
    for i, sequence in enumerate(sequences_of(mine.run())):
        assert np.array_equal(sequence.frames, frames.at(i))


def test_sequences_of_archives_are_shuffled_sharded_and_resumed_like_those_of_files(
    shards: dict[str, list[str]],
) -> None:
    words: dict[str, Any] = {
        "batch_size": 4, "sequence_length": 8, "random_shuffle": True, "seed": 5, "num_shards": 2, "shard_id": 1,
        "size": (32, 32), "options": {"enable_checkpointing": True}, "max_open_files": 2,
    }  # fmt: skip
    pipe = reading_pipeline(**words, **shards)
    for _ in range(3):
        pipe.run()
    checkpoint = pipe.checkpoint()
    expected = [sequence.frames.tobytes() for _ in range(4) for sequence in sequences_of(pipe.run())]
    words["options"]["checkpoint"] = checkpoint

    again = reading_pipeline(**words, **shards)

    assert [sequence.frames.tobytes() for _ in range(4) for sequence in sequences_of(again.run())] == expected
    assert len(set(expected)) > 8


def damage_offset(index: Path) -> None:
    version, line = index.read_text().splitlines()
    words = line.split()
    words[1] = str(10**9)
    index.write_text(f"{version}\n{' '.join(words)}\n")


BROKEN: dict[str, tuple[Any, type[Exception], str]] = {
    "missing": (Path.unlink, RuntimeError, "the index '.*' cannot be read; DALI's wds2idx makes it"),
    "not_an_index": (
        lambda path: path.write_text("hello\n"),
        RuntimeError,
        "begins with 'hello'; an index of DALI's wds2idx begins",
    ),
    "words": (
        lambda path: path.write_text("v1.2 1\nmp4 x 5 a.mp4\n"),
        RuntimeError,
        "line 2 of the index .* is 'mp4 x 5 a.mp4'",
    ),
    "past_the_end": (damage_offset, RuntimeError, r"File 0 of 1 .*bytes, and not the .* make its index again"),
}


@pytest.mark.parametrize("case", BROKEN)
def test_an_index_that_does_not_fit_is_an_error(case: str, tmp_path: Path) -> None:
    damage, error, message = BROKEN[case]
    archive, index = write_archive(tmp_path, "a", [("0.webm", generated("vp9.webm").read_bytes())])
    damage(Path(index))

    with pytest.raises(error, match=message):
        reading_pipeline(batch_size=1, paths=archive, index_paths=index, sequence_length=3)
