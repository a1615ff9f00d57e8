# SPDX-License-Identifier: Apache-2.0
"""fn.tricodec.read_video on webdataset archives with the indexes of DALI's wds2idx; DALI's own reader is the oracle."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tricodec
from dali_testing import reading_pipeline, sequences_of, write_archive
from media import generated

pytestmark = pytest.mark.needs_dali

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
