# SPDX-License-Identifier: Apache-2.0
"""The most likely mistakes of the first hour: each ends in one sentence that says what to do."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import media
import numpy as np
import pytest
import tricodec

FRAMES = np.zeros((3, 64, 64, 3), np.uint8)


class Mistake(NamedTuple):
    """What the user writes, the exception, and the part of its text that says what to do."""

    call: Callable[[Path], Any]
    error: type[Exception]
    remedy: str


def clip(folder: Path) -> str:
    return str(folder / "video.mp4")


def decode(**words: Any) -> Callable[[Path], Any]:
    return lambda folder: tricodec.decode_video(clip(folder), **words)


def encode(frames: Any = FRAMES, **words: Any) -> Callable[[Path], Any]:
    return lambda _: tricodec.encode_video(frames, **words)


def closed(folder: Path) -> Any:
    reader = tricodec.FrameReader(clip(folder))
    reader.close()
    return reader[0]


def one(call: Callable[[tricodec.FrameReader], Any]) -> Callable[[Path], Any]:
    def with_reader(folder: Path) -> Any:
        with tricodec.FrameReader(clip(folder)) as reader:
            return call(reader)

    return with_reader


MISTAKES: dict[str, Mistake] = {
    # files
    "a wrong name": Mistake(
        lambda folder: tricodec.probe(folder / "vidoe.mp4"), tricodec.MediaNotFoundError, "did you mean '.*/video.mp4'"
    ),
    "a wrong folder": Mistake(
        lambda folder: tricodec.probe(folder / "no/a.mp4"), tricodec.MediaNotFoundError, "there is no folder '.*/no'"
    ),
    "another working folder": Mistake(
        lambda _: tricodec.probe("my_holiday_video.mp4"), tricodec.MediaNotFoundError, "it was looked for in '/"
    ),
    "a tilde": Mistake(
        lambda _: tricodec.probe("~/a.mp4"), tricodec.MediaNotFoundError, "only a shell replaces ~: write"
    ),
    "a folder": Mistake(tricodec.probe, tricodec.RefusedError, "a folder; pass one of the files in it"),
    "a URL": Mistake(lambda _: tricodec.probe("https://a.org/b.mp4"), tricodec.RefusedError, "tricodec.remote opens"),
    "an empty file": Mistake(
        lambda folder: tricodec.probe(folder / "empty.mp4"), tricodec.CorruptDataError, "written to its end"
    ),
    "a file that was cut off": Mistake(
        lambda folder: tricodec.probe(folder / "cut.mp4"), tricodec.CorruptDataError, "copy or record it again"
    ),
    "data of no format": Mistake(
        lambda _: tricodec.probe(bytes(range(1, 256)) * 9), tricodec.CorruptDataError, "accepted are mp4, mov, mkv"
    ),
    "a text": Mistake(
        lambda folder: tricodec.probe(folder / "notes.txt"),
        tricodec.RefusedError,
        "pass the media themselves .mp4, mov",
    ),
    "an image": Mistake(lambda folder: tricodec.probe(folder / "a.png"), tricodec.RefusedError, "it is an image"),
    "a photo": Mistake(lambda folder: tricodec.FrameReader(folder / "a.jpg"), tricodec.RefusedError, "it is an image"),
    "a song": Mistake(
        lambda _: tricodec.decode_video(media.generated("mp3.mp3")), tricodec.RefusedError, "tricodec.AudioReader"
    ),
    "a zip file": Mistake(lambda folder: tricodec.probe(folder / "a.zip"), tricodec.UnsupportedError, "unpack it"),
    "a packed archive": Mistake(
        lambda folder: tricodec.probe(folder / "a.tar.gz"), tricodec.Error, r"compressed \(gzip\); unpack it"
    ),
    "an archive": Mistake(
        lambda folder: tricodec.probe(folder / "a.tar"), tricodec.UnsupportedError, "tricodec.data.Dataset and"
    ),
    "a web page": Mistake(
        lambda folder: tricodec.probe(folder / "a.html"), tricodec.UnsupportedError, "download the video itself"
    ),
    "a link to nothing": Mistake(
        lambda folder: tricodec.probe(folder / "link.mp4"), tricodec.MediaNotFoundError, "a link to a file that is not"
    ),
    "sound that is listed and not there": Mistake(
        lambda folder: tricodec.AudioReader(folder / "late.ts"), tricodec.UnsupportedError, "no audio stream with sound"
    ),
    "a video that its edit list hides": Mistake(
        lambda folder: tricodec.decode_video(folder / "hidden.mp4"),
        tricodec.UnsupportedError,
        "edit list of .* hides all of its 50 frames; ignore_edit_list=True",
    ),
    "a video that its edit list leaves out": Mistake(
        lambda folder: tricodec.decode_video(folder / "left_out.mp4"),
        tricodec.UnsupportedError,
        "edit list of .* hides all of its 50 frames; ignore_edit_list=True",
    ),
    "a list of files": Mistake(
        lambda folder: tricodec.FrameReader([clip(folder)]), TypeError, "read_many reads several videos"
    ),
    "no file": Mistake(lambda _: tricodec.decode_video(None), TypeError, "must be a path"),
    "video of a sound file": Mistake(
        lambda _: tricodec.FrameReader(media.generated("audio_only.m4a")), tricodec.UnsupportedError, "has no video"
    ),
    "sound of a silent video": Mistake(
        lambda folder: tricodec.AudioReader(clip(folder)), tricodec.UnsupportedError, "its streams are 0: video"
    ),
    "a stream that is not there": Mistake(decode(stream_index=3), ValueError, "-1 is the best"),
    "no index": Mistake(
        lambda folder: tricodec.data.DatasetIndex(folder / "a.parquet"),
        FileNotFoundError,
        "`tricodec index .*` writes one",
    ),
    # frames
    "a frame past the end": Mistake(one(lambda reader: reader[50]), IndexError, r"has 50 frames \(0..49\)"),
    "a time in milliseconds": Mistake(decode(times=[1500.0]), IndexError, "the video shows frames from 0 s to 2 s"),
    "a time as a number of a frame": Mistake(one(lambda reader: reader[1.5]), TypeError, "by an integer, a slice, or"),
    "a text for numbers": Mistake(decode(indices="0,1"), TypeError, "integers in a list, tuple, range or array"),
    "a number for numbers": Mistake(decode(indices=5), TypeError, "integers in a list"),
    "a closed reader": Mistake(closed, ValueError, "open a new one"),
    # words
    "a wrong keyword": Mistake(decode(siez=(8, 8)), TypeError, "did you mean 'size'"),
    "a keyword of another package": Mistake(decode(width=224), TypeError, "did you mean 'size'"),
    "a keyword of the encoder": Mistake(encode(fps=25), TypeError, "did you mean 'frame_rate'"),
    "a wrong dtype": Mistake(decode(dtype="flaot32"), ValueError, "did you mean 'float32'"),
    "a wrong layout": Mistake(decode(layout="HCW"), ValueError, "did you mean '(HWC|CHW)'"),
    "a wrong color": Mistake(decode(color="brg"), ValueError, "did you mean 'bgr'"),
    "a wrong filter": Mistake(decode(resize="bilnear"), ValueError, "did you mean 'bilinear'"),
    "a wrong policy": Mistake(decode(times=[1.0], policy="neerest"), ValueError, "did you mean 'nearest'"),
    "a wrong rule": Mistake(decode(sampling="qwem"), ValueError, "did you mean 'qwen'"),
    "a rule by half its name": Mistake(decode(sampling="qwen3"), ValueError, "did you mean 'qwen3_vl'"),
    "an unusual dtype": Mistake(decode(dtype="int8"), ValueError, "is not one of uint8, float16, bfloat16, float32"),
    "a dtype that pictures lack": Mistake(
        decode(dtype="float64"), ValueError, "is not one of uint8, float16, bfloat16, float32"
    ),
    "reading as a file": Mistake(one(lambda reader: reader.read()), AttributeError, "did you mean 'iterate'"),
    "a wrong codec": Mistake(encode(codec="h246"), ValueError, "did you mean 'h264'"),
    "a wrong pixel format": Mistake(encode(pixel_format="yuv420"), ValueError, "did you mean 'yuv420p'"),
    "a wrong algorithm": Mistake(lambda _: tricodec.Codec(algorithm="zsdt"), ValueError, "did you mean 'Zstd'"),
    "a wrong limit": Mistake(lambda _: tricodec.set_limits(max_pixel=3), TypeError, "did you mean 'max_pixels'"),
    "a wrong name of a function": Mistake(
        lambda _: tricodec.decode_vidoe, AttributeError, "did you mean 'decode_video'"
    ),
    "a class of another package": Mistake(lambda _: tricodec.VideoReader, AttributeError, "did you mean 'FrameReader'"),
    # devices
    "a wrong device": Mistake(decode(device="cuda0"), ValueError, "did you mean 'cuda'"),
    "a device as a number": Mistake(decode(device=0), TypeError, "device is a str, such as 'auto', not 0"),
    # sizes
    "a size of one number": Mistake(decode(size=224), TypeError, r"must be \(height, width\)"),
    "a negative size": Mistake(decode(size=(-1, 224)), ValueError, "must be 1 or more each way"),
    "a crop outside": Mistake(decode(crop=(0, 0, 999, 999)), ValueError, "320 wide and 180 high"),
    "mean of bytes": Mistake(decode(mean=[0.5] * 3, std=[0.5] * 3), ValueError, 'use dtype "float32"'),
    "out of a wrong shape": Mistake(
        decode(count=1, out=np.zeros((1, 2, 2, 3), np.uint8)), ValueError, r"the result has shape \(1, 180, 320, 3\)"
    ),
    # encoding
    "float frames": Mistake(encode(FRAMES.astype(np.float32)), TypeError, "are uint8, 0 to 255"),
    "channels first": Mistake(encode(np.zeros((3, 3, 64, 64), np.uint8)), ValueError, r"accepted are \[H, W, 3\]"),
    "an odd size": Mistake(encode(np.zeros((3, 63, 65, 3), np.uint8)), ValueError, "or encode yuv444p"),
    "a wrong preset": Mistake(encode(preset="fats"), ValueError, "did you mean 'fast'"),
    "an output in no folder": Mistake(
        lambda folder: tricodec.transcode(clip(folder), folder / "no/a.mp4"), FileNotFoundError, "make its folder first"
    ),
    "no frames": Mistake(encode(FRAMES[:0]), ValueError, "a video has at least one"),
    "an option that the encoder lacks": Mistake(encode(options={"crff": 3}), ValueError, "lists those that it has"),
    # compressed data
    "data that nothing compressed": Mistake(
        lambda _: tricodec.Codec().decode(b"abc"), tricodec.CorruptDataError, "a header alone is 56 bytes"
    ),
    "a plan that is none": Mistake(
        lambda folder: tricodec.Plan.load(clip(folder)), tricodec.CorruptDataError, "pass a file that Plan.save wrote"
    ),
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("first")
    data = media.generated("h264_bframes.mp4").read_bytes()
    (folder / "video.mp4").write_bytes(data)
    (folder / "cut.mp4").write_bytes(data[:4000])
    (folder / "empty.mp4").touch()
    (folder / "notes.txt").write_text("nothing to see here\n" * 50)
    (folder / "a.html").write_text("<!DOCTYPE html>\n<html><body>Not found</body></html>" + " " * 3000)
    (folder / "link.mp4").symlink_to("nowhere.mp4")
    for name in ("a.png", "a.jpg"):
        media.ffmpeg("-i", folder / "video.mp4", "-frames:v", "1", folder / name)
    for kind in ("zip", "gztar", "tar"):
        shutil.make_archive(str(folder / "a"), kind, folder, "video.mp4")
    # The table of programs names MP3, of which the part that is left has no packet.
    media.ffmpeg(
        "-i", folder / "video.mp4", "-itsoffset", "60", "-f", "lavfi", "-i", "sine=d=1", "-c:v", "copy", "-c:a", "mp3",
        folder / "all.ts",
    )  # fmt: skip
    (folder / "late.ts").write_bytes((folder / "all.ts").read_bytes()[: 188 * 40])
    edits = data.index(b"elst") + 12  # duration and place of the first edit, each of 4 bytes
    (folder / "hidden.mp4").write_bytes(data[: edits + 4] + (10**7).to_bytes(4, "big") + data[edits + 8 :])
    (folder / "left_out.mp4").write_bytes(data[: edits + 4] + b"\xff" * 4 + data[edits + 8 :])
    return folder


@pytest.mark.parametrize("name", MISTAKES)
def test_a_mistake_ends_in_one_sentence_that_says_what_to_do(name: str, folder: Path) -> None:
    call, error, remedy = MISTAKES[name]

    with pytest.raises(error, match=remedy) as raised:
        call(folder)

    text = str(raised.value)
    assert "\n" not in text
    assert "overload" not in text
    assert len(text) < 800


def test_a_gpu_that_is_not_there_is_refused_with_the_way_out(folder: Path) -> None:
    program = "import sys, tricodec; tricodec.decode_video(sys.argv[1], device='cuda')"

    result = subprocess.run(
        [sys.executable, "-c", program, clip(folder)],
        env={"CUDA_VISIBLE_DEVICES": ""}, capture_output=True, text=True, check=False,
    )  # fmt: skip

    last = result.stderr.splitlines()[-1]
    assert last.startswith("tricodec.DeviceError: device 'cuda' was asked for, but ")
    assert last.endswith("use device='cpu' or 'auto'")


def test_a_muxer_that_is_forgotten_says_that_its_file_was_not_written(tmp_path: Path) -> None:
    muxer = tricodec.Muxer(tmp_path / "a.mp4")

    with pytest.warns(ResourceWarning, match=r"a\.mp4' was not written.*use `with Muxer"):
        del muxer


@pytest.mark.parametrize(
    ("hidden", "module", "remedy"),
    [
        ("nvidia.dali", "tricodec.dali", r"pip install tricodec\[dali\]"),
        ("tritonclient", "tricodec.client", r"pip install .tritonclient\[grpc\]"),
        ("torch", "tricodec.data.torch", r"pip install 'tricodec\[torch\]'"),
    ],
)
def test_a_package_that_is_not_installed_is_named_with_its_command(hidden: str, module: str, remedy: str) -> None:
    program = f"import sys; sys.modules[{hidden!r}] = None\nimport {module}"

    result = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)

    last = result.stderr.splitlines()[-1]
    assert last.startswith("ImportError: ")
    assert re.search(remedy, last), last


@pytest.mark.needs_triton
@pytest.mark.parametrize(
    ("url", "remedy"), [("127.0.0.1:1", "start a server"), ("http://127.0.0.1:1", "leave out http")]
)
def test_no_server_is_an_error_with_what_to_do(url: str, remedy: str, folder: Path) -> None:
    from tricodec.client import Client

    with Client(url) as client, pytest.raises(ConnectionError, match=remedy):
        client.decode_video(clip(folder))
