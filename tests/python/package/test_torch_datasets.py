# SPDX-License-Identifier: Apache-2.0
"""The datasets of tricodec.torch, and readers in the workers of torch's DataLoader, forked and spawned."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import media
import numpy as np
import pytest
import tricodec

torch = pytest.importorskip("torch")

from torch.utils.data import DataLoader, Dataset  # noqa: E402
from tricodec.torch import ClipDataset, ClipStream  # noqa: E402

pytestmark = [pytest.mark.needs_torch, pytest.mark.filterwarnings("ignore:This DataLoader will create")]
NAMES = ["h264_bframes.mp4", "av1.mp4", "vp9.webm", "hevc.mp4", "mpeg4.avi"]


@pytest.fixture(scope="module")
def many(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """Forty files."""
    return links(tmp_path_factory.mktemp("many"), 40)


def links(folder: Path, count: int) -> list[str]:
    paths = []
    for number in range(count):
        source = media.generated(NAMES[number % len(NAMES)])
        path = folder / f"{number:02d}{source.suffix}"
        path.symlink_to(source)
        paths.append(str(path))
    return paths


class HeldReaders(Dataset[Any]):
    """Readers that are made in __init__, and read in the workers."""

    def __init__(self, paths: list[str]) -> None:
        self.readers = [tricodec.FrameReader(path, device="cpu", num_workers=1) for path in paths]
        self.firsts = [int(reader.batch([0], size=(16, 16)).sum()) for reader in self.readers]  # threads were at work

    def __len__(self) -> int:
        return len(self.readers)

    def __getitem__(self, number: int) -> Any:
        return torch.from_dlpack(self.readers[number].batch([number % 7, 3], size=(32, 48)))


@pytest.mark.parametrize(("workers", "method"), [(2, "fork"), (1, "spawn"), (8, "fork")])
def test_readers_made_in_init_read_in_every_worker(many: list[str], workers: int, method: str | None) -> None:
    paths = many[:10]
    loader = DataLoader(HeldReaders(paths), batch_size=2, num_workers=workers, multiprocessing_context=method)

    got = torch.cat(list(loader)).numpy()

    for number, path in enumerate(paths):
        expected = tricodec.decode_video(path, indices=[number % 7, 3], size=(32, 48)).frames
        assert np.array_equal(got[number], expected), number


@pytest.mark.parametrize(("workers", "method"), [(0, None), (1, "spawn"), (8, "fork")])
def test_clips_are_those_of_decode_video(many: list[str], workers: int, method: str | None) -> None:
    clips = ClipDataset(many, num_frames=4, fps=8, position="middle", size=(32, 48))
    loader = DataLoader(clips, batch_size=4, num_workers=workers, multiprocessing_context=method)

    numbers = []
    for frames, seconds, video in loader:
        assert frames.shape == (4, 4, 3, 32, 48)
        for k, number in enumerate(video.tolist()):
            numbers.append(number)
            expected = tricodec.decode_video(
                many[number], times=seconds[k].tolist(), policy="exact", size=(32, 48), layout="CHW"
            )
            assert np.array_equal(frames[k].numpy(), expected.frames)
            assert 0.1 < seconds[k][1] - seconds[k][0] < 0.2
    assert numbers == list(range(len(many)))


@pytest.mark.parametrize(("workers", "method"), [(0, None), (2, "fork")])
def test_a_stream_gives_each_clip_once(many: list[str], workers: int, method: str | None) -> None:
    paths = many[:6]
    stream = ClipStream(paths, num_frames=8, stride=2, size=(32, 48))
    loader = DataLoader(stream, batch_size=None, num_workers=workers, multiprocessing_context=method)

    by_video: dict[int, list[Any]] = {}
    for frames, seconds, number in loader:
        assert frames.shape == (8, 3, 32, 48)
        by_video.setdefault(int(number), []).append((frames, seconds))

    assert sorted(by_video) == list(range(len(paths)))
    for number, clips in by_video.items():
        whole = tricodec.decode_video(paths[number], stride=2, size=(32, 48), layout="CHW")
        size = len(whole) // 8 * 8
        assert np.array_equal(torch.cat([frames for frames, _ in clips]).numpy(), whole.frames[:size])
        assert torch.cat([seconds for _, seconds in clips]).tolist() == whole.pts_seconds[:size].tolist()


# In a process of its own: torch's handler of SIGCHLD raises wherever the main thread is, in pytest too.
KILLED = """
import os, signal, sys, time
import torch, tricodec
from torch.utils.data import DataLoader

class Killed(torch.utils.data.Dataset):
    def __init__(self, path):
        self.reader = tricodec.FrameReader(path, device="cpu")

    def __len__(self):
        return 4

    def __getitem__(self, number):
        frames = self.reader.batch([number])
        if number == 2:
            os.kill(os.getpid(), signal.SIGKILL)
        return torch.from_dlpack(frames)

dataset = Killed(sys.argv[1])
try:
    try:
        list(DataLoader(dataset, batch_size=1, num_workers=2, multiprocessing_context="fork"))
    except (OSError, EOFError):  # the worker was handing over a batch: torch's own error comes by a signal
        time.sleep(60)
except RuntimeError as error:
    assert "worker" in str(error), error
    print("refused", len(dataset.reader.batch([0, 1])))
"""


def test_a_killed_worker_is_an_error_and_the_readers_go_on() -> None:
    path = str(media.generated("h264_bframes.mp4"))
    result = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", KILLED, path], capture_output=True, text=True, check=False
    )
    assert result.stdout == "refused 2\n", result.stderr
