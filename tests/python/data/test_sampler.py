# SPDX-License-Identifier: Apache-2.0
"""`tricodec.data.ClipSampler`: each clip once an epoch, on any number of ranks, however a run is interrupted."""

from __future__ import annotations

import json
import random
from typing import Any

import pytest
import tricodec
from tricodec.data._sampler import epoch_order

# Orders as they were first; a state that was saved refers to them.
FIRST_OF_TEN = [6, 1, 0, 5, 3, 8, 7, 9, 2, 4]
FIRST_OF_A_THOUSAND = [219, 479, 581, 940, 853]


class Numbers:
    """Clips without frames: what a sampler needs of a dataset."""

    def __init__(self, size: int, fingerprint: str = "numbers") -> None:
        self.size, self.fingerprint = size, fingerprint

    def __len__(self) -> int:
        return self.size


def sampler_of(size: int, batch_size: int = 2, **options: Any) -> tricodec.data.ClipSampler:
    return tricodec.data.ClipSampler(Numbers(size), batch_size, **options)


# the order


def test_the_order_of_an_epoch_never_changes_and_has_every_item_once_by_the_seed_and_the_epoch() -> None:
    assert epoch_order(10, 0, 0).tolist() == FIRST_OF_TEN
    assert epoch_order(1000, 7, 3)[:5].tolist() == FIRST_OF_A_THOUSAND
    orders = [epoch_order(257, seed, epoch).tolist() for seed in (0, 1, 2**63) for epoch in (0, 1)]
    assert all(sorted(order) == list(range(257)) for order in orders)
    assert len(set(map(tuple, orders))) == len(orders)


# ranks and restarts


@pytest.mark.parametrize("size", [0, 5, 61])
@pytest.mark.parametrize("num_ranks", [1, 3])
@pytest.mark.parametrize("batch_size", [1, 4])
def test_each_clip_is_given_once_an_epoch(size: int, num_ranks: int, batch_size: int) -> None:
    for drop_last in (False, True):
        options: dict[str, Any] = {"num_ranks": num_ranks, "drop_last": drop_last}
        ranks = [sampler_of(size, batch_size, rank=rank, **options) for rank in range(num_ranks)]
        for epoch in range(2):
            assert all(sampler.epoch == epoch for sampler in ranks)
            lengths = [len(sampler) for sampler in ranks]
            batches = [list(sampler) for sampler in ranks]
            assert [len(each) for each in batches] == lengths
            given = [clip for each in batches for batch in each for clip in batch]
            step = batch_size * num_ranks
            if drop_last:
                assert len(given) == len(set(given)) == size // step * step
                assert len(set(lengths)) == 1
            else:
                assert sorted(given) == list(range(size))
                assert max(lengths) - min(lengths) <= 1


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


@pytest.mark.parametrize("options", [{"batch_size": 0}, {"rank": 2, "num_ranks": 2}, {"rank": -1}, {"seed": -1}])
def test_wrong_arguments_of_a_sampler_are_refused(options: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="expected 1 or more"):
        sampler_of(10, **{"batch_size": 2, **options})
