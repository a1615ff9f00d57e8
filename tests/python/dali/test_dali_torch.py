# SPDX-License-Identifier: Apache-2.0
"""fn.tricodec.read_video under DALI's iterator for PyTorch: shuffle, shards, the last batch, and checkpoints."""

from __future__ import annotations

import math
from typing import Any

import pytest
from dali_testing import reading_pipeline
from media import generated

pytestmark = [pytest.mark.needs_dali, pytest.mark.needs_torch]

CLIPS = ["h264_bframes.mp4", "vp9_odd.webm", "hevc.mp4"]
OUTPUTS = ["frames", "pts", "label", "number"]
SEQUENCES = [(clip, first) for clip in range(len(CLIPS)) for first in range(0, 50, 8) if first + 8 <= 50]  # 18


def pipeline(**words: Any) -> Any:
    words = {
        "batch_size": 4, "filenames": [str(generated(clip)) for clip in CLIPS], "labels": [], "sequence_length": 8,
        "size": (24, 32), "enable_frame_num": True,
    } | words  # fmt: skip
    return reading_pipeline(**words)


def iterator(pipes: list[Any], **words: Any) -> Any:
    from nvidia.dali.plugin.pytorch import DALIGenericIterator

    return DALIGenericIterator(pipes, OUTPUTS, reader_name="reader", auto_reset=True, **words)


def given(batches: list[dict[str, Any]]) -> list[tuple[int, int]]:
    """File and first frame of each sequence of an iteration, of all its pipelines."""
    return [
        (int(label), int(number))
        for batch in batches
        for label, number in zip(batch["label"].ravel(), batch["number"].ravel(), strict=True)
    ]


@pytest.mark.parametrize("num_shards", [1, 3])
@pytest.mark.parametrize("shuffle", [False, True])
def test_epochs_hold_every_sequence_once_with_partial_last_batches(num_shards: int, shuffle: bool) -> None:
    from nvidia.dali.plugin.base_iterator import LastBatchPolicy

    pipes = [
        pipeline(shard_id=shard, num_shards=num_shards, pad_last_batch=True, random_shuffle=shuffle, seed=shard)
        for shard in range(num_shards)
    ]
    batches = iterator(pipes, last_batch_policy=LastBatchPolicy.PARTIAL)

    epochs = [[item for outputs in batches for item in given(outputs)] for _ in range(3)]

    assert all(sorted(epoch) == SEQUENCES for epoch in epochs)
    assert (epochs[0] != epochs[1]) == (shuffle or num_shards > 1)


@pytest.mark.parametrize("num_before", [0, 2, 7])
def test_an_iterator_goes_on_from_a_checkpoint_to_the_same_bytes(num_before: int) -> None:
    words: dict[str, Any] = {"random_shuffle": True, "seed": 6, "num_shards": 2, "shard_id": 1, "pad_last_batch": True}
    length = math.ceil(9 / 4)

    def pull(batches: Any, count: int) -> list[bytes]:
        data: list[bytes] = []
        for _ in range(2 * count):
            if len(data) == count:
                break
            (batch,) = next(batches, (None,))  # None at the end of an epoch
            if batch is not None:
                data.append(b"".join(batch[name].numpy().tobytes() for name in OUTPUTS))
        assert len(data) == count
        return data

    batches = iterator([pipeline(options={"enable_checkpointing": True}, **words)])
    pull(batches, num_before)
    (saved,) = batches.checkpoints()
    expected = pull(batches, 2 * length)

    resumed = iterator([pipeline(options={"enable_checkpointing": True, "checkpoint": saved}, **words)])

    assert pull(resumed, 2 * length) == expected
