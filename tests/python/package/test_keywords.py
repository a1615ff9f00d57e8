# SPDX-License-Identifier: Apache-2.0
"""Wrong keywords: errors name the nearest accepted one, and type checkers find them."""

from __future__ import annotations

import enum
import inspect
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
from tricodec import _words
from tricodec._keywords import SELECTION_WORDS, TRANSFORM_WORDS

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
    "of another call": (lambda _: tricodec.decode_video("x", dimension_order="NHWC"), "did you mean 'layout'"),
    "near another's": (lambda _: tricodec.encode_video(np.zeros(3), fsp=25), "did you mean 'frame_rate'"),
    "read_av": (lambda _: tricodec.read_av("x", sample_rate=16000), r"read_av\(\) got .*did you mean 'audio_rate'"),
    "a file to encode to": (lambda _: tricodec.encode_video(np.zeros(3), "a.mp4"), "'a.mp4'; encode_video returns"),
    "one video": (lambda _: tricodec.read_many("a.mp4"), "one video; put it into a list"),
    "words of a source": (lambda _: tricodec.read_many([("a.mp4", [1])]), r"\('a.mp4', \[1\]\); expected a source, or"),
    "missing": (lambda reader: reader.batches(), r"batches\(\) is missing the argument 'batch_size'"),
    "positional": (lambda _: tricodec.Transform((2, 2)), "give the others by their names: crop, size"),
    "wrong type": (
        lambda _: tricodec.FrameReader("x", stream_index="one"),
        "stream_index is a whole number, such as -1, not 'one'",
    ),
    "a time as a text": (lambda reader: reader.at("1.0"), r"at\(\): seconds is a number, not '1.0' \(str\); write 1.0"),
    "a codec by its name": (lambda _: tricodec.Codec("zstd"), r"write Codec\(algorithm='zstd'\)"),
    "threads of a reader": (lambda _: tricodec.FrameReader("x", threads=4), "did you mean 'num_workers'"),
    "threads of an encoder": (lambda _: tricodec.transcode("x", "y.mp4", threads=4), "did you mean 'num_threads'"),
    "wrong type of a method": (
        lambda _: tricodec.Muxer(None, format="mp4").add_stream(4),
        r"Muxer.add_stream\(\) got an argument of a wrong type: stream=4; expected stream: tricodec.StreamInfo",
    ),
    "wrong type of a function": (
        lambda _: tricodec.encoder_for(3),
        r"encoder_for\(\): codec is a str, not 3",
    ),
    "missing in a function": (
        lambda _: tricodec.picture_bytes("nv12"),
        "picture_bytes.. is missing the argument 'width'",
    ),
}


@pytest.mark.parametrize("name", WRONG)
def test_a_wrong_call_is_explained_without_pybind11s_words(name: str, reader: Any) -> None:
    call, text = WRONG[name]
    with pytest.raises(TypeError, match=text) as caught:
        call(reader)
    assert "incompatible" not in str(caught.value)
    assert "overload" not in str(caught.value)


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("get_batch", "'FrameReader' object has no attribute 'get_batch'; did you mean 'batch'?"),
        ("get_avg_fps", "did you mean 'fps'?"),
        ("metadata", "did you mean 'info'?"),
        ("num_frame", "did you mean 'num_frames'"),
    ],
)
def test_names_of_other_packages_readers_are_answered_with_ours(name: str, text: str, reader: Any) -> None:
    with pytest.raises(AttributeError, match=re.escape(text)):
        getattr(reader, name)
    assert not hasattr(reader, "__array_interface__")


@pytest.mark.parametrize("function", [tricodec.probe, tricodec.encoder_for, tricodec.picture_bytes])
def test_functions_can_be_sent_to_other_processes(function: Callable[..., Any]) -> None:
    assert pickle.loads(pickle.dumps(function)) is function


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


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (tricodec.FrameReader.batch, ["self", "indices", "transform", "out", "stream", "pinned"]),
        (tricodec.FrameReader.iterate, ["self", "start", "stride", "count"]),
        (tricodec.decode_video, ["source", "start", "stride", "count"]),
        (tricodec.read_av, ["source", "start", "stride", "count"]),
        (tricodec.Transform, ["crop", "size"]),
    ],
)
def test_signatures_show_every_word(call: Any, words: list[str]) -> None:
    parameters = inspect.signature(call).parameters
    assert list(parameters)[: len(words)] == words
    shown = {word: parameters[word] for word in (*SELECTION_WORDS, *TRANSFORM_WORDS) if word in parameters}
    takes_frames = call is not tricodec.FrameReader.iterate
    assert ("sampling" in shown) == (call is not tricodec.Transform)
    assert ("layout" in shown) == takes_frames
    if takes_frames:
        assert shown["layout"].default == "HWC"
        assert {"HWC", "CHW"} < set(get_args(shown["layout"].annotation))
        assert {"rgb", "bgr", "gray", "yuv"} < set(get_args(shown["color"].annotation))
        assert "'bilinear'" in str(inspect.signature(call))
    if "count" in shown:
        assert shown["count"].default == -1
    assert parameters[next(iter(parameters))].kind is not inspect.Parameter.VAR_KEYWORD


def test_help_shows_the_words_that_are_accepted() -> None:
    text = pydoc.plain(pydoc.render_doc(tricodec.FrameReader.batch))
    for word in ("'on_screen'", "'key_frames'", "'bt2020'", "'by_height'", "'float16'", "'CHW'"):
        assert word in text
    assert inspect.signature(tricodec.FrameReader.batch).parameters["pinned"].default is False
    assert "'hevc'" in pydoc.plain(pydoc.render_doc(tricodec.Encoder))


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
        ({"sampling": "Key-Frames"}, {"sampling": "key_frames"}),
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
reader = tricodec.FrameReader("a")
device: tricodec.FrameReader = tricodec.FrameReader("a", device="cuda:1")
reader.batch([1], size=(1, 2), layout="chw", dtype=np.float32, color="RGB")
reader.batch([1], sise=(1, 2))  # "sise"
reader.batch([1], layout="NOPE")  # "layout"
reader.batch([1], dtype="float31")  # "dtype"
reader.at_times([1.0], policy="nearer")  # "policy"
tricodec.decode_video("a", num_frames=2, sampling="uniform", dtype="float16", times=np.zeros(2))
tricodec.decode_video("a", sampling="unifrom")  # "sampling"
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
