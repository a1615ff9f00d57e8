# SPDX-License-Identifier: Apache-2.0
"""fn.tricodec.read_video under DALI's iterator for JAX: shuffle, shards, the last batch, and checkpoints."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
import tricodec
from dali_testing import reading_pipeline
from media import generated

pytestmark = [pytest.mark.needs_dali, pytest.mark.needs_jax]

CLIPS = ["h264_bframes.mp4", "vp9_odd.webm", "hevc.mp4"]
OUTPUTS = ["frames", "pts", "label", "number"]
SEQUENCES = [(clip, first) for clip in range(len(CLIPS)) for first in range(0, 50, 8) if first + 8 <= 50]  # 18
WORDS: dict[str, Any] = {"sequence_length": 8, "size": (24, 32), "enable_frame_num": True, "labels": []}


@pytest.fixture(params=[False, True], ids=["x32", "x64"])
def with_float64(request: pytest.FixtureRequest) -> Iterator[bool]:
    """JAX with and without float64."""
    import jax

    before = jax.config.jax_enable_x64
    jax.config.update("jax_enable_x64", request.param)
    yield request.param
    jax.config.update("jax_enable_x64", before)


def files() -> list[str]:
    return [str(generated(clip)) for clip in CLIPS]


def iterator(pipes: list[Any], **words: Any) -> Any:
    from nvidia.dali.plugin.jax import DALIGenericIterator

    return DALIGenericIterator(pipes, OUTPUTS, reader_name="reader", auto_reset=True, **words)


def pipeline(**words: Any) -> Any:
    return reading_pipeline(**({"batch_size": 4, "filenames": files()} | WORDS | words))


def given(batch: dict[str, Any]) -> list[tuple[int, int]]:
    """File and first frame of each sequence of a batch, of all pipelines."""
    labels, numbers = (np.asarray(batch[name]).ravel().tolist() for name in ("label", "number"))
    return list(zip(labels, numbers, strict=True))


def test_batches_are_arrays_of_jax_with_the_frames_of_the_files(with_float64: bool) -> None:
    import jax

    batch = next(iterator([pipeline(random_shuffle=True, seed=3)]))

    assert all(isinstance(array, jax.Array) for array in batch.values())
    assert batch["frames"].shape == (4, 8, 24, 32, 3)
    assert batch["pts"].dtype == (np.float64 if with_float64 else np.float32)
    for frames, times, (clip, first) in zip(batch["frames"], batch["pts"], given(batch), strict=True):
        expected = tricodec.decode_video(generated(CLIPS[clip]), start=first, count=8, size=(24, 32), device="cpu")
        assert np.array_equal(frames, expected.frames)
        assert np.array_equal(times, expected.pts_seconds.astype(times.dtype))


@pytest.mark.parametrize("num_shards", [1, 3])
@pytest.mark.parametrize("shuffle", [False, True])
def test_epochs_hold_every_sequence_once(num_shards: int, shuffle: bool) -> None:
    pipes = [
        pipeline(batch_size=3, shard_id=shard, num_shards=num_shards, random_shuffle=shuffle, seed=shard)
        for shard in range(num_shards)
    ]
    batches = iterator(pipes, pmap_compatible=True)

    epochs = []
    for _ in range(3):
        epoch = list(batches)
        assert all(batch["frames"].shape == (num_shards, 3, 8, 24, 32, 3) for batch in epoch)
        epochs.append([item for batch in epoch for item in given(batch)])

    assert all(sorted(epoch) == SEQUENCES for epoch in epochs)
    assert (epochs[0] != epochs[1]) == (shuffle or num_shards > 1)


@pytest.mark.parametrize("pads", [True, False])
@pytest.mark.parametrize(("policy", "size"), [("FILL", 20), ("DROP", 16)])
def test_the_last_batch_is_filled_or_dropped(policy: str, size: int, pads: bool) -> None:
    from nvidia.dali.plugin.base_iterator import LastBatchPolicy

    batches = iterator([pipeline(pad_last_batch=pads)], last_batch_policy=getattr(LastBatchPolicy, policy))

    items = [item for batch in batches for item in given(batch)]

    more = [SEQUENCES[-1]] * 2 if pads else SEQUENCES[:2]
    assert items == [*SEQUENCES, *more][:size]
    first = 0 if pads else 2  # of the second epoch: the iterator gave two sequences of it, or dropped them
    assert given(next(batches)) == SEQUENCES[first : first + 4]


@pytest.mark.parametrize("num_before", [0, 2, 7])
def test_a_decorated_pipeline_goes_on_from_a_checkpoint_to_the_same_bytes(num_before: int) -> None:
    from nvidia.dali import fn
    from nvidia.dali.plugin.jax import data_iterator

    @data_iterator(output_map=OUTPUTS, reader_name="reader", auto_reset=True)
    def clips(filenames: list[str]) -> Any:
        shard: dict[str, Any] = {"num_shards": 2, "shard_id": 1, "pad_last_batch": True}
        return tuple(fn.tricodec.read_video(name="reader", filenames=filenames, random_shuffle=True, **shard, **WORDS))

    def make(**words: Any) -> Any:
        return clips(files(), batch_size=4, num_threads=2, device_id=None, enable_checkpointing=True, seed=6, **words)

    def pull(batches: Any, count: int) -> list[bytes]:
        data: list[bytes] = []
        while len(data) < count:
            batch = next(batches, None)  # None at the end of an epoch
            if batch is not None:
                data.append(b"".join(np.asarray(batch[name]).tobytes() for name in OUTPUTS))
        return data

    batches = make()
    pull(batches, num_before)
    saved = batches.checkpoints()
    expected = pull(batches, 6)

    assert len(set(expected)) > 1
    assert pull(make(checkpoints=saved), 6) == expected
