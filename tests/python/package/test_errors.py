# SPDX-License-Identifier: Apache-2.0
"""Which exception each kind of failure is; the most likely mistakes end in one sentence that says what to do."""

from __future__ import annotations

import copy
import os
import pickle
import re
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import media
import numpy as np
import pytest
import tricodec
from media import generated
from programs import run_python

CLASSES = [getattr(tricodec.errors, name) for name in tricodec.errors.__all__]


@pytest.mark.parametrize("cls", CLASSES, ids=lambda cls: cls.__name__)
def test_an_exception_pickles_and_copies(cls: type[tricodec.Error]) -> None:
    error = cls("what failed")

    for twin in (pickle.loads(pickle.dumps(error)), copy.copy(error)):
        assert type(twin) is cls
        assert str(twin) == "what failed"
        assert twin.args == ("what failed",)


@pytest.mark.parametrize(
    ("cls", "builtin"),
    [
        (tricodec.MediaIOError, OSError),
        (tricodec.MediaNotFoundError, FileNotFoundError),
        (tricodec.MediaNotFoundError, tricodec.MediaIOError),
        (tricodec.OutOfMemoryError, MemoryError),
    ],
)
def test_an_exception_is_caught_as_the_builtin_of_its_kind(cls: type[Exception], builtin: type[Exception]) -> None:
    assert issubclass(cls, builtin)


def test_a_video_with_a_name_that_is_not_utf8_is_read_and_described(tmp_path: Path) -> None:
    path = os.fsdecode(os.fsencode(tmp_path) + b"/\xff\xfe.mp4")
    Path(path).symlink_to(generated("h264_bframes.mp4"))

    assert tricodec.probe(path).name == path
    with tricodec.FrameReader(path) as reader, tricodec.Demuxer(path) as demuxer:
        for each in (reader, demuxer, tricodec.probe(path)):
            assert r"\xff\xfe.mp4" in repr(each)


def test_a_path_with_a_nul_is_a_value_error() -> None:
    with pytest.raises(ValueError, match="null"):
        tricodec.probe("a\0b.mp4")


def test_a_missing_ffmpeg_library_is_named_by_the_import_error(tmp_path: Path) -> None:
    from tricodec.installation import explain

    text = explain(ImportError("libavformat.so.59: cannot open shared object file: No such file or directory"))
    assert "libavformat.so.59" in text
    assert "LD_LIBRARY_PATH" in text

    other = explain(ImportError("libfoo.so.1: cannot open shared object file: No such file or directory"))
    assert "needs libfoo.so.1" in other


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
    "a wrong name": Mistake(
        lambda folder: tricodec.probe(folder / "vidoe.mp4"), tricodec.MediaNotFoundError, "did you mean '.*/video.mp4'"
    ),
    "a folder": Mistake(tricodec.probe, tricodec.RefusedError, "a folder; pass one of the files in it"),
    "a URL": Mistake(
        lambda _: tricodec.probe("https://a.org/b.mp4"), tricodec.RefusedError, "tricodec.open_remote opens"
    ),
    "an empty file": Mistake(
        lambda folder: tricodec.probe(folder / "empty.mp4"), tricodec.CorruptDataError, "written to its end"
    ),
    "an image": Mistake(lambda folder: tricodec.probe(folder / "a.png"), tricodec.RefusedError, "it is an image"),
    "a zip file": Mistake(lambda folder: tricodec.probe(folder / "a.zip"), tricodec.UnsupportedError, "unpack it"),
    "a video that its edit list hides": Mistake(
        lambda folder: tricodec.decode_video(folder / "hidden.mp4"),
        tricodec.UnsupportedError,
        "edit list of .* hides all of its 50 frames; ignore_edit_list=True",
    ),
    "a list of files": Mistake(
        lambda folder: tricodec.FrameReader([clip(folder)]), TypeError, "read_many reads several videos"
    ),
    "video of a sound file": Mistake(
        lambda _: tricodec.FrameReader(media.generated("audio_only.m4a")), tricodec.UnsupportedError, "has no video"
    ),
    "a stream that is not there": Mistake(decode(stream_index=3), ValueError, "-1 is the best"),
    "a frame past the end": Mistake(one(lambda reader: reader[50]), IndexError, r"has 50 frames \(0..49\)"),
    "a time in milliseconds": Mistake(decode(times=[1500.0]), IndexError, "the video shows frames from 0 s to 2 s"),
    "a closed reader": Mistake(closed, ValueError, "open a new one"),
    "a wrong keyword": Mistake(decode(siez=(8, 8)), TypeError, "did you mean 'size'"),
    "a wrong dtype": Mistake(decode(dtype="flaot32"), ValueError, "did you mean 'float32'"),
    "a wrong device": Mistake(decode(device="cuda0"), ValueError, "did you mean 'cuda'"),
    "a crop outside": Mistake(decode(crop=(0, 0, 999, 999)), ValueError, "320 wide and 180 high"),
    "out of a wrong shape": Mistake(
        decode(count=1, out=np.zeros((1, 2, 2, 3), np.uint8)), ValueError, r"the result has shape \(1, 180, 320, 3\)"
    ),
    "float frames": Mistake(encode(FRAMES.astype(np.float32)), TypeError, "are uint8, 0 to 255"),
    "an odd size": Mistake(encode(np.zeros((3, 63, 65, 3), np.uint8)), ValueError, "or encode yuv444p"),
    "no frames": Mistake(encode(FRAMES[:0]), ValueError, "a video has at least one"),
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
    (folder / "empty.mp4").touch()
    media.ffmpeg("-i", folder / "video.mp4", "-frames:v", "1", folder / "a.png")
    shutil.make_archive(str(folder / "a"), "zip", folder, "video.mp4")
    edits = data.index(b"elst") + 12  # duration and place of the first edit, each of 4 bytes
    (folder / "hidden.mp4").write_bytes(data[: edits + 4] + (10**7).to_bytes(4, "big") + data[edits + 8 :])
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


def test_a_muxer_that_is_forgotten_says_that_its_file_was_not_written(tmp_path: Path) -> None:
    muxer = tricodec.Muxer(tmp_path / "a.mp4")

    with pytest.warns(ResourceWarning, match=r"a\.mp4' was not written.*use `with Muxer"):
        del muxer


@pytest.mark.parametrize(
    ("hidden", "use", "remedy"),
    [
        ("nvidia.dali", "import tricodec.dali", r"pip install tricodec\[dali\]"),
        ("tritonclient", "import tricodec.triton.client", r"pip install .tritonclient\[grpc\]"),
        ("torch", "import tricodec.data.torch", "pip install torch"),
        ("pyarrow", "import tricodec; tricodec.data.DatasetIndex.build(['.'], 'i.parquet')", r"tricodec\[data\]"),
    ],
)
def test_a_package_that_is_not_installed_is_named_with_its_command(
    hidden: str, use: str, remedy: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)

    result = run_python(f"import sys; sys.modules[{hidden!r}] = None\n{use}")

    last = result.stderr.splitlines()[-1]
    assert last.startswith("ImportError: ")
    assert re.search(remedy, last), last
    assert list(tmp_path.iterdir()) == []


@pytest.mark.needs_triton
@pytest.mark.parametrize(
    ("url", "remedy"), [("127.0.0.1:1", "start a server"), ("http://127.0.0.1:1", "leave out http")]
)
def test_no_server_is_an_error_with_what_to_do(url: str, remedy: str, folder: Path) -> None:
    from tricodec.triton.client import Client

    with Client(url) as client, pytest.raises(ConnectionError, match=remedy):
        client.decode_video(clip(folder))
