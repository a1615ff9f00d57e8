# SPDX-License-Identifier: Apache-2.0
"""Keywords: errors name the nearest accepted one, and the tables of options are those of the library."""

from __future__ import annotations

import enum
from collections.abc import Callable
from pathlib import Path
from typing import Any, get_args

import media
import numpy as np
import pytest
import tricodec
from tricodec import _option_types
from tricodec.options import TRANSFORM_OPTIONS

CLIP = "h264_bframes.mp4"


@pytest.fixture(scope="module")
def reader() -> Any:
    with tricodec.FrameReader(media.generated(CLIP), device="cpu") as opened:
        yield opened


WRONG: dict[str, tuple[Callable[[Any], Any], str]] = {
    "FrameReader": (lambda _: tricodec.FrameReader("x", devise="cpu"), "device: str = 'auto'"),
    "batch": (lambda reader: reader.batch([1], layuot="CHW"), r"batch\(\) got .*'layuot'; did you mean 'layout'"),
    "decode_video": (lambda _: tricodec.decode_video("x", tims=[1]), "'tims'; did you mean 'times'"),
    "of another package": (lambda _: tricodec.decode_video("x", dimension_order="NHWC"), "did you mean 'layout'"),
    "a file to encode to": (lambda _: tricodec.encode_video(np.zeros(3), "a.mp4"), "'a.mp4'; encode_video returns"),
    "one video": (lambda _: tricodec.read_many("a.mp4"), "one video; put it into a list"),
}


@pytest.mark.parametrize("name", WRONG)
def test_a_wrong_call_is_answered_with_what_is_accepted(name: str, reader: Any) -> None:
    call, text = WRONG[name]
    with pytest.raises(TypeError, match=text):
        call(reader)


def test_every_codec_of_the_type_is_accepted() -> None:
    for name in get_args(_option_types.CodecName):
        tricodec.Decoder(name, device="cpu")
    with pytest.raises(ValueError, match="NOPE"):
        tricodec.Decoder("NOPE", device="cpu")


@pytest.mark.parametrize("name", [name for name, option in TRANSFORM_OPTIONS.items() if option.type == "text"])
def test_an_option_takes_each_value_that_its_table_lists_and_no_other(name: str) -> None:
    for value in TRANSFORM_OPTIONS[name].accepted:
        assert tricodec.Transform(**{name: value}).options[name] == value
    with pytest.raises(ValueError, match="NOPE"):
        tricodec.Transform(**{name: "NOPE"})


SPELLINGS: list[tuple[dict[str, Any], dict[str, Any]]] = [
    ({"layout": "chw"}, {"layout": "CHW"}),
    ({"layout": "TCHW"}, {"layout": "CHW"}),
    ({"color": "BGR"}, {"color": "bgr"}),
    ({"dtype": "Float32"}, {"dtype": "float32"}),
    ({"dtype": np.float32}, {"dtype": "float32"}),
    ({"matrix": "BT709", "range": "Full"}, {"matrix": "bt709", "range": "full"}),
    ({"dtype": "torch.float16"}, {"dtype": "float16"}),
    ({"resize": enum.Enum("InterpolationMode", {"BICUBIC": "bicubic"}).BICUBIC}, {"resize": "bicubic"}),
]


@pytest.mark.parametrize(("said", "meant"), SPELLINGS, ids=str)
def test_usual_spellings_mean_the_same(said: dict[str, Any], meant: dict[str, Any]) -> None:
    assert tricodec.Transform(**said).options == tricodec.Transform(**meant).options


class Device:
    """As torch.device is."""

    def __init__(self, kind: str, index: int | None) -> None:
        self.type = kind
        self.index = index


def test_a_device_of_torch_is_taken(tmp_path: Path) -> None:
    path, frames = media.generated(CLIP), np.zeros((1, 48, 64, 3), np.uint8)
    calls: list[Callable[[Any], Any]] = [
        lambda device: tricodec.FrameReader(path, device=device),
        lambda device: tricodec.Decoder("h264", device=device),
        lambda device: tricodec.Encoder(64, 48, device=device),
        lambda device: tricodec.encode.encoder_for("h264", device),
        lambda device: tricodec.encode_video(frames, device=device),
        lambda device: tricodec.transcode(path, tmp_path / "a.mp4", device=device, end=1, preset="UltraFast"),
        lambda device: tricodec.Codec(algorithm="LZ4", device=device).encode(frames),
        lambda device: tricodec.Plan(path, count=1, device=device),
    ]
    for call in calls:
        call(Device("cpu", None))
        call("CPU")
        with pytest.raises((tricodec.DeviceError, tricodec.UnsupportedError), match=r"cuda:63|no GPU"):
            call(Device("cuda", 63))


@pytest.mark.needs_torch
def test_tensors_and_dtypes_of_torch_are_taken() -> None:
    import torch

    path = media.generated(CLIP)
    expected = tricodec.decode_video(path, indices=[4, 1], dtype="float32", device="cpu")
    got = tricodec.decode_video(path, indices=torch.tensor([4, 1]), dtype=torch.float32, device=torch.device("cpu"))
    assert np.array_equal(got.frames, expected.frames)
    sized = {"dtype": torch.float16, "mean": torch.tensor([0.5, 0.4, 0.3]), "crop": torch.tensor([0, 0, 32, 48])}
    plain = {"dtype": "float16", "mean": [0.5, 0.4, 0.3], "crop": (0, 0, 32, 48)}
    transform = tricodec.Transform(size=torch.tensor([8, 16]), **sized)
    assert transform.options == tricodec.Transform(size=(8, 16), **plain).options
    with tricodec.AudioReader(media.generated("aac.mp4"), dtype=torch.int16) as sound:
        assert sound.dtype == "int16"
    times = torch.tensor(expected.pts_seconds, dtype=torch.float32)
    assert np.array_equal(tricodec.decode_video(path, times=times, policy="exact").indices, [4, 1])
