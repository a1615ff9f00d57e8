# SPDX-License-Identifier: Apache-2.0
"""torchcodec's and decord's readers in the processes of a DataLoader."""

from __future__ import annotations

import os
from pathlib import Path

import media
import pytest
from tricodec_compat.decord import VideoReader

pytestmark = pytest.mark.needs_torch


class NumThreads:
    """Threads of the process that has read frames."""

    def __init__(self, package: str, path: str) -> None:
        self._package, self._path = package, path

    def __len__(self) -> int:
        return 1

    def __getitem__(self, number: int) -> int:
        if self._package == "torchcodec":
            from tricodec_compat.torchcodec.decoders import VideoDecoder

            VideoDecoder(self._path).get_frames_in_range(0, 40)
        else:
            VideoReader(self._path).get_batch(range(40))
        return len(list(Path("/proc/self/task").iterdir()))


@pytest.mark.parametrize("package", ["torchcodec", "decord"])
def test_each_process_decodes_with_its_share_of_the_cores(package: str) -> None:
    from torch.utils.data import DataLoader

    cores = len(os.sched_getaffinity(0))
    dataset = NumThreads(package, str(media.generated("h264_bframes.mp4")))

    [alone] = DataLoader(dataset, num_workers=1)
    [one_of_many] = DataLoader(dataset, num_workers=cores)

    assert one_of_many == 1
    assert (alone > 1) == (cores > 1)


def test_ranks_of_one_machine_share_the_cores(monkeypatch: pytest.MonkeyPatch) -> None:
    from torch.utils.data import DataLoader

    monkeypatch.setenv("LOCAL_WORLD_SIZE", str(len(os.sched_getaffinity(0))))
    dataset = NumThreads("torchcodec", str(media.generated("h264_bframes.mp4")))

    [threads] = DataLoader(dataset, num_workers=1)

    assert threads == 1
