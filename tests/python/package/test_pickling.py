# SPDX-License-Identifier: Apache-2.0
"""Readers and Transforms go to other processes by what they were made with."""

from __future__ import annotations

import copy
import io
import multiprocessing
import pickle
from pathlib import Path
from typing import Any

import media
import numpy as np
import pytest
import tricodec

CLIP = "h264_bframes.mp4"


def frames_of(reader: tricodec.FrameReader, transform: tricodec.Transform) -> bytes:
    return bytes(reader.batch([5, 1, 1], transform).tobytes())


@pytest.mark.parametrize("kind", ["path", "Path", "bytes"])
def test_a_reader_comes_back_with_its_options(kind: str, tmp_path: Path) -> None:
    path = media.generated(CLIP)
    source: Any = {"path": str(path), "Path": path, "bytes": path.read_bytes()}[kind]
    transform = tricodec.Transform(size=(32, 48), dtype="float32", layout="CHW", mean=[0.5], std=[0.25])

    with tricodec.FrameReader(source, device="cpu", num_workers=2, index=tmp_path / "clip.index") as reader:
        again, also = pickle.loads(pickle.dumps((reader, transform)))

        assert again._opened_with[1] == reader._opened_with[1]
        assert also.options == transform.options
        assert frames_of(again, also) == frames_of(reader, transform)
        again.close()
        assert not reader.closed


@pytest.mark.parametrize("method", ["fork", "spawn"])
def test_a_reader_works_in_another_process(method: str) -> None:
    context = multiprocessing.get_context(method)
    transform = tricodec.Transform(size=(32, 48))
    with tricodec.FrameReader(media.generated(CLIP), device="cpu", num_workers=1) as reader, context.Pool(2) as pool:
        expected = frames_of(reader, transform)
        assert pool.starmap(frames_of, [(reader, transform)] * 3) == [expected] * 3


def test_a_path_stays_that_of_the_process_that_opened_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "clip.mp4").write_bytes(media.generated(CLIP).read_bytes())
    monkeypatch.chdir(tmp_path)
    reader = tricodec.FrameReader("clip.mp4")
    pickled = pickle.dumps(reader)
    monkeypatch.chdir("/")
    assert len(pickle.loads(pickled)) == len(reader)


def test_what_belongs_to_a_process_is_refused_with_the_remedy() -> None:
    data = media.generated(CLIP).read_bytes()
    with pytest.raises(TypeError, match="a FrameReader of BytesIO cannot be pickled; open it by a path"):
        pickle.dumps(tricodec.FrameReader(io.BytesIO(data)))
    reader = tricodec.FrameReader(data)
    reader.close()
    with pytest.raises(TypeError, match="is closed"):
        pickle.dumps(reader)


def test_a_copy_of_a_transform_is_equal() -> None:
    transform = tricodec.Transform(crop=(2, 4, 20, 30), color="bgr", dtype="float16", scale=2.0)
    assert copy.deepcopy(transform).options == transform.options
    with tricodec.FrameReader(media.generated(CLIP)) as reader:
        assert np.array_equal(copy.copy(transform)(reader[3]), transform(reader[3]))
