# SPDX-License-Identifier: Apache-2.0
"""The ensemble video_scenes on a real tritonserver: frames, and what a model behind the decoder says of them."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tricodec
from media import ffmpeg, generated
from tricodec.serve import Server
from triton_testing import infer, videos

pytestmark = pytest.mark.needs_triton

REQUESTS: dict[str, dict[str, Any]] = {
    "every_frame": {},
    "small": {"size": (45, 80)},
    "some_frames_of_a_part": {"start": 5, "stride": 3, "count": 7, "crop": (10, 20, 101, 103)},
    "one_frame": {"start": -1},
    "no_frames": {"count": 0},
}
CUTS = [0, 12, 30, 37]
"""Where the scenes of the fixture `scenes` begin; the first frame has none before it."""


@pytest.fixture(scope="module")
def server() -> Iterator[Any]:
    with Server(models=["video_scenes"]) as started:
        yield started


@pytest.fixture(scope="module")
def scenes(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """A moving picture, two of one color, another moving picture."""
    path = tmp_path_factory.mktemp("scenes") / "scenes.mp4"
    lengths = [*np.diff(CUTS).tolist(), 10]
    pictures = ["testsrc2=s=160x90:r=25", "color=c=navy:s=160x90:r=25", "color=c=orange:s=160x90:r=25",
                "mandelbrot=s=160x90:r=25"]  # fmt: skip
    sources = [
        f"{picture},trim=end_frame={length}[v{i}]"
        for i, (picture, length) in enumerate(zip(pictures, lengths, strict=True))
    ]
    graph = ";".join([*sources, "[v0][v1][v2][v3]concat=n=4:v=1,format=yuv420p"])
    ffmpeg("-filter_complex", graph, "-c:v libx264 -crf 20", path)
    return path.read_bytes()


def ask(server: Any, *files: bytes, thresholds: list[float] | None = None, **options: Any) -> dict[str, Any]:
    """The answer to one request; every file gets the same options."""
    tensors = {"VIDEO": videos(*files)}
    for name, value in options.items():
        tensors[name.upper()] = np.array([np.atleast_1d(value)] * len(files), np.int64)
    if thresholds is not None:
        tensors["THRESHOLD"] = np.array(thresholds, np.float32)[:, np.newaxis]
    return infer(server.grpc_url, tensors, model="video_scenes")


def colors(frames: Any) -> list[dict[tuple[int, ...], int]]:
    """How often each range of colors is met in each frame, counted one by one."""
    counted = []
    for frame in frames:
        numbers, counts = np.unique(frame.reshape(-1, 3) // 32 @ np.array([64, 8, 1]), return_counts=True)
        ranges = [(number // 64, number // 8 % 8, number % 8) for number in numbers.tolist()]
        counted.append(dict(zip(ranges, counts.tolist(), strict=True)))
    return counted


def expected_scores(frames: Any) -> list[np.float32]:
    counted = colors(frames)
    scores = [np.float32(0)] * len(counted[:1])
    for before, after in itertools.pairwise(counted):
        kept = sum(min(count, before.get(color, 0)) for color, count in after.items())
        num_pixels = sum(after.values())
        scores.append(np.float32((num_pixels - kept) / num_pixels))
    return scores


def expected_embedding(frames: Any) -> Any:
    whole = np.zeros((8, 8, 8), np.int64)
    for counted in colors(frames):
        for color, count in counted.items():
            whole[color] += count
    return np.sqrt(whole.reshape(-1) / max(1, whole.sum())).astype(np.float32)


@pytest.mark.parametrize("name", REQUESTS)
def test_answers_are_those_of_the_same_arithmetic_on_the_frames_of_the_python_door(server: Any, name: str) -> None:
    path = generated("h264_bframes.mp4")
    video = tricodec.decode_video(path, **REQUESTS[name])

    answer = ask(server, path.read_bytes(), **REQUESTS[name])

    assert answer["CUT_SCORES"].dtype == np.float32
    assert answer["CUT_SCORES"][0].tolist() == expected_scores(video.frames)
    np.testing.assert_array_equal(answer["EMBEDDING"][0], expected_embedding(video.frames))
    np.testing.assert_array_equal(answer["PTS"][0], video.pts_seconds)
    np.testing.assert_array_equal(answer["CUTS"][0], answer["CUT_SCORES"][0] >= 0.5)


def test_cuts_are_where_the_scenes_were_joined(server: Any, scenes: bytes) -> None:
    answer = ask(server, scenes)

    assert np.flatnonzero(answer["CUTS"][0]).tolist() == CUTS[1:]
    assert answer["PTS"][0][CUTS].tolist() == [cut / 25 for cut in CUTS]


def test_embeddings_of_alike_clips_have_a_larger_product(server: Any, scenes: bytes) -> None:
    first, again, other = (ask(server, scenes, **part)["EMBEDDING"][0] for part in (
        {"count": 6}, {"start": 6, "count": 6}, {"start": 12, "count": 6},
    ))  # fmt: skip

    assert [float(vector @ vector) for vector in (first, again, other)] == pytest.approx([1, 1, 1])
    assert first @ again > 0.9
    assert first @ other < 0.3


def test_each_video_of_a_request_has_its_own_threshold(server: Any, scenes: bytes) -> None:
    scores = ask(server, scenes)["CUT_SCORES"][0]
    middle = float(np.sort(scores)[-2])

    cuts = ask(server, scenes, scenes, scenes, thresholds=[0.0, middle, 1.0])["CUTS"]

    assert cuts.sum(axis=1).tolist() == [len(scores), 2, int((scores >= 1).sum())]


def test_damage_that_decoding_met_is_told(server: Any) -> None:
    data = generated("h264.ts").read_bytes()
    cut_off = data[: len(data) * 2 // 3]
    expected = tricodec.decode_video(cut_off)

    answer = ask(server, cut_off)

    assert expected.num_damaged_packets > 0
    assert answer["NUM_DAMAGED_PACKETS"].tolist() == [[expected.num_damaged_packets]]
    assert answer["CUT_SCORES"].shape == (1, len(expected.frames))


@pytest.mark.parametrize(
    ("tensors", "text"),
    [
        ({"VIDEO": videos(b"no video")}, r"CorruptDataError: "),
        ({"THRESHOLD": np.array([[1.5]], np.float32)}, r"ValueError: THRESHOLD is 1\.5; accepted are 0 to 1"),
        ({"THRESHOLD": np.array([[np.nan]], np.float32)}, r"ValueError: THRESHOLD is nan; accepted are 0 to 1"),
        ({"THRESHOLD": np.array([[0.5, 1]], np.float32)}, r"ValueError: THRESHOLD: expected one value, got 2"),
        ({"SIZE": np.array([[5]])}, r"ValueError: SIZE: expected 2 values \(height, width\), got 1"),
        ({"START": np.array([[50]])}, r"IndexError: .*50"),
    ],
    ids=["no_video", "threshold_above_one", "threshold_no_number", "two_thresholds", "short_size", "past_the_end"],
)
def test_what_a_step_refuses_is_the_error_of_the_ensemble(server: Any, tensors: dict[str, Any], text: str) -> None:
    from tritonclient.utils import InferenceServerException

    sent = {"VIDEO": videos(generated("h264_bframes.mp4").read_bytes()), **tensors}
    with pytest.raises(InferenceServerException, match=text) as caught:
        infer(server.grpc_url, sent, model="video_scenes")

    assert "INVALID_ARGUMENT" in caught.value.status()


@pytest.mark.parametrize("shape", [(2, 5, 7, 9, 3), (1, 1, 1, 1, 3), (1, 3, 64, 48, 3)], ids=str)
def test_the_last_step_takes_frames_of_any_client(server: Any, shape: tuple[int, ...]) -> None:
    frames = np.random.default_rng(7).integers(0, 256, shape, np.uint8)

    answer = infer(server.grpc_url, {"FRAMES": frames}, ["CUT_SCORES", "EMBEDDING"], model="frame_histograms")

    assert set(answer) == {"CUT_SCORES", "EMBEDDING"}
    for index, clip in enumerate(frames):
        assert answer["CUT_SCORES"][index].tolist() == expected_scores(clip)
        np.testing.assert_array_equal(answer["EMBEDDING"][index], expected_embedding(clip))


def test_asking_for_the_ensemble_serves_its_steps(server: Any) -> None:
    assert server.models == ["video_scenes", "video_decode", "frame_histograms"]
    assert Path(tricodec.__file__).with_name("model_repository").joinpath("video_scenes", "1").is_dir()
