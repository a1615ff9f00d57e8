# SPDX-License-Identifier: Apache-2.0
"""Trains by several ranks, and kills processes of them by SIGKILL: what is left of epochs that were interrupted.

python interrupted_ranks.py INDEX FOLDER KILLS SEED prints as JSON the number of kills, and for each epoch the clips
that count, in the order of their steps, with the SHA-256 of their frames.

A rank saves a record after each batch: the clips, and the loader's state. As in a training that saves a checkpoint
after each step of all ranks, a step counts if all ranks have done it. The run then continues with another number of
ranks. Ranks are forked from this process, which has torch loaded, and decodes nothing itself.
"""

from __future__ import annotations

import hashlib
import json
import os
import random
import signal
import sys
import time
from pathlib import Path
from typing import Any

import torch
import tricodec
from tricodec.data.torch import ClipLoader

CLIPS = {"clip_length": 4, "stride": 2, "step": 3, "size": (48, 64)}
SEED = 11


def train(folder: Path, clips: tricodec.data.Dataset, state: dict[str, Any] | None, options: dict[str, Any]) -> None:
    """One rank: batches until the epoch ends."""
    torch.set_num_threads(1)
    loader = ClipLoader(clips, seed=SEED, read_ahead_bytes=1 << 20, **options)
    if state is not None:
        loader.load_state_dict(state)
    for step, batch in enumerate(loader):
        frames = [hashlib.sha256(each.numpy().tobytes()).hexdigest() for each in batch["frames"]]
        record = {"clips": dict(zip(batch["clip"].tolist(), frames, strict=True)), "state": loader.state_dict()}
        save(folder / f"{options['rank']}-{step}", record)
    save(folder / f"{options['rank']}-end", {"state": loader.state_dict()})


def save(path: Path, record: dict[str, Any]) -> None:
    """A file that is there whole or not at all."""
    temporary = path.with_suffix(".new")
    temporary.write_text(json.dumps(record))
    temporary.rename(path)


def run(
    folder: Path, clips: tricodec.data.Dataset, state: dict[str, Any] | None, num_ranks: int, chance: random.Random
) -> bool:
    """Ranks until one of their processes is killed, or until all have ended. Gives whether one was killed."""
    batch_size = chance.choice([2, 3, 4])
    ranks: list[int] = []
    for rank in range(num_ranks):
        options = {"rank": rank, "num_ranks": num_ranks, "batch_size": batch_size}
        if (pid := os.fork()) == 0:
            status = 1
            try:
                train(folder, clips, state, options)
                status = 0
            finally:
                os._exit(status)
        ranks.append(pid)
    num_records = chance.randrange(0, 4 * num_ranks)
    alive = set(ranks)
    killed = False
    while alive:
        if not killed and len(list(folder.glob("*-*[0-9]"))) >= num_records:
            time.sleep(chance.random() * 0.03)
            os.kill(chance.choice(sorted(alive)), signal.SIGKILL)
            killed = True
        for pid in sorted(alive):
            if os.waitpid(pid, os.WNOHANG)[0] == pid:
                alive.remove(pid)
                if not (folder / f"{ranks.index(pid)}-end").exists():  # the others need it
                    killed = True
                    for other in alive:
                        os.kill(other, signal.SIGKILL)
        time.sleep(0.002)
    return killed


def steps_of(folder: Path, num_ranks: int) -> tuple[list[dict[str, str]], dict[str, Any] | None]:
    """The clips of the steps that all ranks have done, and the state after them; None if there is no such step."""
    by_rank = []
    for rank in range(num_ranks):
        records = []
        while (path := folder / f"{rank}-{len(records)}").exists():
            records.append(json.loads(path.read_text()))
        by_rank.append((records, (folder / f"{rank}-end").exists()))
    longest = max((len(records) for records, _ in by_rank), default=0)
    num_steps = min((longest if ended else len(records) for records, ended in by_rank), default=0)
    clips, state = [], None
    for step in range(num_steps):
        done = [records[step] for records, _ in by_rank if step < len(records)]
        states = [record["state"] for record in done]
        assert all(each == states[0] for each in states), states
        clips.append({number: frames for record in done for number, frames in record["clips"].items()})
        assert len(clips[-1]) == sum(len(record["clips"]) for record in done)
        state = states[0]
    return clips, state


def main() -> int:
    index, output, num_kills, seed = sys.argv[1], Path(sys.argv[2]), int(sys.argv[3]), int(sys.argv[4])
    clips = tricodec.data.Dataset(index, **CLIPS)
    chance = random.Random(seed)
    state: dict[str, Any] | None = None
    epochs: list[list[tuple[str, str]]] = [[]]
    kills = life = 0
    while kills < num_kills or epochs[-1] or len(epochs) == 1:  # at least one whole epoch
        folder = output / str(life)
        folder.mkdir()
        num_ranks = chance.choice([1, 2, 3]) if kills < num_kills else 1
        if kills < num_kills:
            kills += run(folder, clips, state, num_ranks, chance)
        else:
            finish(folder, clips, state)
        life += 1
        steps, after = steps_of(folder, num_ranks)
        epochs[-1] += [pair for step in steps for pair in step.items()]
        state = after or state
        if state is not None and state["num_clips_done"] >= len(clips):
            state = {**state, "epoch": state["epoch"] + 1, "num_clips_done": 0}
            epochs.append([])
    print(json.dumps({"kills": kills, "lives": life, "epochs": epochs[:-1]}))
    return 0


def finish(folder: Path, clips: tricodec.data.Dataset, state: dict[str, Any] | None) -> None:
    """The rest of an epoch in peace."""
    if (pid := os.fork()) == 0:
        status = 1
        try:
            train(folder, clips, state, {"rank": 0, "num_ranks": 1, "batch_size": 3})
            status = 0
        finally:
            os._exit(status)
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0


if __name__ == "__main__":
    sys.exit(main())
