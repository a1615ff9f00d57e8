# SPDX-License-Identifier: Apache-2.0
"""The rows of docs/migration/dali.md: DALI's operator and ours, with the same words, on the same files.

DALI decodes VP9 on the CPU. Its readers.video and readers.video_resize need a GPU: there the oracle is its reader or
its resize on the CPU, or PyAV.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from dali_testing import constant_source, read
from media import generated

pytestmark = pytest.mark.needs_dali

CLIP = "vp9_numbers.webm"
Sample = list[np.ndarray]


def run(operator: Callable[..., Any], *, batch_size: int = 4, num_batches: int = 2, **words: Any) -> list[Sample]:
    """The samples that a pipeline around an operator gives, with all of their outputs."""
    from nvidia.dali import Pipeline

    pipe = Pipeline(batch_size=batch_size, num_threads=2, device_id=None, seed=1)
    with pipe:
        outputs = operator(**words)
        pipe.set_outputs(*(outputs if isinstance(outputs, (list, tuple)) else [outputs]))
    pipe.build()
    samples = []
    for _ in range(num_batches):
        outputs = pipe.run()
        samples += [[np.array(output.at(i)) for output in outputs] for i in range(len(outputs[0]))]
    return samples


def ops() -> Any:
    """The operators of DALI, and ours."""
    import tricodec.dali  # noqa: F401  (registers them)
    from nvidia.dali import fn

    return fn


def read_by(operator: Callable[..., Any], **words: Any) -> list[Sample]:
    """Of the clip, unless the words name files."""
    words = {"sequence_length": 4, "enable_timestamps": False} | words
    if "file_list" not in words and "file_root" not in words:
        words = {"filenames": [str(generated(CLIP))]} | words
    return run(operator, **words)


def decoded_by(operator: Callable[..., Any], **words: Any) -> list[Sample]:
    """Two samples of the clip; words that are tuples have a value for each."""
    fn = ops()

    def call(**words: Any) -> Any:
        encoded = fn.external_source(source=constant_source([read(generated(CLIP))] * 2), batch=True)
        tensors = {
            name: fn.external_source(source=constant_source([np.asarray(each, np.int32) for each in value]), batch=True)
            for name, value in words.items()
            if isinstance(value, tuple)
        }
        return operator(encoded, **(words | tensors))

    return run(call, batch_size=2, num_batches=1, **words)


def assert_same(theirs: list[Sample], mine: list[Sample], tolerance: float = 1) -> None:
    """Numbers are equal; pictures differ by rounding only, where two pictures of the clip differ by far more."""
    assert len(theirs) == len(mine) > 0
    for expected, given in zip(theirs, mine, strict=True):
        assert [output.shape for output in given] == [output.shape for output in expected]
        assert [output.dtype for output in given] == [output.dtype for output in expected]
        if given[0].size:
            assert np.max(np.abs(given[0].astype(np.float64) - expected[0])) <= tolerance
        for a, b in zip(expected[1:], given[1:], strict=True):
            np.testing.assert_allclose(b, a, atol=1e-6)


@cache
def pictures() -> np.ndarray:
    """All frames, by DALI."""
    fn = ops()
    (sample,) = run(
        lambda: fn.decoders.video(fn.external_source(source=constant_source([read(generated(CLIP))]), batch=True)),
        batch_size=1,
        num_batches=1,
    )
    return sample[0]


def listed(folder: Path, *parts: str) -> str:
    path = folder / "list.txt"
    path.write_text("".join(f"{generated(CLIP)} {part}\n" for part in parts))
    return str(path)


def root(folder: Path) -> str:
    for directory, name in (("a", "1.webm"), ("a", "2.webm"), ("b", "3.webm")):
        (folder / "root" / directory).mkdir(parents=True, exist_ok=True)
        (folder / "root" / directory / name).symlink_to(generated(CLIP))
    return str(folder / "root")


NUMBERS: dict[str, Any] = {"enable_frame_num": "sequence"}
TWO_FILES: dict[str, Any] = {"files": 2, "labels": [5, 7]}
MODES = ("none", "constant", "edge", "reflect_1001", "reflect_101", "repeat", "symmetric", "reflect")
#: By row of the page: words of a reader. "files", "root" and "lines" (of a file_list) are files that the test makes.
READERS: dict[str, list[dict[str, Any]]] = {
    "file_root": [{"root": True, "step": 11}],
    "file_list": [{"lines": ["3", "9 0.4 0.9", "2 0.2 0.6"], "step": 8}],
    "labels": [TWO_FILES | {"step": 11}],
    "sequence_length": [{"sequence_length": 7}],
    "stride": [{"stride": 2, "pad_mode": "edge"}],
    "step": [{"step": 3, "pad_mode": "constant"}],
    "pad_mode": [{"pad_mode": mode, "sequence_length": 11, "stride": 2} for mode in MODES]
    + [{"pad_mode": "reflect_101", "lines": ["1 8 11"], "file_list_format": "frames", "sequence_length": 7}],
    "fill_value": [{"pad_mode": "constant", "sequence_length": 20, "fill_value": value} for value in ([1, 2, 3],)],
    "enable_frame_num": [{"enable_frame_num": value} for value in (False, "scalar", "sequence")],
    "enable_timestamps": [TWO_FILES | {"enable_timestamps": value, "pad_mode": "constant"} for value in (True,)],
    "file_list_format": [{"lines": ["1 3 17", "2 -9 -2"], "file_list_format": "frames"}],
    "file_list_rounding": [
        {"lines": ["1 0.21 0.63"], "file_list_rounding": rounding, "sequence_length": 2}
        for rounding in ("start_down_end_up", "start_up_end_down", "all_up", "all_down")
    ],
    "num_shards, shard_id": [{"num_shards": 3, "shard_id": 1}],
    "stick_to_shard": [{"num_shards": 2, "shard_id": 1, "stick_to_shard": True}],
    "pad_last_batch": [{"pad_last_batch": True}],
    "uniform_sample": [{"uniform_sample": True, "sequence_length": length, "files": 2} for length in (4, 17, 40)]
    + [{"uniform_sample": True, "sequence_length": 7, "lines": ["1 8 11", "2 3 4"], "file_list_format": "frames"}],
}


@pytest.mark.parametrize(
    ("words"), [pytest.param(words, id=f"{row}-{i}") for row, each in READERS.items() for i, words in enumerate(each)]
)
def test_read_video_reads_what_dalis_reader_reads(words: dict[str, Any], tmp_path: Path) -> None:
    words = NUMBERS | words
    files, in_root, lines = (words.pop(name, None) for name in ("files", "root", "lines"))
    if files:
        words["filenames"] = [str(generated(CLIP))] * files
    if in_root:
        words["file_root"] = root(tmp_path)
    if lines:
        words["file_list"] = listed(tmp_path, *lines)

    assert_same(read_by(ops().experimental.readers.video, **words), read_by(ops().tricodec.read_video, **words))


def mine_of(**words: Any) -> list[Sample]:
    return read_by(ops().tricodec.read_video, num_batches=1, **words)


def test_file_list_frame_num_takes_frames_as_readers_video_does(tmp_path: Path) -> None:
    file_list = listed(tmp_path, "1 3 17", "2 -9 -2")

    (older, newer) = (
        mine_of(file_list=file_list, **words, **NUMBERS)
        for words in (
            {"file_list_frame_num": True},
            {"file_list_format": "frames", "file_list_rounding": "start_up_end_down"},
        )
    )

    assert_same(newer, older, tolerance=0)
    assert older[0][2].tolist() == [3, 4, 5, 6]


@pytest.mark.parametrize(("include", "first", "last"), [(False, 6, 14), (True, 5, 15)])
def test_file_list_include_preceding_frame_rounds_as_readers_video_does(
    include: bool, first: int, last: int, tmp_path: Path
) -> None:
    """readers.video: ceil(start * fps) and floor(end * fps), or with the argument floor and ceil."""
    samples = mine_of(
        file_list=listed(tmp_path, "1 0.21 0.59"), file_list_include_preceding_frame=include, sequence_length=1,
        batch_size=last - first + 1, **NUMBERS,
    )  # fmt: skip

    assert [int(sample[2][0]) for sample in samples] == [*range(first, last), first]


@pytest.mark.parametrize(("normalized", "scale"), [(False, 1), (True, 1 / 255)])
def test_normalized_scales_floats_as_readers_video_does(normalized: bool, scale: float) -> None:
    from nvidia.dali import types

    frames = mine_of(dtype=types.FLOAT, normalized=normalized)[0][0]

    assert frames.dtype == np.float32
    np.testing.assert_allclose(frames, pictures()[:4] * scale, atol=1.01 * scale)


def test_pad_sequences_gives_zeros_and_minus_one_as_readers_video_does() -> None:
    (sample, *_) = mine_of(
        pad_sequences=True, sequence_length=30, labels=[3], enable_timestamps=True, batch_size=1, **NUMBERS
    )
    frames, label, numbers, times = sample

    assert not frames[25:].any()
    assert frames[:25].any(axis=(1, 2, 3)).all()
    assert label.tolist() == [3]
    assert numbers.tolist() == [*range(25), *[-1] * 5]
    np.testing.assert_allclose(times, [*(np.arange(25) / 25), *[-1] * 5])


DECODERS: dict[str, list[dict[str, Any]]] = {
    "start_frame": [{"start_frame": 7}, {"start_frame": (3, 20)}],
    "end_frame": [{"end_frame": 5}, {"start_frame": 20, "end_frame": 30}, {"end_frame": (4, 26)}],
    "sequence_length": [
        {"sequence_length": 6},
        {"start_frame": 20, "sequence_length": 9},
        {"sequence_length": 0},
    ],
    "stride": [
        {"stride": 7},
        {"stride": (2, 3), "sequence_length": 4},
    ],
    "frames": [
        {"frames": [3, 1, 1, 24]},
        {"frames": [3, 30, 1]},
        {"frames": ([1, 2], [26, 5])},
        {"frames": [3, 30, 25, 26], "pad_mode": "reflect_101"},
        {"frames": [3, 30, 25], "pad_mode": "edge"},
    ],
    "pad_mode": [{"start_frame": 17, "sequence_length": 12, "stride": 3, "pad_mode": mode} for mode in MODES[1:]]
    + [{"start_frame": 22, "sequence_length": 100, "pad_mode": "reflect_101"}],
    "fill_value": [
        {"sequence_length": 30, "fill_value": 7},
        {"frames": [3, 30, 4], "fill_value": [1, 2, 3]},
    ],
}


@pytest.mark.parametrize(
    ("words"), [pytest.param(words, id=f"{row}-{i}") for row, each in DECODERS.items() for i, words in enumerate(each)]
)
def test_decode_video_decodes_what_dalis_decoder_decodes(words: dict[str, Any]) -> None:
    mine = decoded_by(ops().tricodec.decode_video, enable_timestamps=False, **words)
    assert_same(decoded_by(ops().decoders.video, **words), mine)


def resized(frames: np.ndarray, **words: Any) -> np.ndarray:
    """DALI's own resize of frames, on the CPU."""
    fn = ops()
    (sample,) = run(
        lambda **words: fn.resize(
            fn.external_source(source=constant_source([frames]), batch=True, layout="FHWC"),
            subpixel_scale=False,
            **words,
        ),
        batch_size=1,
        num_batches=1,
        **words,
    )
    return sample[0]


def resize_words() -> dict[str, list[dict[str, Any]]]:
    from nvidia.dali import types

    return {
        "resize_x, resize_y": [{"resize_x": 61}, {"resize_y": 47}, {"resize_x": 50, "resize_y": 90}],
        "resize_shorter": [{"resize_shorter": size} for size in (17, 64, 99, 131.0, 240)],
        "resize_longer": [{"resize_longer": size} for size in (33, 90, 213)],
        "mode": [
            {"resize_x": 61, "resize_y": 30, "mode": mode}
            for mode in ("default", "stretch", "not_larger", "not_smaller")
        ]
        + [{"resize_x": 61, "mode": mode} for mode in ("stretch", "not_larger", "not_smaller")],
        "max_size": [
            {"resize_shorter": 100, "max_size": 110}, {"resize_shorter": 100, "max_size": [90, 1000]},
            {"resize_x": 300, "max_size": 200}, {"resize_x": 80, "resize_y": 80, "mode": "not_smaller", "max_size": 90},
        ],
        "interp_type": [
            {"resize_x": 61, "resize_y": 47, "interp_type": kind}
            for kind in (types.INTERP_NN, types.INTERP_LINEAR, types.INTERP_CUBIC, types.INTERP_TRIANGULAR)
        ],
        "antialias": [{"resize_x": 61, "resize_y": 47, "antialias": False}],
    }  # fmt: skip


@pytest.mark.parametrize(
    "row", ["resize_x, resize_y", "resize_shorter", "resize_longer", "mode", "max_size", "interp_type", "antialias"]
)
def test_read_video_resizes_as_dalis_resize_does(row: str) -> None:
    for words in resize_words()[row]:
        mine = mine_of(batch_size=1, **words)[0][0]
        expected = resized(pictures()[:4], **words)

        assert mine.shape == expected.shape, words
        assert np.abs(mine.astype(int) - expected).mean() < 1.5, words


REFUSED: dict[str, tuple[str, dict[str, Any], str]] = {
    "start": ("decode", {"start": 1, "start_frame": 2}, "start and start_frame are both given.*DALI's name"),
    "frames": ("decode", {"frames": [1], "stride": 2}, "frames and stride are both given"),
    "pad_mode": ("decode", {"pad_mode": "zeros"}, "pad_mode 'zeros' is not one of none, constant"),
    "size": ("read", {"size": (9, 9), "resize_x": 9}, "size and resize_x are both given"),
    "mode": ("read", {"mode": "stretch"}, "mode is for resize_x, resize_y"),
    "normalized": ("read", {"normalized": True}, "normalized gives values from 0 to 1, which uint8 does not hold"),
    "fill_value": ("read", {"fill_value": [1, 2]}, "fill_value has 2 numbers; it takes one, or one for each of 3"),
    "fill_raw": ("read", {"fill_value": [1, 2, 3], "format": "yuv420p"}, "fill_value has 3 numbers; it takes one for"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_words_that_exclude_each_other_are_an_error(case: str) -> None:
    operator, words, message = REFUSED[case]

    with pytest.raises(ValueError, match=message):
        mine_of(**words) if operator == "read" else decoded_by(ops().tricodec.decode_video, **words)


@pytest.mark.parametrize(
    ("words", "error", "message"),
    [
        ({"start_frame": 25}, IndexError, "start_frame is 25, and the video has 25 frames"),
        ({"start_frame": 5, "end_frame": 5}, ValueError, "end_frame is 5; it must be larger than start_frame, 5"),
        ({"frames": [30], "pad_mode": "none"}, IndexError, "frames has the number 30, and the video has 25 frames"),
        ({"sequence_length": 4, "stride": 0}, ValueError, "stride is 0; it must be at least 1"),
    ],
    ids=repr,
)
def test_frames_that_do_not_exist_are_an_error(words: dict[str, Any], error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        decoded_by(ops().tricodec.decode_video, **words)
