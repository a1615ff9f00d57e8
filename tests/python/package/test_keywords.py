# SPDX-License-Identifier: Apache-2.0
"""Wrong keywords: errors name the nearest accepted one, and type checkers find them."""

from __future__ import annotations

import enum
import pickle
import pydoc
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, get_args

import media
import numpy as np
import pytest
import tricodec
from tricodec import _words, sampling

CLIP = "h264_bframes.mp4"


@pytest.fixture(scope="module")
def reader() -> Any:
    with tricodec.FrameReader(media.generated(CLIP), device="cpu") as opened:
        yield opened


WRONG: dict[str, tuple[Callable[[Any], Any], str]] = {
    "batch": (lambda reader: reader.batch([1], layuot="CHW"), r"batch\(\) got .*'layuot'; did you mean 'layout'"),
    "batches": (lambda reader: reader.batches(2, fsp=3), "'fsp'; did you mean 'fps'"),
    "iterate": (lambda reader: reader.iterate(strat=3), "'strat'; did you mean 'start'"),
    "select": (lambda reader: reader.select(sizes=3), r"select\(\) got an unexpected keyword argument 'sizes'"),
    "decode_video": (lambda _: tricodec.decode_video("x", tims=[1]), "'tims'; did you mean 'times'"),
    "far away": (lambda _: tricodec.decode_video("x", qqqq=1), "'qqqq'; accepted: start, stride, count, indices"),
    "of another package": (lambda _: tricodec.decode_video("x", dimension_order="NHWC"), "did you mean 'layout'"),
    "read_av": (lambda _: tricodec.read_av("x", sample_rate=16000), r"read_av\(\) got .*did you mean 'audio_rate'"),
    "choose": (lambda _: sampling.choose(9, 25, sampling="qwen", nframes=4), r"choose\(\) .*did you mean 'num_frames'"),
    "a file to encode to": (lambda _: tricodec.encode_video(np.zeros(3), "a.mp4"), "'a.mp4'; encode_video returns"),
    "one video": (lambda _: tricodec.read_many("a.mp4"), "one video; put it into a list"),
    "words of a source": (lambda _: tricodec.read_many([("a.mp4", [1])]), r"\('a.mp4', \[1\]\); expected a source, or"),
    "a codec by its name": (lambda _: tricodec.Codec("zstd"), r"write Codec\(algorithm='zstd'\)"),
    "native": (lambda _: tricodec.FrameReader("x", devise="cpu"), "device: str = 'auto'"),
}


@pytest.mark.parametrize("name", WRONG)
def test_a_wrong_call_is_answered_with_what_is_accepted(name: str, reader: Any) -> None:
    call, text = WRONG[name]
    with pytest.raises(TypeError, match=text):
        call(reader)


@pytest.mark.parametrize("function", [tricodec.probe, tricodec.encoder_for, tricodec.picture_bytes])
def test_functions_can_be_sent_to_other_processes(function: Callable[..., Any]) -> None:
    assert pickle.loads(pickle.dumps(function)) is function


def test_help_says_what_the_options_of_a_call_are() -> None:
    text = pydoc.plain(pydoc.render_doc(tricodec.FrameReader.batch))
    assert "indices: object = None, transform: object = None, out: object = None" in text
    assert "the words of ``decode_video``" in text


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda word: tricodec.Transform(layout=word), _words.Layout),
        (lambda word: tricodec.Transform(color=word), _words.Color),
        (lambda word: tricodec.Transform(resize=word), _words.Resize),
        (lambda word: tricodec.Transform(chroma=word), _words.Chroma),
        (lambda word: tricodec.Transform(unspecified=word), _words.Unspecified),
        (lambda word: tricodec.Transform(matrix=word), _words.Matrix),
        (lambda word: tricodec.Transform(range=word), _words.Range),
        (lambda word: tricodec.Transform(dtype=word), _words.DTypeName),
        (lambda word: tricodec.Decoder(word, device="cpu"), _words.CodecName),
    ],
)
def test_every_word_of_a_type_is_accepted(make: Any, words: Any) -> None:
    for word in get_args(words):
        make(word)
    with pytest.raises(ValueError, match="NOPE"):
        make("NOPE")


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
    ({"matrix": "BT.709", "range": "tv"}, {"matrix": "bt709", "range": "limited"}),
    ({"matrix": "rec2020", "range": "pc"}, {"matrix": "bt2020", "range": "full"}),
    ({"layout": "T C H W"}, {"layout": "CHW"}),
    ({"color": "rgb24"}, {"color": "rgb"}),
    ({"color": "GrayScale"}, {"color": "gray"}),
    ({"color": "YCbCr"}, {"color": "yuv"}),
    ({"dtype": "torch.float16"}, {"dtype": "float16"}),
    ({"resize": "linear"}, {"resize": "bilinear"}),
    ({"resize": enum.Enum("InterpolationMode", {"BICUBIC": "bicubic"}).BICUBIC}, {"resize": "bicubic"}),
]


@pytest.mark.parametrize(("said", "meant"), SPELLINGS, ids=str)
def test_usual_spellings_mean_the_same(said: dict[str, Any], meant: dict[str, Any]) -> None:
    assert tricodec.Transform(**said).options == tricodec.Transform(**meant).options


@pytest.mark.parametrize(
    ("said", "meant"),
    [
        ({"times": [0.3], "policy": "On-Screen"}, {"times": [0.3], "policy": "on_screen"}),
        ({"sampling": "Uniform", "num_frames": 4}, {"sampling": "uniform", "num_frames": 4}),
        ({"sampling": "Qwen2-VL"}, {"sampling": "qwen2_vl"}),
    ],
    ids=str,
)
def test_words_of_a_selection_are_taken_in_any_spelling(said: Any, meant: Any, reader: Any) -> None:
    assert reader.select(**said) == reader.select(**meant)


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


def test_a_device_of_torch_is_taken(tmp_path: Path) -> None:
    path, frames = media.generated(CLIP), np.zeros((1, 48, 64, 3), np.uint8)
    calls: list[Callable[[Any], Any]] = [
        lambda device: tricodec.FrameReader(path, device=device),
        lambda device: tricodec.Decoder("h264", device=device),
        lambda device: tricodec.Encoder(64, 48, device=device),
        lambda device: tricodec.encoder_for("h264", device),
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


def test_sound_takes_words_in_any_case() -> None:
    with tricodec.AudioReader(media.generated("aac.mp4"), dtype="INT16", seek_mode="Exact") as sound:
        assert sound.dtype == "int16"


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


# A line with a comment is wrong; the comment is what mypy says of it.
CHECKED = """
import io
import numpy as np
import tricodec
from tricodec import sampling
from tricodec.compat.torchcodec.decoders import VideoDecoder
reader = tricodec.FrameReader("a")
device: tricodec.FrameReader = tricodec.FrameReader("a", device="cuda:1")
reader.batch([1], size=(1, 2), layout="chw", dtype=np.float32, color="RGB")
reader.batch([1], sise=(1, 2))  # "sise"
reader.batch([1], layout="NOPE")  # "layout"
reader.batch([1], dtype="float31")  # "dtype"
reader.at_times([1.0], policy="nearer")  # "policy"
tricodec.decode_video("a", fps=2, sampling="qwen", dtype="float16", times=np.zeros(2))
tricodec.decode_video("a", sampling="gwen")  # "sampling"
tricodec.decode_video("a", color="rbg")  # "color"
tricodec.decode_video("a", matrix="bt609")  # "matrix"
tricodec.Transform(resize="cubic")  # "resize"
tricodec.Transform(chroma="nearer")  # "chroma"
tricodec.Transform(unspecified="by_width")  # "unspecified"
tricodec.Transform(range="ful")  # "range"
tricodec.Encoder(64, 48, codec="hevc")
tricodec.Encoder(64, 48, codec="h256")  # "codec"
tricodec.encode_video(np.zeros(3), layout="HCW")  # "layout"
tricodec.Decoder("h264")
tricodec.Decoder("h246")  # "Decoder"
tricodec.AudioReader("a", dtype="int16", seek_mode="exact")
tricodec.AudioReader("a", dtype="int17")  # "dtype"
tricodec.AudioReader("a", seek_mode="exakt")  # "seek_mode"
sampling.sample("a", sampling="quen")  # "sampling"
VideoDecoder("a", dimension_order="NHWC")
VideoDecoder("a", dimension_order="CHW")  # "dimension_order"
reader = tricodec.FrameReader(io.BytesIO(b""), device="cpu")
frame: tricodec.Frame = reader[np.int64(3)]
frames: list[tricodec.Frame] = reader[1:3] + reader[[1, 2]] + reader[np.arange(3)]
for f in reader: f.width + 1
array = np.asarray(frame.planes[0])
view = np.asarray(frame)
video = tricodec.decode_video(b"", size=(2, 2))
video.pts_seconds.mean()
tricodec.set_limits(max_width=3)
try:
    tricodec.probe("x")
except tricodec.MediaNotFoundError as error:
    error.errno
reader["a"]  # Invalid index type
frame.pts + 1  # Unsupported operand
"""


@pytest.mark.broad
def test_a_type_checker_finds_wrong_words_and_types_alone(tmp_path: Path) -> None:
    pytest.importorskip("mypy")
    program = tmp_path / "program.py"
    program.write_text(CHECKED)
    kept = ["--cache-dir", str(media.CACHE / "mypy")]  # what it found out about numpy takes longest
    command = [sys.executable, "-m", "mypy", "--strict", *kept, "--no-error-summary", str(program)]
    # mypy finds what is installed by itself, and refuses to be told where that is.
    folder = Path(tricodec.__file__).parents[1]
    search = {} if folder.name == "site-packages" else {"MYPYPATH": str(folder)}
    done = subprocess.run(command, capture_output=True, text=True, check=False, env={"PATH": "", **search})
    found = dict(re.findall(r"program\.py:(\d+): error: (.*)", done.stdout))
    wrong = {
        str(number): line.partition("  # ")[2] for number, line in enumerate(CHECKED.splitlines(), 1) if "  # " in line
    }
    assert found.keys() == wrong.keys(), done.stdout
    for number, name in wrong.items():
        assert name in found[number]
