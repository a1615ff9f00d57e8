# SPDX-License-Identifier: Apache-2.0
"""Requests for frames of the same groups of pictures share their decoding, within a bound of memory."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import tricodec
from media import generated
from programs import printed_by
from tricodec import node as nodes

CLIP = str(generated("h264_bframes.mp4"))
GROUP = 12
MIB = 1 << 20

PROGRAM = """
import sys, tricodec.node
node = tricodec.node.connect(sys.argv[1])
print(node.decode_video(sys.argv[2], indices=[14, 20], size=(90, 160)).frames.tobytes().hex())
"""


def test_a_group_is_decoded_once_for_all_processes_that_need_it(node: nodes.Node) -> None:
    expected = tricodec.decode_video(CLIP, device="cpu", indices=[14, 20], size=(90, 160)).frames.tobytes().hex()
    shared = []
    for _ in range(3):
        assert printed_by(PROGRAM, node.path, CLIP).strip() == expected
        shared.append(node.status()["shared_frames"])
    other = node.decode_video(CLIP, indices=[13, 19], dtype="float32").frames

    assert shared == [0, 0, 2]  # the second request decodes the group and keeps it
    assert node.status()["shared_frames"] == 4
    assert np.array_equal(other, tricodec.decode_video(CLIP, device="cpu", indices=[13, 19], dtype="float32").frames)


def test_the_bytes_of_a_file_are_shared_whatever_their_path_is(node: nodes.Node, tmp_path: Path) -> None:
    link = tmp_path / "link.mp4"
    link.symlink_to(CLIP)
    for path in (CLIP, CLIP, link):
        node.decode_video(path, count=5)
    assert node.status()["shared_frames"] == 5


def test_a_request_beyond_the_kept_frames_of_a_group_decodes_the_rest(node: nodes.Node) -> None:
    whole = tricodec.decode_video(CLIP, device="cpu").frames
    for count in (3, 3, 3, 9, 9):
        assert np.array_equal(node.decode_video(CLIP, count=count).frames, whole[:count])
    assert node.status()["shared_frames"] == 3 + 3 + 9


def test_kept_frames_have_a_bound_and_those_used_last_stay(start: Callable[..., nodes.Node]) -> None:
    node = start(memory=16 * MIB)
    whole = tricodec.decode_video(CLIP, device="cpu", size=(36, 64)).frames
    kept = []
    for first in range(0, 48, GROUP):
        for _ in range(3):
            frames = node.decode_video(CLIP, start=first, count=GROUP, size=(36, 64)).frames
            assert np.array_equal(frames, whole[first : first + GROUP])
            kept.append(node.status()["devices"]["cpu"]["kept_bytes"])
    shared = node.status()["shared_frames"]
    node.decode_video(CLIP, start=36, count=GROUP)

    assert MIB < max(kept) <= 4 * MIB
    assert (shared, node.status()["shared_frames"]) == (4 * GROUP, 5 * GROUP)
