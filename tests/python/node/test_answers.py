# SPDX-License-Identifier: Apache-2.0
"""A node gives the bytes, times and errors of `tricodec.decode_video` in the process."""

from __future__ import annotations

import io
import os
import threading
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tricodec
from media import generated
from tricodec import node as nodes

CLIP = "h264_bframes.mp4"


def assert_same(got: Any, expected: Any) -> None:
    assert got.frames.dtype == expected.frames.dtype
    assert got.frames.shape == expected.frames.shape
    assert got.frames.tobytes() == expected.frames.tobytes()
    for name in ("pts_seconds", "indices", "asked_seconds"):
        np.testing.assert_array_equal(getattr(got, name), getattr(expected, name))
    assert got.num_damaged_packets == expected.num_damaged_packets


def here(source: Any, **options: Any) -> Any:
    return tricodec.decode_video(source, device="cpu", num_workers=1, **options)


OPTIONS: list[dict[str, Any]] = [
    {"fps": Fraction(25, 7)}, {"times": np.float32([0.1, 1.5, 0.5])}, {"indices": [40, 2, 2, -1]}, {"num_frames": 5},
    {"start": 3, "stride": 7, "count": 4}, {"start_s": 0.5, "end_s": 0.9}, {"count": 0}, {"indices": range(9, 15)},
    {"count": 4, "size": (64, 96), "dtype": "float32", "layout": "CHW", "mean": [0.5] * 3, "std": np.ones(3)},
    {"count": 4, "crop": (8, 16, 100, 200), "color": "gray", "resize": "bicubic"},
    {"count": 4, "dtype": np.float16}, {"count": 4, "dtype": np.dtype("float32")}, {"count": 4, "dtype": "bfloat16"},
]  # fmt: skip


@pytest.mark.parametrize("options", OPTIONS, ids=str)
def test_a_node_gives_the_frames_and_times_of_the_process(shared_node: nodes.Node, options: dict[str, Any]) -> None:
    if options.get("dtype") == "bfloat16":
        pytest.importorskip("ml_dtypes")
    expected = here(generated(CLIP), **options)

    for _ in range(3):  # the second request keeps frames, the third one uses them
        assert_same(shared_node.decode_video(generated(CLIP), **options), expected)


@pytest.mark.parametrize("name", ["h264_raw.h264", "h264_two_videos.mkv", "h264_rot90.mp4", "h264_mbaff.ts", "av1.ivf"])
def test_a_node_reads_every_container_as_the_process_does(shared_node: nodes.Node, name: str) -> None:
    for _ in range(3):
        assert_same(shared_node.decode_video(generated(name), num_frames=9), here(generated(name), num_frames=9))


@pytest.mark.parametrize("name", ["truncated.ts", "truncated_faststart.mp4", "zeroed.mp4"])
def test_each_request_of_a_damaged_video_counts_the_damage(shared_node: nodes.Node, name: str) -> None:
    expected = here(generated(name))
    assert expected.num_damaged_packets

    shared_node.decode_video(generated(name), count=3)  # the next request wants frames of the same group
    for _ in range(3):
        assert_same(shared_node.decode_video(generated(name)), expected)


def piped(data: bytes) -> Any:
    reading, writing = os.pipe()

    def write() -> None:
        with os.fdopen(writing, "wb") as pipe:
            pipe.write(data)

    threading.Thread(target=write).start()
    return os.fdopen(reading, "rb")


SOURCES: dict[str, Any] = {
    "str": str, "path": Path, "bytes": Path.read_bytes, "memoryview": lambda path: memoryview(path.read_bytes()),
    "array": lambda path: np.fromfile(path, np.uint8), "bytes file": lambda path: io.BytesIO(path.read_bytes()),
    "open file": lambda path: path.open("rb"), "pipe": lambda path: piped(path.read_bytes()),
}  # fmt: skip


@pytest.mark.parametrize("kind", SOURCES)
def test_every_kind_of_source_is_read(shared_node: nodes.Node, kind: str) -> None:
    source = SOURCES[kind](generated(CLIP))

    assert_same(shared_node.decode_video(source, num_frames=3), here(generated(CLIP), num_frames=3))
    if hasattr(source, "close"):
        source.close()


def failing(folder: Path) -> list[tuple[Any, dict[str, Any]]]:
    (folder / "empty.mp4").write_bytes(b"")
    (folder / "noise").write_bytes(b"noise" * 300)
    os.mkfifo(folder / "pipe.mp4")
    sources = ["missing.mp4", "empty.mp4", "noise", "pipe.mp4", "."]
    clip = generated(CLIP)
    return [
        *((folder / name, {}) for name in sources), (b"", {}), (None, {}), (3, {}), ("http://a/b.mp4", {}),
        (np.zeros(100, np.uint8)[::2], {}), (clip, {"indices": [99]}), (clip, {"times": [50.0]}), (clip, {"sizes": 3}),
        (clip, {"size": (0, 1)}), (clip, {"indices": slice(3, 9)}), (clip, {"stream_index": 7}),
        (clip, {"dtype": "int3"}), (generated("truncated.mp4"), {}),
    ]  # fmt: skip


def test_errors_have_the_class_and_the_text_of_the_process(shared_node: nodes.Node, tmp_path: Path) -> None:
    for source, options in failing(tmp_path):
        with pytest.raises(Exception) as expected:  # noqa: PT011
            tricodec.decode_video(source, device="cpu", **options)
        with pytest.raises(type(expected.value)) as got:
            shared_node.decode_video(source, **options)
        assert str(got.value) == str(expected.value)
        assert "/proc/" not in str(got.value)


def test_a_device_that_the_node_lacks_is_named_with_those_that_it_has(shared_node: nodes.Node) -> None:
    with pytest.raises(tricodec.DeviceError, match="'cuda:5', and this node decodes on cpu"):
        shared_node.decode_video(generated(CLIP), device="cuda:5")


def test_a_reader_knows_and_gives_what_one_of_the_process_does(shared_node: nodes.Node) -> None:
    with tricodec.FrameReader(generated(CLIP), device="cpu") as known, shared_node.open(generated(CLIP)) as reader:
        for name in ("fps", "duration", "width", "height", "shape", "key_frames", "device"):
            assert getattr(reader, name) == getattr(known, name), name
        assert np.array_equal(reader.pts_seconds, known.pts_seconds)
        whole = known.batch(range(len(known)))
        assert len(reader) == len(whole)
        assert np.array_equal(reader.batch([30, 4], size=(40, 60)), known.batch([30, 4], size=(40, 60)))
        assert np.array_equal(reader[-1], whole[-1])
        assert np.array_equal(np.stack(list(reader)), whole)
        assert [len(batch) for batch in reader.batches(20, start=5)] == [20, 20, 5]
        with pytest.raises(IndexError, match="frame 50 was asked for; the video has 50"):
            reader[50]
    with pytest.raises(ValueError, match="is closed"):
        reader.batch([0])


def test_a_file_that_was_deleted_after_it_was_opened_is_still_read(shared_node: nodes.Node, tmp_path: Path) -> None:
    path = tmp_path / "a.mp4"
    path.write_bytes(generated(CLIP).read_bytes())

    with shared_node.open(path) as reader:
        path.unlink()
        path.write_bytes(generated("h264_open_gop.mkv").read_bytes())
        assert_same(reader.decode(num_frames=4), here(generated(CLIP), num_frames=4))


def test_a_file_written_again_with_its_old_size_and_time_is_decoded_anew(
    shared_node: nodes.Node, tmp_path: Path
) -> None:
    first, second = (generated(name).read_bytes() for name in (CLIP, "h264_nob.mp4"))
    size = max(len(first), len(second)) + 8
    path = tmp_path / "a.mp4"
    for data in (first, second):
        free = size - len(data)
        path.write_bytes(data + free.to_bytes(4, "big") + b"free" + bytes(free - 8))
        os.utime(path, ns=(10**18, 10**18))
        for _ in range(3):
            assert_same(shared_node.decode_video(path, count=9), here(data, count=9))
