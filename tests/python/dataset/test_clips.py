# SPDX-License-Identifier: Apache-2.0
"""`tricodec.Dataset` and its sampler: the right frames, and each clip once an epoch, however a run is interrupted."""

from __future__ import annotations

import json
import os
import pickle
import random
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tricodec
from media import ffprobe_times, generated
from tricodec._dataset._order import shuffled

NAMES = ("av1.mp4", "h264_16x16.mp4", "h264_bframes.mp4", "hevc_open_gop.mkv", "vp9.webm")
SIZE = (48, 64)


@pytest.fixture(scope="module")
def index(tmp_path_factory: pytest.TempPathFactory) -> tricodec.DatasetIndex:
    folder = tmp_path_factory.mktemp("videos")
    for name in NAMES:
        shutil.copy(generated(name), folder / name)
    (folder / "broken.mp4").write_bytes(b"broken")
    tricodec.DatasetIndex.build([folder], folder / "index.parquet")
    return tricodec.DatasetIndex(folder / "index.parquet")


@pytest.fixture(scope="module")
def clips(index: tricodec.DatasetIndex) -> tricodec.Dataset:
    return tricodec.Dataset(index, clip_length=4, stride=2, step=3, size=SIZE)


# Orders as they were first; a state that was saved refers to them.
GOLDEN_10 = [8, 4, 6, 3, 9, 1, 0, 2, 5, 7]
GOLDEN_BILLION = [50843615, 4964326, 648326312]


class Numbers:
    """Clips without frames: what a sampler needs of a dataset."""

    def __init__(self, size: int, fingerprint: str = "numbers") -> None:
        self.size, self.fingerprint = size, fingerprint

    def __len__(self) -> int:
        return self.size


def sampler_of(size: int, batch_size: int = 2, **options: Any) -> tricodec.ClipSampler:
    return tricodec.ClipSampler(Numbers(size), batch_size, **options)  # type: ignore[arg-type]


def expected_clips(index: tricodec.DatasetIndex) -> list[tuple[str, int]]:
    """Path and first frame of each clip, by ffprobe's number of frames."""
    found = []
    for row in index:
        if row["path"] != "broken.mp4":
            num_frames = len(ffprobe_times(generated(row["path"])))
            found += [(row["path"], start) for start in range(0, num_frames, 3) if start + 6 < num_frames]
    return found


def test_clips_are_the_windows_that_lie_in_a_video(clips: tricodec.Dataset, index: tricodec.DatasetIndex) -> None:
    expected = expected_clips(index)
    assert len(clips) == len(expected)
    for number in (0, len(clips) // 2, len(clips) - 1):
        clip = clips[number]
        assert (index[clip["video"]]["path"], clip["start"]) == expected[number]
        assert clip["clip"] == number


def test_frames_are_those_of_decode_video(clips: tricodec.Dataset, index: tricodec.DatasetIndex) -> None:
    numbers = random.Random(1).sample(range(len(clips)), 12)
    for number, clip in zip(numbers, clips.__getitems__(numbers), strict=True):
        video = tricodec.decode_video(
            index.source(clip["video"]), start=clip["start"], stride=2, count=4, size=SIZE, device="cpu"
        )
        assert clip["clip"] == number
        np.testing.assert_array_equal(clip["frames"], video.frames)
        np.testing.assert_array_equal(clip["pts_seconds"], video.pts_seconds)


def test_clips_are_numbered_as_lists_are(clips: tricodec.Dataset) -> None:
    assert clips[-1]["clip"] == len(clips) - 1
    with pytest.raises(IndexError, match=f"there are {len(clips)} clips"):
        clips[len(clips)]


@pytest.mark.parametrize("words", [{"clip_length": 0}, {"clip_length": 2, "stride": 0}, {"clip_length": 2, "step": 0}])
def test_numbers_below_1_are_refused(index: tricodec.DatasetIndex, words: dict[str, int]) -> None:
    with pytest.raises(ValueError, match="expected 1 or more"):
        tricodec.Dataset(index, **words)


def test_an_unknown_option_is_refused(index: tricodec.DatasetIndex) -> None:
    with pytest.raises(TypeError, match="sise"):
        tricodec.Dataset(index, clip_length=2, sise=(3, 4))


def test_a_dataset_goes_to_other_processes(clips: tricodec.Dataset) -> None:
    copy = pickle.loads(pickle.dumps(clips))
    assert (len(copy), copy.fingerprint) == (len(clips), clips.fingerprint)
    expected = clips[5]["frames"]
    np.testing.assert_array_equal(copy[5]["frames"], expected)
    child = os.fork()
    if child == 0:
        os._exit(0 if np.array_equal(clips[5]["frames"], expected) else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


# the order


def test_the_order_of_an_epoch_never_changes() -> None:
    assert shuffled(np.arange(10), 10, 0, 0).tolist() == GOLDEN_10
    assert shuffled([0, 1, 999_999_999], 10**9, 7, 3).tolist() == GOLDEN_BILLION


@pytest.mark.parametrize("size", [1, 2, 3, 4, 5, 16, 17, 255, 256, 257, 1000, 4097])
def test_an_order_has_every_item_once(size: int) -> None:
    orders = {
        (seed, epoch): shuffled(np.arange(size), size, seed, epoch) for seed in (0, -1, 2**63) for epoch in (0, 1)
    }
    for order in orders.values():
        assert sorted(order.tolist()) == list(range(size))
    if size > 16:
        assert len({tuple(order) for order in orders.values()}) == len(orders)


def test_an_order_mixes_all_places() -> None:
    size = 4096
    order = shuffled(np.arange(size), size, 1, 0)
    moved = np.abs(order - np.arange(size))
    assert abs(moved.mean() / size - 1 / 3) < 0.02  # of a random permutation
    assert abs(np.corrcoef(order, np.arange(size))[0, 1]) < 0.05
    assert abs(np.corrcoef(order[1:], order[:-1])[0, 1]) < 0.05


# ranks and restarts


@pytest.mark.parametrize("size", [0, 1, 5, 7, 16, 61])
@pytest.mark.parametrize("num_ranks", [1, 2, 3, 8])
@pytest.mark.parametrize("batch_size", [1, 3, 4])
def test_each_clip_is_given_once_an_epoch(size: int, num_ranks: int, batch_size: int) -> None:
    for last in ("partial", "drop", "pad"):
        ranks = [sampler_of(size, batch_size, rank=rank, num_ranks=num_ranks, last=last) for rank in range(num_ranks)]
        for epoch in range(2):
            assert all(sampler.epoch == epoch for sampler in ranks)
            lengths = [len(sampler) for sampler in ranks]
            batches = [list(sampler) for sampler in ranks]
            assert [len(each) for each in batches] == lengths
            given = [clip for each in batches for batch in each for clip in batch]
            step = batch_size * num_ranks
            if last == "partial":
                assert sorted(given) == list(range(size))
                assert max(lengths) - min(lengths) <= 1
            elif last == "drop":
                assert len(given) == len(set(given)) == size // step * step
                assert len(set(lengths)) == 1
            else:
                assert set(given) == set(range(size))
                assert len(given) == -(-size // step) * step
                assert len(set(lengths)) == 1


def test_steps_have_the_same_clips_for_any_number_of_ranks() -> None:
    steps = []
    for num_ranks in (1, 2, 4, 8):
        ranks = [sampler_of(100, 8 // num_ranks, rank=rank, num_ranks=num_ranks, seed=5) for rank in range(num_ranks)]
        whole = zip(*(list(sampler)[:12] for sampler in ranks), strict=True)
        steps.append([[clip for batch in step for clip in batch] for step in whole])
    assert steps[0] == steps[1] == steps[2] == steps[3]
    assert len(steps[0]) == 12


def test_nothing_is_lost_or_doubled_over_a_hundred_restarts_on_other_ranks() -> None:
    chance = random.Random(3)
    for _ in range(100):
        size = chance.randrange(1, 200)
        state: dict[str, Any] | None = None
        given: list[int] = []
        while state is None or (state["epoch"] == 0 and state["num_clips_done"] < size):
            num_ranks, batch_size = chance.choice([1, 2, 3, 4, 8]), chance.choice([1, 2, 5])
            num_steps = chance.randrange(0, 6)
            states = []
            for rank in range(num_ranks):
                sampler = sampler_of(size, batch_size, rank=rank, num_ranks=num_ranks, seed=9)
                if state is not None:
                    sampler.load_state_dict(state)
                # A loader that is two batches ahead when the run is killed.
                ahead = [batch for batch, _ in zip(sampler, range(num_steps + 2), strict=False)]
                given += [clip for batch in ahead[:num_steps] for clip in batch]
                states.append(sampler.state_dict(num_steps))
            assert all(each == states[0] for each in states)
            state = json.loads(json.dumps(states[0]))
        assert sorted(given) == list(range(size))


def test_a_state_is_of_the_batches_that_were_used_even_past_the_end() -> None:
    sampler = sampler_of(10, 2)
    batches = list(sampler)  # a loader has taken all of them
    state = sampler.state_dict(3)
    again = sampler_of(10, 2)
    again.load_state_dict(state)
    assert list(again) == batches[3:]
    assert again.epoch == sampler.epoch == 1
    assert len(json.dumps(state)) < 1000


def test_a_state_of_other_clips_is_refused(
    index: tricodec.DatasetIndex, clips: tricodec.Dataset, tmp_path: Path
) -> None:
    state = clips.sampler(2).state_dict()
    clips.sampler(3, rank=1, num_ranks=2).load_state_dict(state)
    for other in (tricodec.Dataset(index, clip_length=5, stride=2, step=3), fewer(tmp_path)):
        with pytest.raises(ValueError, match="of other clips"):
            other.sampler(2).load_state_dict(state)


def fewer(folder: Path) -> tricodec.Dataset:
    tricodec.DatasetIndex.build([generated("vp9.webm")], folder / "index.parquet")
    return tricodec.Dataset(folder / "index.parquet", clip_length=4, stride=2, step=3)


def test_an_epoch_of_a_dataset_has_every_clip(clips: tricodec.Dataset) -> None:
    seen = []
    for rank in range(2):
        for batch in clips.sampler(8, rank=rank, num_ranks=2, seed=4):
            seen += [clip["clip"] for clip in clips.__getitems__(batch)]
    assert sorted(seen) == list(range(len(clips)))


@pytest.mark.parametrize("words", [{"batch_size": 0}, {"rank": 2, "num_ranks": 2}, {"rank": -1}, {"last": "fill"}])
def test_wrong_arguments_of_a_sampler_are_refused(words: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=r"expected|accepted"):
        sampler_of(10, **{"batch_size": 2, **words})


@pytest.mark.needs_torch
def test_a_data_loader_with_workers_gives_each_clip_once(clips: tricodec.Dataset) -> None:
    from torch.utils.data import DataLoader

    for num_workers in (0, 2):
        loader = DataLoader(clips, batch_sampler=clips.sampler(8, seed=2), num_workers=num_workers)
        batches = list(loader)
        assert batches[0]["frames"].shape == (8, 4, *SIZE, 3)
        assert sorted(number for batch in batches for number in batch["clip"].tolist()) == list(range(len(clips)))
