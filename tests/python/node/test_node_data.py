# SPDX-License-Identifier: Apache-2.0
"""Data sets that a node decodes."""

from __future__ import annotations

import tarfile
from collections.abc import Iterator
from multiprocessing import resource_tracker
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from media import copied, generated
from tricodec import node as nodes
from tricodec.data import ClipBatches, Dataset

pytest.importorskip("pyarrow")
NAMES = ("h264_bframes.mp4", "hevc.mp4")
resource_tracker.ensure_running()  # it lives as long as this process, and must not count as one of a node


@pytest.fixture
def used(shared_node: nodes.Node) -> Iterator[nodes.Node]:
    """The node while this process asks it."""
    nodes.use(shared_node)
    yield shared_node
    nodes.use(None)


@pytest.mark.parametrize("options", [{"stride": 2}, {"fps": 5.0, "dtype": "float32", "layout": "CHW"}], ids=str)
@pytest.mark.parametrize("is_archive", [False, True])
def test_clips_are_those_of_the_process(
    shared_node: nodes.Node, tmp_path: Path, options: dict[str, Any], is_archive: bool
) -> None:
    copied(NAMES, tmp_path)
    if is_archive:
        with tarfile.open(tmp_path / "all.tar", "w") as archive:
            for name in NAMES:
                archive.add(tmp_path / name, name)
    clips = Dataset([str(tmp_path / "all.tar" if is_archive else tmp_path)], clip_length=4, size=(32, 48), **options)
    expected = {number: clips[number] for number in range(0, len(clips), 3)}
    before = shared_node.status()["requests"]
    nodes.use(shared_node)
    try:
        for number, clip in expected.items():
            found = clips[number]
            assert found.keys() == clip.keys()
            assert all(np.array_equal(found[name], clip[name]) for name in clip)
        assert shared_node.status()["requests"] == before + len(expected)
        batch = next(iter(ClipBatches(clips, 2, seed=1)))
        assert np.array_equal(batch["frames"][1], clips[int(batch["clip"][1])]["frames"])
    finally:
        nodes.use(None)


@pytest.mark.needs_torch
@pytest.mark.parametrize("method", ["fork", "spawn"])
def test_workers_of_a_dataloader_pass_clips_on(used: nodes.Node, method: str, monkeypatch: pytest.MonkeyPatch) -> None:
    import torch
    from torch.utils.data import DataLoader
    from tricodec.data.torch import ClipDataset, collate, stack

    monkeypatch.setenv("TRICODEC_NODE", used.path)  # for workers that are spawned
    clips = ClipDataset([str(generated(name)) for name in NAMES] * 3, num_frames=4, position="middle", size=(32, 48))
    expected = [clips[number][0] for number in range(len(clips))]
    loader = DataLoader(clips, batch_size=2, num_workers=2, multiprocessing_context=method, collate_fn=collate)
    before = used.status()["requests"]

    for frames, _, numbers in loader:
        for tensor, number in zip(stack(frames), numbers.tolist(), strict=True):
            assert torch.equal(tensor, expected[number])
    assert used.status()["requests"] >= before + 2 * len(clips)


@pytest.mark.parametrize("options", [{"sampling": "qwen", "fps": 2.0}, {"fps": 3, "size": (32, 48)}], ids=str)
def test_frames_for_a_vision_language_model_are_those_of_the_process(
    shared_node: nodes.Node, options: dict[str, Any]
) -> None:
    sampling = pytest.importorskip("tricodec_compat.sampling")
    expected = sampling.sample(generated(NAMES[0]), device="cpu", **options)
    nodes.use(shared_node)
    try:
        found = sampling.sample(generated(NAMES[0]), device="cpu", **options)
    finally:
        nodes.use(None)

    assert isinstance(found.frames, nodes.NodeArray)
    assert np.array_equal(found.frames, expected.frames)
    assert found.metadata == expected.metadata
