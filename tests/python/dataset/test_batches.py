# SPDX-License-Identifier: Apache-2.0
"""`Dataset.batches`, `ClipLoader` and `IterableClips`: read ahead, in order, each clip once, continued where it was."""

from __future__ import annotations

import contextlib
import copy
import json
import os
import pickle
import shutil
import threading
from collections.abc import Iterator
from itertools import islice
from typing import Any

import numpy as np
import pytest
import tricodec
from media import generated
from tricodec._dataset._read_ahead import ReadAhead

NAMES = ("h264_16x16.mp4", "h264_bframes.mp4", "hevc_open_gop.mkv", "vp9.webm")
SIZE = (48, 64)


@pytest.fixture(scope="module")
def clips(tmp_path_factory: pytest.TempPathFactory) -> tricodec.Dataset:
    folder = tmp_path_factory.mktemp("videos")
    for name in NAMES:
        shutil.copy(generated(name), folder / name)
    tricodec.DatasetIndex.build([folder], folder / "index.parquet")
    return tricodec.Dataset(folder / "index.parquet", clip_length=4, stride=2, step=3, size=SIZE)


def numbers(batches: Any) -> list[list[int]]:
    return [[int(number) for number in batch["clip"]] for batch in batches]


def flat(batches: list[list[int]]) -> list[int]:
    return [number for batch in batches for number in batch]


@pytest.mark.parametrize("read_ahead_bytes", [0, 1 << 18, 1 << 30])
def test_batches_are_those_of_the_sampler_with_the_frames_of_the_clips(
    clips: tricodec.Dataset, read_ahead_bytes: int
) -> None:
    batches = clips.batches(3, seed=4, rank=1, num_ranks=2, read_ahead_bytes=read_ahead_bytes)
    sampler = clips.sampler(3, seed=4, rank=1, num_ranks=2)
    assert len(batches) == len(sampler)
    for batch, expected in zip(batches, sampler, strict=True):
        assert batch["clip"].tolist() == expected
        assert batch["frames"].shape == (len(expected), 4, *SIZE, 3)
        for place, number in enumerate(expected):
            clip = clips[number]
            np.testing.assert_array_equal(batch["frames"][place], clip["frames"])
            np.testing.assert_array_equal(batch["pts_seconds"][place], clip["pts_seconds"])
            assert (batch["video"][place], batch["start"][place]) == (clip["video"], clip["start"])
    assert batches.epoch == sampler.epoch == 1


def test_windows_of_one_group_of_pictures_are_decoded_together() -> None:
    reads: list[list[int]] = []

    def read(row: int, clips: Any, outs: Any) -> list[int]:
        reads.append(list(clips))
        return list(clips)

    order = iter([[0, 10], [1, 20], [11, 2], [21, 12]])  # clip 10 * video + window; two windows a group
    ahead = ReadAhead(
        order, read, lambda clip: (clip // 10, clip % 10 // 2, clip % 10 // 2), lambda clip: 1,
        lambda clips: None, num_threads=1, max_bytes=100,
    )  # fmt: skip
    assert [found for found, _ in ahead] == [[0, 10], [1, 20], [11, 2], [21, 12]]
    ahead.close()
    assert reads == [[0, 1], [10, 11], [20, 21], [2], [12]]


@pytest.mark.parametrize(("max_bytes", "most"), [(0, 1), (40, 4), (10_000, 20)])
def test_no_more_batches_are_read_ahead_than_the_bound_holds(max_bytes: int, most: int) -> None:
    taken = []

    def order() -> Iterator[list[int]]:
        for number in range(20):
            taken.append(number)
            yield [number]

    ahead = ReadAhead(
        order(), lambda row, clips, outs: list(clips), lambda clip: (clip, 0, 0), lambda clip: 10,
        lambda clips: None, num_threads=2, max_bytes=max_bytes,
    )  # fmt: skip
    for given, _ in enumerate(ahead):
        assert len(taken) <= given + 1 + most
    assert len(taken) == 20
    ahead.close()


def test_an_error_of_a_thread_is_raised_after_the_batches_before_it() -> None:
    before = threading.Event()

    def read(row: int, clips: Any, outs: Any) -> list[int]:
        if row == 1:
            before.wait(60)
            raise ValueError("damaged")
        return list(clips)

    ahead = ReadAhead(
        iter([[0], [1], [2]]), read, lambda clip: (clip, 0, 0), lambda clip: 1, lambda clips: None,
        num_threads=1, max_bytes=100,
    )  # fmt: skip
    assert next(ahead) == ([0], None)
    before.set()
    with pytest.raises(ValueError, match="damaged"):
        next(ahead)
    ahead.close()


def test_a_state_counts_the_batches_that_were_given_out_whatever_is_read_ahead(clips: tricodec.Dataset) -> None:
    for read_ahead_bytes in (0, 1 << 30):
        batches = clips.batches(4, seed=1, read_ahead_bytes=read_ahead_bytes)
        given = numbers(islice(batches, 3))
        state = json.loads(json.dumps(batches.state_dict()))
        again = clips.batches(2, seed=9)
        again.load_state_dict(state)
        rest = numbers(again)
        assert sorted(flat(given + rest)) == list(range(len(clips)))
        assert (state["num_clips_done"], again.epoch) == (12, 1)


def test_an_iteration_that_was_left_is_continued_by_the_next(clips: tricodec.Dataset) -> None:
    expected = list(clips.sampler(4, seed=1))
    batches = clips.batches(4, seed=1)
    first = next(iter(batches))["clip"].tolist()
    assert [first, *numbers(batches)] == expected
    assert batches.epoch == 1
    second = numbers(batches)
    assert sorted(flat(second)) == sorted(flat(expected))
    assert second != expected


def test_no_thread_stays_when_an_iteration_is_left(clips: tricodec.Dataset) -> None:
    batches = iter(clips.batches(2, num_threads=3))
    next(batches)
    assert len(threads()) == 3
    batches.close()  # type: ignore[attr-defined]
    assert not threads()


def threads() -> list[str]:
    return [each.name for each in threading.enumerate() if each.name.startswith("tricodec-read-ahead")]


def test_batches_that_a_program_keeps_stay_as_they_are(clips: tricodec.Dataset) -> None:
    parts = [(int(batch["clip"][-1]), batch["frames"][-1, 2:]) for batch in clips.batches(5, read_ahead_bytes=1 << 16)]
    for number, frames in parts:
        np.testing.assert_array_equal(frames, clips[number]["frames"][2:])


def test_memory_of_batches_that_a_program_drops_is_used_again(clips: tricodec.Dataset) -> None:
    places = {batch["frames"].ctypes.data for batch in clips.batches(2, read_ahead_bytes=0)}
    assert len(places) <= 4


@pytest.mark.needs_torch
def test_batches_of_workers_that_a_program_keeps_stay_as_they_are(clips: tricodec.Dataset) -> None:
    from tricodec.torch import ClipLoader

    kept = [
        (batch["clip"].tolist(), batch["frames"] if number % 3 else batch["frames"][:, 1:])
        for number, batch in enumerate(ClipLoader(clips, 3, num_workers=2))
    ]
    for place, (numbers, batch) in enumerate(kept):
        for number, frames in zip(numbers, batch, strict=True):
            np.testing.assert_array_equal(frames.numpy(), clips[number]["frames"][0 if place % 3 else 1 :])


@pytest.mark.needs_torch
def test_memory_of_workers_that_a_program_drops_is_used_again(clips: tricodec.Dataset) -> None:
    from tricodec.torch import ClipLoader

    loader = ClipLoader(clips, 1, num_workers=1, read_ahead_bytes=0)
    places = set()
    for number, batch in enumerate(loader):
        if number < 4:
            continue  # the first ones take memory
        places.add(batch["frames"].data_ptr())
        np.testing.assert_array_equal(batch["frames"][0].numpy(), clips[int(batch["clip"][0])]["frames"])
        del batch
    assert len(places) < len(clips) // 3


@pytest.mark.needs_torch
def test_a_child_that_drops_a_batch_leaves_it_to_its_parent(clips: tricodec.Dataset) -> None:
    from tricodec.torch import ClipLoader

    batches = iter(ClipLoader(clips, 1, seed=2, num_workers=1, read_ahead_bytes=0))
    kept = next(batches)
    expected = clips[int(kept["clip"][0])]["frames"]
    next(batches)  # so that `kept` alone refers to the frames
    child = os.fork()
    if child == 0:
        del kept
        os._exit(0)
    assert os.waitpid(child, 0)[1] == 0
    for _ in batches:
        np.testing.assert_array_equal(kept["frames"][0].numpy(), expected)


@pytest.mark.needs_torch
def test_frames_that_a_forked_child_has_stay_as_they_are(clips: tricodec.Dataset) -> None:
    from tricodec.torch import ClipLoader

    batches = iter(ClipLoader(clips, 1, num_workers=1, read_ahead_bytes=0))
    kept = next(batches)
    expected = clips[int(kept["clip"][0])]["frames"]
    next(batches)  # so that `kept` alone refers to the frames
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(write)
        os.read(read, 1)  # ends when the parent has taken the other batches
        os._exit(0 if np.array_equal(kept["frames"][0].numpy(), expected) else 1)
    os.close(read)
    del kept
    assert sum(1 for _ in batches) > 3
    os.close(write)
    assert os.waitpid(child, 0)[1] == 0


@pytest.mark.needs_torch
def test_frames_that_a_wrapping_data_set_passes_on_stay_as_they_are(clips: tricodec.Dataset) -> None:
    from torch.utils.data import DataLoader, IterableDataset
    from tricodec.torch import IterableClips

    class Wrapped(IterableDataset[Any]):
        def __iter__(self) -> Iterator[Any]:
            for batch in IterableClips(clips, 2, read_ahead_bytes=0):
                yield batch["clip"].tolist(), batch["frames"]

    for numbers, batch in list(DataLoader(Wrapped(), batch_size=None, num_workers=1)):
        for number, frames in zip(numbers, batch, strict=True):
            np.testing.assert_array_equal(frames.numpy(), clips[number]["frames"])


@pytest.mark.needs_torch
@pytest.mark.parametrize("read_ahead_bytes", [0, 1 << 30])  # the second one decodes windows together
def test_tensors_of_a_device_have_the_frames_of_the_clips(
    clips: tricodec.Dataset, read_ahead_bytes: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The host's memory takes the place of a GPU's."""
    import torch
    from tricodec._dataset._batches import ClipBatches
    from tricodec.torch._device_memory import DeviceMemory

    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "Stream", lambda device: device)
    monkeypatch.setattr(torch.cuda, "stream", contextlib.nullcontext)
    memory = DeviceMemory(clips, "cpu")
    for batch in ClipBatches(clips, clips.sampler(3, seed=1), read_ahead_bytes, 2, memory):
        tensors = memory.with_tensors(batch)["frames"]
        assert isinstance(tensors, torch.Tensor)
        for number, frames in zip(batch["clip"].tolist(), tensors, strict=True):
            np.testing.assert_array_equal(frames.numpy(), clips[number]["frames"])


@pytest.mark.needs_torch
def test_workers_are_refused_on_a_gpu(clips: tricodec.Dataset) -> None:
    from tricodec.torch import ClipLoader

    on_gpu = tricodec.Dataset(clips.index, clip_length=4, device="cuda")
    with pytest.raises(ValueError, match="leave num_workers out"):
        ClipLoader(on_gpu, 2, num_workers=2)


@pytest.mark.parametrize("words", [{"read_ahead_bytes": -1}, {"num_threads": -2}])
def test_wrong_numbers_are_refused(clips: tricodec.Dataset, words: dict[str, int]) -> None:
    with pytest.raises(ValueError, match="expected 0 or more"):
        clips.batches(2, **words)


# PyTorch


@pytest.mark.needs_torch
@pytest.mark.parametrize("num_workers", [0, 2])
def test_a_loader_gives_each_clip_once_and_continues_on_other_ranks_and_workers(
    clips: tricodec.Dataset, num_workers: int
) -> None:
    import torch
    from tricodec.torch import ClipLoader

    ranks = [ClipLoader(clips, 3, rank=rank, num_ranks=2, seed=3, num_workers=num_workers) for rank in range(2)]
    given: list[list[int]] = []
    for rank in ranks:
        for batch in islice(rank, 2):
            assert batch["frames"].dtype == torch.uint8
            number = int(batch["clip"][0])
            assert torch.equal(batch["frames"][0], torch.from_numpy(clips[number]["frames"]))
            given += numbers([batch])
    states = [rank.state_dict() for rank in ranks]
    assert states[0] == states[1]
    after = ClipLoader(clips, 5, rank=0, num_ranks=1, num_workers=2 - num_workers)
    after.load_state_dict(states[0])
    assert len(after) == -(-(len(clips) - states[0]["num_clips_done"]) // 5)
    rest = numbers(after)
    assert sorted(flat(given + rest)) == list(range(len(clips)))
    assert after.epoch == 1


@pytest.mark.needs_torch
def test_a_loader_begins_another_epoch_with_workers(clips: tricodec.Dataset) -> None:
    from tricodec.torch import ClipLoader

    loader = ClipLoader(clips, 8, num_workers=2, prefetch_factor=3)
    epochs = [numbers(loader) for _ in range(2)]
    alone = ClipLoader(clips, 8)
    assert epochs == [numbers(alone) for _ in range(2)]
    assert epochs[0] != epochs[1]


@pytest.mark.needs_torch
@pytest.mark.parametrize("words", [{"rank": 0}, {"num_ranks": 2}])
def test_half_of_a_rank_is_refused(clips: tricodec.Dataset, words: dict[str, int]) -> None:
    from tricodec.torch import ClipLoader

    with pytest.raises(ValueError, match="name both or none"):
        ClipLoader(clips, 2, **words)
    with pytest.raises(TypeError, match="decides drop_last"):
        ClipLoader(clips, 2, drop_last=True)


@pytest.mark.needs_torchdata
@pytest.mark.filterwarnings("ignore:'set_vital' is deprecated")
@pytest.mark.parametrize("num_workers", [0, 2])
@pytest.mark.parametrize("kind", ["map", "iterable"])
def test_stateful_data_loader_continues_with_the_clips_that_are_left(
    clips: tricodec.Dataset, kind: str, num_workers: int
) -> None:
    from torchdata.stateful_dataloader import StatefulDataLoader
    from tricodec.torch import IterableClips

    def loader() -> Any:
        if kind == "map":
            return StatefulDataLoader(clips, batch_sampler=clips.sampler(4, seed=2), num_workers=num_workers)
        return StatefulDataLoader(IterableClips(clips, 4, seed=2), batch_size=None, num_workers=num_workers)

    expected = list(clips.sampler(4, seed=2))
    first = loader()
    given = numbers(islice(first, 3))
    state = pickle.loads(pickle.dumps(copy.deepcopy(first.state_dict())))
    assert given == expected[:3]
    again = loader()
    again.load_state_dict(state)
    assert numbers(again) == expected[3:]
