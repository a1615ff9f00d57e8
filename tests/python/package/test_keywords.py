# SPDX-License-Identifier: Apache-2.0
"""Wrong keywords: errors name the nearest accepted one, and type checkers find them."""

from __future__ import annotations

import inspect
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import media
import numpy as np
import pytest
import tricodec

CLIP = "h264_bframes.mp4"


@pytest.fixture(scope="module")
def reader() -> Any:
    with tricodec.FrameReader(media.generated(CLIP), device="cpu") as opened:
        yield opened


WRONG: dict[str, tuple[Callable[[Any], Any], str]] = {
    "Transform": (lambda _: tricodec.Transform(sise=(2, 2)), r"Transform\(\) got .*'sise'; did you mean 'size'"),
    "FrameReader": (lambda _: tricodec.FrameReader("x", devise="cpu"), "'devise'; did you mean 'device'"),
    "batch": (lambda reader: reader.batch([1], layuot="CHW"), r"batch\(\) got .*'layuot'; did you mean 'layout'"),
    "batches": (lambda reader: reader.batches(2, fsp=3), "'fsp'; did you mean 'fps'"),
    "iterate": (lambda reader: reader.iterate(strat=3), "'strat'; did you mean 'start'"),
    "select": (lambda reader: reader.select(sizes=3), r"select\(\) got an unexpected keyword argument 'sizes'"),
    "decode_video": (lambda _: tricodec.decode_video("x", tims=[1]), "'tims'; did you mean 'times'"),
    "far away": (lambda _: tricodec.decode_video("x", qqqq=1), "'qqqq'; accepted: start, stride, count, indices"),
    "Encoder": (lambda _: tricodec.Encoder(64, 48, codek="h264"), "'codek'; did you mean 'codec'"),
    "missing": (lambda reader: reader.batches(), r"batches\(\) is missing the argument 'batch_size'"),
    "positional": (lambda _: tricodec.Transform((2, 2)), "give the others by their names: crop, size"),
    "wrong type": (lambda _: tricodec.FrameReader("x", stream_index="one"), "stream_index='one'; expected"),
}


@pytest.mark.parametrize("name", WRONG)
def test_a_wrong_call_is_explained_without_pybind11s_words(name: str, reader: Any) -> None:
    call, text = WRONG[name]
    with pytest.raises(TypeError, match=text) as caught:
        call(reader)
    assert "incompatible" not in str(caught.value)
    assert "overload" not in str(caught.value)


@pytest.mark.parametrize("wrong", [{"layout": "NOPE"}, {"sise": (1, 2)}, {"mean": "x"}])
def test_an_object_that_was_not_made_is_in_no_traceback(wrong: dict[str, Any]) -> None:
    """Tools show the variables of a traceback; the repr of such an object ended the process."""
    program = (
        "import sys, traceback, tricodec\n"
        f"try: tricodec.Transform(**{wrong!r})\n"
        "except Exception:\n"
        "    shown = traceback.TracebackException(*sys.exc_info(), capture_locals=True).format()\n"
        "    print(''.join(shown))\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "keywords = " in done.stdout


def test_signatures_are_those_of_the_arguments() -> None:
    parameters = inspect.signature(tricodec.FrameReader.batch).parameters
    assert list(parameters) == ["self", "indices", "transform", "out", "stream", "pinned", "options"]
    assert parameters["pinned"].default is False
    assert parameters["pinned"].kind is inspect.Parameter.KEYWORD_ONLY
    assert inspect.signature(tricodec.Transform).parameters["layout"].default == "HWC"


SPELLINGS: list[tuple[dict[str, Any], dict[str, Any]]] = [
    ({"layout": "chw"}, {"layout": "CHW"}),
    ({"layout": "TCHW"}, {"layout": "CHW"}),
    ({"layout": "nhwc"}, {"layout": "HWC"}),
    ({"color": "RGB"}, {"color": "rgb"}),
    ({"color": "BGR"}, {"color": "bgr"}),
    ({"color": "grey"}, {"color": "gray"}),
    ({"dtype": "Float32"}, {"dtype": "float32"}),
    ({"dtype": "fp16"}, {"dtype": "float16"}),
    ({"dtype": np.float32}, {"dtype": "float32"}),
    ({"dtype": np.dtype("uint8")}, {"dtype": "uint8"}),
    ({"resize": "Bicubic"}, {"resize": "bicubic"}),
    ({"matrix": "BT709", "range": "Full"}, {"matrix": "bt709", "range": "full"}),
]


@pytest.mark.parametrize(("said", "meant"), SPELLINGS, ids=str)
def test_usual_spellings_mean_the_same(said: dict[str, Any], meant: dict[str, Any]) -> None:
    assert tricodec.Transform(**said).options == tricodec.Transform(**meant).options


@pytest.mark.parametrize(("said", "meant"), [("h265", "hevc"), ("H.264", "h264"), ("AVC", "h264"), ("AV01", "av1")])
def test_codecs_have_the_names_that_people_say(said: str, meant: str) -> None:
    assert tricodec.encoder_for(said, "cpu") == tricodec.encoder_for(meant, "cpu")


def test_devices_are_taken_in_any_case() -> None:
    assert tricodec.resolve_device("CPU") == "cpu"
    with pytest.raises((tricodec.DeviceError, ValueError), match="cuda"):
        tricodec.resolve_device("gpu:63")


class Device:
    """As torch.device is."""

    def __init__(self, kind: str, index: int | None) -> None:
        self.type = kind
        self.index = index


def test_a_device_of_torch_is_taken() -> None:
    with tricodec.FrameReader(media.generated(CLIP), device=Device("cpu", None)) as reader:  # type: ignore[arg-type]
        assert reader.device == "cpu"
    with pytest.raises(tricodec.DeviceError, match="cuda:63"):
        tricodec.FrameReader(media.generated(CLIP), device=Device("cuda", 63))  # type: ignore[arg-type]


@pytest.mark.needs_torch
def test_tensors_and_dtypes_of_torch_are_taken() -> None:
    import torch

    path = media.generated(CLIP)
    expected = tricodec.decode_video(path, indices=[4, 1], dtype="float32", device="cpu")
    got = tricodec.decode_video(path, indices=torch.tensor([4, 1]), dtype=torch.float32, device=torch.device("cpu"))
    assert np.array_equal(got.frames, expected.frames)
    times = torch.tensor(expected.pts_seconds, dtype=torch.float32)
    assert np.array_equal(tricodec.decode_video(path, times=times, policy="exact").indices, [4, 1])


CHECKED = """
import numpy as np
import tricodec
reader = tricodec.FrameReader("a")
reader.batch([1], {wrong})
"""


@pytest.mark.parametrize(
    ("words", "error"),
    [("size=(1, 2), layout='chw'", ""), ("sise=(1, 2)", '"sise"'), ("layout='NOPE'", '"layout"')],
)
def test_a_type_checker_finds_wrong_words(words: str, error: str, tmp_path: Path) -> None:
    pytest.importorskip("mypy")
    program = tmp_path / "program.py"
    program.write_text(CHECKED.replace("{wrong}", words))
    command = [sys.executable, "-m", "mypy", "--strict", "--cache-dir", str(tmp_path.parent / "cache"), str(program)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.returncode == 0) == (error == ""), done.stdout
    assert error in done.stdout
