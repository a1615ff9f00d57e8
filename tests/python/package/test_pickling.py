# SPDX-License-Identifier: Apache-2.0
"""A Transform goes to other processes by its options."""

from __future__ import annotations

import copy
import multiprocessing
import pickle

import media
import numpy as np
import pytest
import tricodec

CLIP = "h264_bframes.mp4"


def frames_of(path: str, transform: tricodec.Transform) -> bytes:
    with tricodec.FrameReader(path, device="cpu", num_workers=1) as reader:
        return bytes(reader.batch([5, 1, 1], transform).tobytes())


@pytest.mark.parametrize("method", ["fork", "spawn"])
def test_a_transform_works_in_another_process(method: str) -> None:
    context = multiprocessing.get_context(method)
    transform = tricodec.Transform(size=(32, 48), dtype="float32", layout="CHW", mean=[0.5], std=[0.25])
    path = str(media.generated(CLIP))
    with context.Pool(2) as pool:
        assert pool.starmap(frames_of, [(path, transform)] * 3) == [frames_of(path, transform)] * 3


def test_a_copy_of_a_transform_is_equal() -> None:
    transform = tricodec.Transform(crop=(2, 4, 20, 30), color="bgr", dtype="float16", scale=2.0)
    assert copy.deepcopy(transform).options == pickle.loads(pickle.dumps(transform)).options == transform.options
    with tricodec.FrameReader(media.generated(CLIP)) as reader:
        assert np.array_equal(copy.copy(transform)(reader[3]), transform(reader[3]))
