# SPDX-License-Identifier: Apache-2.0
"""Clips of a data set that a GPU decodes: the frames of the CPU, as tensors, while a model's stream is at work."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tricodec
from media import copied, indexed

pytest.importorskip("pyarrow")
NAMES = ("h264_bframes.mp4", "hevc.mp4")
OPTIONS: dict[str, Any] = {"clip_length": 4, "stride": 2, "step": 3, "size": (48, 64), "layout": "CHW"}


@pytest.fixture(scope="module")
def index(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return indexed(copied(NAMES, tmp_path_factory.mktemp("videos")))


def test_batches_have_the_frames_of_the_cpu(index: Path) -> None:
    clips, host = (tricodec.data.Dataset(index, device=device, **OPTIONS) for device in ("cuda", "cpu"))
    for batch in tricodec.data.ClipBatches(clips, 3, seed=1):
        for number, frames in zip(batch["clip"].tolist(), batch["frames"], strict=True):
            np.testing.assert_array_equal(frames.numpy(), host[number]["frames"])


@pytest.mark.needs_torch
@pytest.mark.parametrize("read_ahead_bytes", [0, 1 << 30])
def test_a_loader_gives_tensors_that_stay_while_they_are_in_use(index: Path, read_ahead_bytes: int) -> None:
    import torch
    from tricodec.data.torch import ClipLoader

    clips, host = (tricodec.data.Dataset(index, device=device, **OPTIONS) for device in ("cuda", "cpu"))
    matrix = torch.rand(4096, 4096, device="cuda")
    sums: dict[int, Any] = {}
    for batch in ClipLoader(clips, 3, seed=1, read_ahead_bytes=read_ahead_bytes):
        frames = batch["frames"]
        assert frames.device.type == "cuda"
        matrix = (matrix @ matrix).clamp(0, 1)  # the sum comes long after the batch is dropped here
        sums.update(zip(batch["clip"].tolist(), frames.long().sum((1, 2, 3, 4)), strict=True))
        del batch, frames
    assert sorted(sums) == list(range(len(host)))
    for number, total in sums.items():
        assert int(total) == int(host[number]["frames"].astype(np.int64).sum())
