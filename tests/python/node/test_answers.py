# SPDX-License-Identifier: Apache-2.0
"""A node gives the bytes, times and errors of `tricodec.decode_video` in the process, and decodes once."""

from __future__ import annotations

import io
import os
import tempfile
import types
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tricodec
from file_likes import ReadOnly
from media import generated
from programs import limits, printed_by
from tricodec import node as nodes

CLIP = generated("h264_bframes.mp4")
GROUP = 12
MIB = 1 << 20


def here(source: Any, **options: Any) -> Any:
    return tricodec.decode_video(source, device="cpu", num_workers=1, **options)


def assert_same(got: Any, expected: Any) -> None:
    assert (got.frames.dtype, got.frames.shape) == (expected.frames.dtype, expected.frames.shape)
    assert got.frames.tobytes() == expected.frames.tobytes()
    for name in ("pts_seconds", "indices", "asked_seconds", "num_damaged_packets"):
        np.testing.assert_array_equal(getattr(got, name), getattr(expected, name))


OPTIONS: list[dict[str, Any]] = [
    {"fps": Fraction(25, 7)}, {"times": np.float32([0.1, 1.5, 0.5])}, {"indices": [40, 2, 2, -1]}, {"num_frames": 5},
    {"start": 3, "stride": 7, "count": 4}, {"start_s": 0.5, "end_s": 0.9}, {"count": 0}, {"indices": range(9, 15)},
    {"count": 4, "size": (64, 96), "dtype": "float32", "layout": "CHW", "mean": [0.5] * 3, "std": np.ones(3)},
    {"count": 4, "crop": (8, 16, 100, 200), "color": "gray", "resize": "bicubic"},
    {"count": 4, "dtype": np.float16}, {"count": 4, "dtype": np.dtype("float32")}, {"count": 4, "dtype": "bfloat16"},
]  # fmt: skip
OTHERS = ("h264_raw.h264", "h264_two_videos.mkv", "h264_rot90.mp4", "h264_mbaff.ts", "av1.ivf")


@pytest.mark.parametrize(
    ("clip", "options"), [*((CLIP, each) for each in OPTIONS), *((generated(name), {"fps": 5}) for name in OTHERS)]
)
def test_a_node_gives_the_frames_and_times_of_the_process(
    shared_node: nodes.Node, clip: Path, options: dict[str, Any]
) -> None:
    if options.get("dtype") == "bfloat16":
        pytest.importorskip("ml_dtypes")
    expected = here(clip, **options)
    for _ in range(3):  # the second request keeps frames, the third one uses them
        assert_same(shared_node.decode_video(clip, **options), expected)


@pytest.mark.parametrize("name", ["truncated_faststart.mp4", "zeroed.mp4"])
def test_each_request_of_a_damaged_video_counts_the_damage(shared_node: nodes.Node, name: str) -> None:
    expected = here(generated(name))
    assert expected.num_damaged_packets
    shared_node.decode_video(generated(name), count=3)  # the next request wants frames of the same group
    for _ in range(3):
        assert_same(shared_node.decode_video(generated(name)), expected)


def piped(path: Path) -> Any:
    reading, writing = os.pipe()
    os.write(writing, path.read_bytes())  # a pipe has room for it
    os.close(writing)
    return os.fdopen(reading, "rb")


def large(path: Path) -> Any:
    """A file of 1 TiB, of which the clip is the start."""
    opened = tempfile.TemporaryFile(buffering=0)  # noqa: SIM115  (the test closes it)
    opened.write(path.read_bytes())
    opened.truncate(1 << 40)
    return opened


OPENED: dict[str, Callable[[Path], Any]] = {
    "str": str, "bytes": Path.read_bytes, "array": lambda path: np.fromfile(path, np.uint8), "pipe": piped,
    "file of bytes": lambda path: io.BytesIO(path.read_bytes()), "open file": lambda path: path.open("rb"),
    "large open file": large,
}  # fmt: skip


@pytest.mark.parametrize("kind", OPENED)
def test_every_kind_of_source_is_read(shared_node: nodes.Node, kind: str) -> None:
    clip = generated("h264_16x16.mp4")
    source = OPENED[kind](clip)
    assert_same(shared_node.decode_video(source), here(clip))
    getattr(source, "close", int)()


class Endless(ReadOnly):
    """A clip from a pipe that never ends."""

    def read(self, size: int) -> bytes:
        return super().read(size) or bytes(size)


def test_what_cannot_seek_is_kept_within_the_limits_of_the_process(shared_node: nodes.Node) -> None:
    with limits(max_spool_bytes=4 * MIB, max_spool_memory_bytes=MIB):
        large = CLIP.read_bytes() + bytes(2 * MIB)
        assert_same(shared_node.decode_video(ReadOnly(large), count=9), here(CLIP, count=9))
        for decode in (here, shared_node.decode_video):
            with pytest.raises(
                tricodec.RefusedError, match=rf"'<Endless>' cannot seek, .*max_spool_bytes = {4 * MIB} bytes; pass"
            ):
                decode(Endless(CLIP.read_bytes()))


def test_errors_have_the_class_and_the_text_of_the_process(shared_node: nodes.Node, tmp_path: Path) -> None:
    (tmp_path / "empty.mp4").write_bytes(b"")
    (tmp_path / "noise").write_bytes(b"noise" * 300)
    os.mkfifo(tmp_path / "pipe.mp4")
    wrong_sources = [tmp_path / name for name in ("missing.mp4", "empty.mp4", "noise", "pipe.mp4", ".")]
    wrong_sources += [generated("truncated.mp4"), b"", None, 3, "http://a/b.mp4", np.zeros(100, np.uint8)[::2]]
    wrong_sources += [io.StringIO("text"), types.SimpleNamespace(read=lambda _: None)]  # as a pipe that does not block
    wrong_options = [
        {"indices": [99]}, {"times": [50.0]}, {"sizes": 3}, {"size": (0, 1)}, {"indices": slice(3, 9)},
        {"stream_index": 7}, {"dtype": "int3"},
    ]  # fmt: skip
    for source, options in [*((each, {}) for each in wrong_sources), *((CLIP, each) for each in wrong_options)]:
        with pytest.raises(Exception) as expected:  # noqa: PT011
            tricodec.decode_video(source, device="cpu", **options)
        with pytest.raises(type(expected.value)) as got:
            shared_node.decode_video(source, **options)
        assert str(got.value) == str(expected.value)
    with pytest.raises(tricodec.DeviceError, match="'cuda:5', and this node decodes on cpu"):
        shared_node.decode_video(CLIP, device="cuda:5")


def test_a_reader_knows_and_gives_what_one_of_the_process_does(shared_node: nodes.Node) -> None:
    with tricodec.FrameReader(CLIP, device="cpu") as known, shared_node.open(CLIP) as reader:
        for name in ("fps", "duration", "width", "height", "shape", "key_frames", "device"):
            assert getattr(reader, name) == getattr(known, name), name
        whole = known.batch(range(50))
        assert np.array_equal(reader.pts_seconds, known.pts_seconds)
        assert np.array_equal(reader.batch([30, 4], size=(40, 60)), known.batch([30, 4], size=(40, 60)))
        assert np.array_equal(reader[-1], whole[-1])
        assert np.array_equal(np.stack(list(reader)), whole)
        assert [len(batch) for batch in reader.batches(20, start=5)] == [20, 20, 5]
    with pytest.raises(ValueError, match="is closed"):
        reader.batch([0])


def test_a_file_that_was_deleted_or_written_again_gives_its_own_frames(shared_node: nodes.Node, tmp_path: Path) -> None:
    first, second = CLIP.read_bytes(), generated("h264_nob.mp4").read_bytes()
    path = tmp_path / "a.mp4"
    for data in (first, second):  # of one size and time, by a box that is free
        free = len(first) + len(second) - len(data)
        path.write_bytes(data + free.to_bytes(4, "big") + b"free" + bytes(free - 8))
        os.utime(path, ns=(10**18, 10**18))
        for _ in range(3):
            assert_same(shared_node.decode_video(path, count=9), here(data, count=9))
    with shared_node.open(path) as reader:
        path.unlink()
        path.write_bytes(first)
        assert_same(reader.decode(num_frames=4), here(second, num_frames=4))


PROGRAM = """
import sys, tricodec.node
node = tricodec.node.connect(sys.argv[1])
print(node.decode_video(sys.argv[2], indices=[14, 20], size=(90, 160)).frames.tobytes().hex())
"""


def test_a_group_is_decoded_once_for_all_processes_that_need_it(node: nodes.Node, tmp_path: Path) -> None:
    expected = here(CLIP, indices=[14, 20], size=(90, 160)).frames.tobytes().hex()
    link = tmp_path / "link.mp4"
    link.symlink_to(CLIP)
    shared = []
    for path in (CLIP, link, CLIP):
        assert printed_by(PROGRAM, node.path, path).strip() == expected
        shared.append(node.status()["shared_frames"])

    assert shared == [0, 0, 2]  # the second request decodes the group and keeps it
    other = {"indices": [13, 19, 21], "dtype": "float32"}  # 21 is decoded besides
    video = node.decode_video(CLIP, **other)
    assert_same(video, here(CLIP, **other))
    assert (video.num_shared_frames, node.status()["shared_frames"]) == (2, 4)


@pytest.mark.parametrize("node", [{"memory": 8 * MIB}], indirect=True)
def test_kept_frames_have_a_bound_and_those_used_last_stay(node: nodes.Node) -> None:
    kept = []
    for first in (*range(0, 48, GROUP), 36):
        expected = here(CLIP, start=first, count=GROUP, size=(36, 64))
        for _ in range(3):
            assert_same(node.decode_video(CLIP, start=first, count=GROUP, size=(36, 64)), expected)
            kept.append(node.status()["devices"]["cpu"]["kept_bytes"])

    assert MIB < max(kept) <= 4 * MIB
    assert node.status()["shared_frames"] == (4 + 3) * GROUP
