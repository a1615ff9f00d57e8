# SPDX-License-Identifier: Apache-2.0
"""tricodec.data.torch, and readers and data sets in the workers of torch's DataLoader, forked and spawned."""

from __future__ import annotations

import contextlib
import copy
import pickle
import shutil
import subprocess
import sys
from itertools import islice
from pathlib import Path
from typing import Any

import media
import numpy as np
import pytest
import tricodec

torch = pytest.importorskip("torch")

from torch.utils.data import DataLoader, Dataset  # noqa: E402
from tricodec.data.torch import ClipDataset, ClipLoader, DeviceMemory  # noqa: E402

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
        expected = tricodec.decode_video(path, indices=[number % 7, 3], size=(32, 48), device="cpu").frames
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
                many[number], times=seconds[k].tolist(), policy="exact", size=(32, 48), layout="CHW", device="cpu"
            )
            assert np.array_equal(frames[k].numpy(), expected.frames)
            assert 0.1 < seconds[k][1] - seconds[k][0] < 0.2
    assert numbers == list(range(len(many)))


# In a process of its own: torch's handler of SIGCHLD raises wherever the main thread is, in pytest too.
KILLED = """
import multiprocessing, os, signal, sys
import torch, tricodec
from torch.utils.data import DataLoader

class Killed(torch.utils.data.Dataset):
    def __init__(self, path):
        self.reader = tricodec.FrameReader(path, device="cpu")
        self.has_first = multiprocessing.get_context("fork").Event()

    def __len__(self):
        return 4

    def __getitem__(self, number):
        frames = self.reader.batch([number])
        if number == 2:
            self.has_first.wait()  # killed while it hands over a batch, a worker ends the loop with another error
            os.kill(os.getpid(), signal.SIGKILL)
        return torch.from_dlpack(frames)

dataset = Killed(sys.argv[1])
try:
    for _ in DataLoader(dataset, batch_size=1, num_workers=2, multiprocessing_context="fork"):
        dataset.has_first.set()
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


def test_random_clips_follow_torchs_seed(many: list[str]) -> None:
    clips = ClipDataset(many[:4], num_frames=4, stride=3, size=(16, 16))
    torch.manual_seed(5)
    once = [seconds.tolist() for _, seconds, _ in (clips[k] for k in range(4))]
    torch.manual_seed(5)
    again = [seconds.tolist() for _, seconds, _ in (clips[k] for k in range(4))]
    assert once == again


def test_a_short_video_repeats_its_last_frame() -> None:
    clips = ClipDataset([Path(media.generated("h264_bframes.mp4"))], num_frames=70, position="start", size=(16, 16))
    frames, seconds, _ = clips[0]
    assert len(frames) == 70
    assert seconds[-1] == seconds[-2] == seconds.max()


def test_wrong_arguments_are_named() -> None:
    with pytest.raises(TypeError, match="'nframes'; did you mean 'num_frames'"):
        ClipDataset([], nframes=4)
    with pytest.raises(TypeError, match=r"sources is one video, 'a[.]mp4'; put it into a list"):
        ClipDataset("a.mp4")


# data sets with an index


@pytest.fixture(scope="module")
def clips(tmp_path_factory: pytest.TempPathFactory) -> tricodec.data.Dataset:
    folder = tmp_path_factory.mktemp("videos")
    for name in ("h264_16x16.mp4", "h264_bframes.mp4", "hevc_open_gop.mkv", "vp9.webm"):
        shutil.copy(media.generated(name), folder / name)
    tricodec.data.DatasetIndex.build([folder], folder / "index.parquet")
    return tricodec.data.Dataset(folder / "index.parquet", clip_length=4, stride=2, step=3, size=(48, 64))


def numbers(batches: Any) -> list[list[int]]:
    return [batch["clip"].tolist() for batch in batches]


def flat(batches: list[list[int]]) -> list[int]:
    return [number for batch in batches for number in batch]


@pytest.mark.parametrize("read_ahead_bytes", [0, 1 << 30])  # the second one decodes windows together
def test_tensors_of_a_device_have_the_frames_of_the_clips(
    clips: tricodec.data.Dataset, read_ahead_bytes: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The host's memory takes the place of a GPU's."""
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "Stream", lambda device: device)
    monkeypatch.setattr(torch.cuda, "stream", contextlib.nullcontext)
    loader = ClipLoader(clips, 3, seed=1, read_ahead_bytes=read_ahead_bytes, num_threads=2)
    loader._memory = DeviceMemory(clips, "cpu")
    for batch in loader:
        assert isinstance(batch["frames"], torch.Tensor)
        for number, frames in zip(batch["clip"].tolist(), batch["frames"], strict=True):
            np.testing.assert_array_equal(frames.numpy(), clips[number]["frames"])


def test_a_loader_gives_each_clip_once_and_continues_on_other_ranks(clips: tricodec.data.Dataset) -> None:
    ranks = [ClipLoader(clips, 3, rank=rank, num_ranks=2, seed=3) for rank in range(2)]
    given: list[list[int]] = []
    for rank in ranks:
        for batch in islice(rank, 2):
            assert batch["frames"].dtype == torch.uint8
            number = int(batch["clip"][0])
            assert torch.equal(batch["frames"][0], torch.from_numpy(clips[number]["frames"]))
            given += numbers([batch])
    states = [rank.state_dict() for rank in ranks]
    assert states[0] == states[1]
    after = ClipLoader(clips, 5)
    after.load_state_dict(states[0])
    assert len(after) == -(-(len(clips) - states[0]["num_clips_done"]) // 5)
    assert sorted(flat(given + numbers(after))) == list(range(len(clips)))
    assert after.epoch == 1


@pytest.mark.parametrize("rank", [{"rank": 0}, {"num_ranks": 2}])
def test_half_of_a_rank_is_refused(clips: tricodec.data.Dataset, rank: dict[str, int]) -> None:
    with pytest.raises(ValueError, match="name both or none"):
        ClipLoader(clips, 2, **rank)


@pytest.mark.parametrize("num_workers", [0, 2])
def test_a_data_loader_gives_each_clip_once(clips: tricodec.data.Dataset, num_workers: int) -> None:
    sampler = tricodec.data.ClipSampler(clips, 8, seed=2)
    batches = list(DataLoader(clips, batch_sampler=sampler, num_workers=num_workers))
    assert batches[0]["frames"].shape == (8, 4, 48, 64, 3)
    assert sorted(flat(numbers(batches))) == list(range(len(clips)))


@pytest.mark.needs_torchdata
@pytest.mark.filterwarnings("ignore:'set_vital' is deprecated")
@pytest.mark.parametrize("num_workers", [0, 2])
def test_stateful_data_loader_continues_with_the_clips_that_are_left(
    clips: tricodec.data.Dataset, num_workers: int
) -> None:
    from torchdata.stateful_dataloader import StatefulDataLoader

    def loader() -> Any:
        sampler = tricodec.data.ClipSampler(clips, 4, seed=2)
        return StatefulDataLoader(clips, batch_sampler=sampler, num_workers=num_workers)

    expected = list(tricodec.data.ClipSampler(clips, 4, seed=2))
    first = loader()
    given = numbers(islice(first, 3))
    state = pickle.loads(pickle.dumps(copy.deepcopy(first.state_dict())))
    assert given == expected[:3]
    again = loader()
    again.load_state_dict(state)
    assert numbers(again) == expected[3:]
