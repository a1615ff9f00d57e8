# SPDX-License-Identifier: Apache-2.0
"""fn.tricodec.read_video gives the frames that tricodec.decode_video gives of the same file, in sequences."""

from __future__ import annotations

import functools
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tricodec
from dali_testing import Sequence, for_dali, read_batches, reading_pipeline, sequences_of
from media import copied, ffmpeg_frames, generated, indexed
from range_server import range_server

pytestmark = pytest.mark.needs_dali
CLIPS = ["h264_open_gop.mkv", "h264_edit_list.mp4", "h264_vfr.mkv", "h264_rot90.mp4", "hevc10.mkv", "h264_raw.h264"]

REQUESTS: dict[str, dict[str, Any]] = {
    "cropped": {"crop": (11, 7, 60, 101), "size": (56, 56)},
    "planar_normalized": {
        "size": (56, 56),
        "dtype": "float32",
        "layout": "CHW",
        "mean": [0.485, 0.456, 0.406],
        "std": [0.229, 0.224, 0.225],
    },
    "half": {"dtype": "float16", "scale": 1.0, "mean": [127.5], "std": [64.0]},
}


@functools.cache
def whole(clip: str) -> Any:
    return tricodec.decode_video(generated(clip), device="cpu")


def assert_frames(sequence: Sequence, clip: str, numbers: list[int]) -> None:
    expected = whole(clip)
    assert sequence.frames.shape == expected.frames[numbers].shape
    assert sequence.frames.tobytes() == expected.frames[numbers].tobytes()
    assert sequence.pts.dtype == np.float64
    assert sequence.pts.tolist() == np.asarray(expected.pts_seconds)[numbers].tolist()
    assert sequence.source == str(generated(clip))


@pytest.mark.parametrize("clip", CLIPS)
def test_read_video_gives_consecutive_sequences_of_a_file(clip: str) -> None:
    num_frames = len(whole(clip).frames)

    batches = read_batches(num_frames // 14 + 1, batch_size=2, filenames=[str(generated(clip))], sequence_length=7)

    given = [sequence for batch in batches for sequence in batch]
    assert len(given) > num_frames // 7
    for i, sequence in enumerate(given):
        first = i % (num_frames // 7) * 7
        assert_frames(sequence, clip, list(range(first, first + 7)))


@pytest.mark.parametrize("clip", ["h264_444.mp4", "vp9.webm"])
def test_read_video_gives_the_samples_that_ffmpeg_decodes(clip: str) -> None:
    expected = ffmpeg_frames(generated(clip))
    words: dict[str, Any] = {"color": "yuv", "layout": "CHW"} if clip == "h264_444.mp4" else {"format": "yuv420p"}

    batches = read_batches(2, batch_size=2, filenames=str(generated(clip)), sequence_length=5, **words)

    given = [frame.tobytes() for batch in batches for sequence in batch for frame in sequence.frames]
    assert given == expected[:20]


@pytest.mark.parametrize("step", [1, 3, 12, 40])
@pytest.mark.parametrize("stride", [1, 4])
def test_read_video_begins_a_sequence_every_step_frames(stride: int, step: int) -> None:
    clip = "h264_bframes.mp4"
    span = 4 * stride + 1
    starts = list(range(0, len(whole(clip).frames) - span + 1, step))

    pipe = reading_pipeline(
        batch_size=3, filenames=[str(generated(clip))], sequence_length=5, stride=stride, step=step,
        enable_frame_num="sequence",
    )  # fmt: skip
    given = [sequence for _ in range(4) for sequence in sequences_of(pipe.run())]

    assert pipe.reader_meta("reader")["epoch_size"] == len(starts)
    for i, sequence in enumerate(given):
        start = starts[i % len(starts)]
        numbers = list(range(start, start + span, stride))
        assert_frames(sequence, clip, numbers)
        assert sequence.more[0].tolist() == numbers


@pytest.mark.parametrize("request_name", REQUESTS)
def test_read_video_gives_the_bytes_of_the_python_door_for_a_request(request_name: str) -> None:
    request = REQUESTS[request_name]
    clip = generated("h264_bframes.mp4")

    (batch,) = read_batches(1, batch_size=3, filenames=[str(clip)], sequence_length=4, stride=2, **for_dali(request))

    for i, sequence in enumerate(batch):
        expected = tricodec.decode_video(clip, start=8 * i, stride=2, count=4, device="cpu", **request).frames
        assert sequence.frames.dtype == expected.dtype
        assert sequence.frames.shape == expected.shape
        assert sequence.frames.tobytes() == expected.tobytes()


PADDED: dict[str, list[int | None]] = {
    "constant": [0, 1, 2, None, None, None, None, None],
    "edge": [0, 1, 2, 2, 2, 2, 2, 2],
    "reflect_1001": [0, 1, 2, 2, 1, 0, -1, -2],
    "reflect_101": [0, 1, 2, 1, 0, -1, -2, -3],
}


@pytest.mark.parametrize("pad_mode", PADDED)
@pytest.mark.parametrize("words", [{}, {"dtype": "float32", "layout": "CHW"}, {"format": "yuv420p"}], ids=repr)
def test_read_video_fills_up_the_last_sequence(pad_mode: str, words: dict[str, Any], tmp_path: Path) -> None:
    clip = generated("h264_bframes.mp4")
    listed = tmp_path / "list.txt"
    listed.write_text(f"{clip} 0 0 11\n")  # 11 frames: one sequence of 8, one of 3

    (batch,) = read_batches(
        1, batch_size=2, file_list=str(listed), file_list_format="frames", sequence_length=8, pad_mode=pad_mode,
        fill_value=7, enable_frame_num="sequence", **for_dali(words),
    )  # fmt: skip

    padded = batch[1]
    numbers = [-1 if i is None else 8 + i for i in PADDED[pad_mode]]
    expected = read_batches(1, batch_size=1, filenames=str(clip), sequence_length=11, **for_dali(words))[0][0]
    assert padded.more[1].tolist() == numbers
    assert batch[0].more[1].tolist() == list(range(8))
    for i, number in enumerate(numbers):
        if number < 0:
            assert np.all(padded.frames[i] == 7)
            assert np.isnan(padded.pts[i])
        else:
            assert np.array_equal(padded.frames[i], expected.frames[number])
            assert padded.pts[i] == expected.pts[number]


@pytest.mark.parametrize("num_threads", [1, 2, 5])
@pytest.mark.parametrize("clip", ["h264_one_gop.mp4", "av1.mp4"])
def test_read_video_gives_the_same_on_any_number_of_threads(num_threads: int, clip: str) -> None:
    batches = read_batches(
        3, batch_size=4, filenames=str(generated(clip)), sequence_length=4, step=3, random_shuffle=True, seed=3,
        enable_frame_num=True, options={"num_threads": num_threads},
    )  # fmt: skip

    for batch in batches:
        for sequence in batch:
            start = int(sequence.more[0][0])
            assert_frames(sequence, clip, list(range(start, start + 4)))


VIDEOS = {"run/a.mp4": "h264_bframes.mp4", "run/b.mkv": "h264_vfr.mkv", "jump/c.webm": "vp9.webm"}
SIZE = (24, 32)


@pytest.fixture(scope="module")
def index(tmp_path_factory: pytest.TempPathFactory) -> tricodec.data.DatasetIndex:
    folder = copied(VIDEOS, tmp_path_factory.mktemp("videos"))
    (folder / "broken.mp4").write_bytes(b"broken")
    return tricodec.data.DatasetIndex(indexed(folder))


def read(num_clips: int, **arguments: Any) -> list[list[np.ndarray[Any, Any]]]:
    """The outputs of a reader for each of the first clips."""
    import tricodec.dali  # noqa: F401  # registers the operator
    from nvidia.dali import fn, pipeline_def

    @pipeline_def(batch_size=1, num_threads=2, device_id=None)
    def pipeline() -> Any:
        return tuple(fn.tricodec.read_video(name="reader", size=SIZE, **arguments))

    pipe = pipeline()
    pipe.build()
    assert pipe.reader_meta("reader")["epoch_size"] == num_clips
    return [[np.array(output.at(0)) for output in pipe.run()] for _ in range(num_clips)]


@pytest.mark.parametrize("as_path", [False, True])
def test_sequences_are_the_clips_of_a_dataset_with_their_labels(
    index: tricodec.data.DatasetIndex, as_path: bool
) -> None:
    clips = tricodec.data.Dataset(index, clip_length=4, stride=2, step=7, size=SIZE)
    labels = [10 * row for row in range(len(index))]
    given = Path(index.path) if as_path else index
    found = read(len(clips), index=given, labels=labels, sequence_length=4, stride=2, step=7)
    for number, (frames, pts, label) in enumerate(found):
        clip = clips[number]
        np.testing.assert_array_equal(frames, clip["frames"])
        np.testing.assert_array_equal(pts, clip["pts_seconds"])
        assert label.tolist() == [labels[clip["video"]]]


def test_a_video_with_a_url_is_refused_by_name(tmp_path: Path) -> None:
    import tricodec.dali

    pytest.importorskip("fsspec")
    with range_server() as server:
        url = server.put("a.mp4", generated("h264_bframes.mp4").read_bytes())
        tricodec.data.DatasetIndex.build([url], tmp_path / "index.parquet")
        with pytest.raises(ValueError, match=r"/a\.mp4' is a URL, and read_video reads files"):
            tricodec.dali.index_arguments(tmp_path / "index.parquet")
