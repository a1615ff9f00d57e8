# SPDX-License-Identifier: Apache-2.0
"""The order of fn.tricodec.read_video: epochs, shards, shuffling, padding and checkpoints, beside DALI's own reader.

Also under DALI's iterator for PyTorch.
"""

from __future__ import annotations

import itertools
import math
from typing import Any

import pytest
from dali_testing import reading_pipeline, sequences_of
from media import generated

pytestmark = pytest.mark.needs_dali

#: 50 frames each: sequences of 5 frames, one of the second file for four of the first.
CLIPS = ["vp9.webm", "h264_bframes.mp4"]
Item = tuple[int, int]  # a file and the first frame of a sequence in it


def words_for(step: int = 5, clips: list[str] | None = None) -> dict[str, Any]:
    return {
        "filenames": [str(generated(clip)) for clip in clips or CLIPS],
        "labels": [],
        "sequence_length": 5,
        "step": step,
        "enable_frame_num": True,
        "size": (18, 32),
    }


def items_of(pipe: Any, num_batches: int) -> list[list[Item]]:
    """Which sequences the next batches hold."""
    batches = [sequences_of(pipe.run()) for _ in range(num_batches)]
    return [[(int(each.more[0][0]), int(each.more[1][0])) for each in batch] for batch in batches]


def all_items(step: int = 5) -> list[Item]:
    return [(file, start) for file in range(2) for start in range(0, 46, step)]


def flat(batches: list[list[Item]]) -> list[Item]:
    return [item for batch in batches for item in batch]


@pytest.mark.parametrize("num_shards", [2, 3])
def test_read_video_gives_each_sequence_to_one_shard_in_every_epoch(num_shards: int) -> None:
    pipes = [
        reading_pipeline(
            batch_size=1, num_shards=num_shards, shard_id=shard, **words_for(), random_shuffle=True, seed=5
        )
        for shard in range(num_shards)
    ]

    for epoch in range(num_shards + 1):
        given = []
        for shard, pipe in enumerate(pipes):
            virtual = (shard + epoch) % num_shards
            size = 20 * (virtual + 1) // num_shards - 20 * virtual // num_shards
            given += flat(items_of(pipe, size))
        assert sorted(given) == all_items()


def test_read_video_shuffles_all_sequences_anew_in_each_epoch() -> None:
    pipe = reading_pipeline(batch_size=10, random_shuffle=True, seed=11, **words_for())

    epochs = [flat(items_of(pipe, 2)) for _ in range(4)]

    for epoch in epochs:
        assert sorted(epoch) == all_items()
        assert epoch != all_items()
    assert len({tuple(epoch) for epoch in epochs}) == 4
    # Not only neighbors change places: over some epochs a sequence stands anywhere.
    places = [epoch.index((0, 0)) for epoch in epochs + [flat(items_of(pipe, 2)) for _ in range(16)]]
    assert max(places) - min(places) >= 10


def test_read_video_draws_the_same_order_from_the_same_seed() -> None:
    def order(seed: int) -> list[Item]:
        return flat(items_of(reading_pipeline(batch_size=4, random_shuffle=True, seed=seed, **words_for()), 10))

    assert order(3) == order(3)
    assert order(3) != order(4)


@pytest.mark.parametrize("stick", [False, True])
@pytest.mark.parametrize(("num_shards", "batch_size"), [(3, 4), (7, 2)])
def test_read_video_pads_shards_to_one_length_and_batches_with_the_last_sequence(
    num_shards: int, batch_size: int, stick: bool
) -> None:
    num_batches = math.ceil(math.ceil(20 / num_shards) / batch_size)
    words = words_for() | {"pad_last_batch": True, "num_shards": num_shards, "stick_to_shard": stick}
    pipes = [reading_pipeline(batch_size=batch_size, shard_id=shard, **words) for shard in range(num_shards)]

    for epoch in range(3):
        for shard, pipe in enumerate(pipes):
            given = flat(items_of(pipe, num_batches))
            number = shard if stick else (shard + epoch) % num_shards
            own = all_items()[20 * number // num_shards : 20 * (number + 1) // num_shards]
            assert given == own + [own[-1]] * (len(given) - len(own))


@pytest.mark.parametrize(
    "words",
    [
        {"step": 7, "num_shards": 2, "shard_id": 1},
        {"num_shards": 3, "shard_id": 0, "stick_to_shard": True},
        {"pad_last_batch": True, "num_shards": 3, "shard_id": 1},
        {"stride": 2, "step": 9},
    ],
    ids=repr,
)
def test_read_video_has_the_order_and_epochs_of_dalis_reader(words: dict[str, Any]) -> None:
    from nvidia.dali import Pipeline, fn

    words = words_for(clips=["vp9.webm", "vp9_odd.webm"]) | words  # which DALI can decode on the CPU
    mine = reading_pipeline(batch_size=4, **words)
    theirs = Pipeline(batch_size=4, num_threads=2, device_id=None)
    with theirs:
        shared = {name: value for name, value in words.items() if name not in ("labels", "size")}
        theirs.set_outputs(*fn.experimental.readers.video(labels=[0, 1], name="reader", **shared))
    theirs.build()

    assert mine.reader_meta("reader") == theirs.reader_meta("reader")
    for _ in range(15):
        _, label, number = theirs.run()
        expected = [(int(label.at(i)[0]), int(number.at(i)[0])) for i in range(4)]
        assert items_of(mine, 1) == [expected]


@pytest.mark.parametrize("num_before", [1, 9])
@pytest.mark.parametrize(
    "words",
    [{"num_shards": 3, "shard_id": 2, "random_shuffle": True}, {"pad_last_batch": True}],
    ids=repr,
)
def test_read_video_goes_on_from_a_checkpoint(num_before: int, words: dict[str, Any]) -> None:
    words = words_for() | words
    options = {"enable_checkpointing": True}
    pipe = reading_pipeline(batch_size=3, options=options | {"seed": 8}, **words)
    items_of(pipe, num_before)
    saved = pipe.checkpoint()
    expected = items_of(pipe, 12)

    # The pipeline that continues has another seed: the order is that of the checkpoint.
    resumed = reading_pipeline(batch_size=3, options=options | {"seed": 9, "checkpoint": saved}, **words)

    assert items_of(resumed, 12) == expected


OUTPUTS = ["frames", "pts", "label", "number"]


def iterator(pipes: list[Any], **words: Any) -> Any:
    from nvidia.dali.plugin.pytorch import DALIGenericIterator

    return DALIGenericIterator(pipes, OUTPUTS, reader_name="reader", auto_reset=True, **words)


@pytest.mark.needs_torch
@pytest.mark.parametrize("num_shards", [1, 3])
@pytest.mark.parametrize("shuffle", [False, True])
def test_torchs_iterator_gives_every_sequence_once_with_partial_last_batches(num_shards: int, shuffle: bool) -> None:
    from nvidia.dali.plugin.base_iterator import LastBatchPolicy

    words = words_for() | {"batch_size": 6, "num_shards": num_shards, "pad_last_batch": True, "random_shuffle": shuffle}
    pipes = [reading_pipeline(shard_id=shard, seed=shard, **words) for shard in range(num_shards)]
    batches = iterator(pipes, last_batch_policy=LastBatchPolicy.PARTIAL)

    epochs = [
        [
            (int(label), int(number))
            for outputs in batches
            for batch in outputs
            for label, number in zip(batch["label"].ravel(), batch["number"].ravel(), strict=True)
        ]
        for _ in range(3)
    ]

    assert all(sorted(epoch) == all_items() for epoch in epochs)
    assert (epochs[0] != epochs[1]) == (shuffle or num_shards > 1)


@pytest.mark.needs_torch
@pytest.mark.parametrize("num_before", [0, 2, 7])
def test_torchs_iterator_goes_on_from_a_checkpoint_to_the_same_bytes(num_before: int) -> None:
    words = words_for() | {"batch_size": 4, "random_shuffle": True, "seed": 6, "num_shards": 2, "pad_last_batch": True}

    def pull(batches: Any, count: int) -> list[bytes]:
        epochs = itertools.chain.from_iterable(itertools.repeat(batches))  # it begins again at the end of an epoch
        given = itertools.islice(epochs, count)
        return [b"".join(batch[name].numpy().tobytes() for name in OUTPUTS) for (batch,) in given]

    batches = iterator([reading_pipeline(options={"enable_checkpointing": True}, **words)])
    pull(batches, num_before)
    (saved,) = batches.checkpoints()
    expected = pull(batches, 6)

    resumed = iterator([reading_pipeline(options={"enable_checkpointing": True, "checkpoint": saved}, **words)])

    assert pull(resumed, 6) == expected
