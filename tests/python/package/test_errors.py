# SPDX-License-Identifier: Apache-2.0
"""Which exception each kind of failure is, and that exceptions pickle."""

from __future__ import annotations

import copy
import os
import pickle
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest
import tricodec
from media import ffmpeg, generated
from programs import limits

CLASSES = [getattr(tricodec, name) for name in tricodec.errors.__all__]


@pytest.mark.parametrize("cls", CLASSES, ids=lambda cls: cls.__name__)
def test_an_exception_pickles_and_copies(cls: type[tricodec.Error]) -> None:
    error = cls("what failed")

    for twin in (pickle.loads(pickle.dumps(error)), copy.copy(error)):
        assert type(twin) is cls
        assert str(twin) == "what failed"
        assert twin.args == ("what failed",)


@pytest.mark.parametrize("cls", CLASSES, ids=lambda cls: cls.__name__)
def test_an_exception_is_named_as_users_import_it(cls: type[tricodec.Error]) -> None:
    assert issubclass(cls, tricodec.Error)
    assert issubclass(cls, RuntimeError)
    assert cls.__module__ == "tricodec"
    assert cls.__doc__


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


def test_a_missing_file_names_its_path(tmp_path: Path) -> None:
    path = tmp_path / "nothing here.mp4"

    with pytest.raises(FileNotFoundError, match=r"nothing here\.mp4") as caught:
        tricodec.FrameReader(path)

    assert type(caught.value) is tricodec.MediaNotFoundError


def test_a_path_that_is_not_utf8_is_reported_and_not_a_crash(tmp_path: Path) -> None:
    path = os.fsdecode(os.fsencode(tmp_path) + b"/\xff\xfe.mp4")

    with pytest.raises(tricodec.MediaNotFoundError, match="xff"):
        tricodec.probe(path)


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


@pytest.mark.parametrize("url", ["http://127.0.0.1/a.mp4", "concat:a.mp4|b.mp4", "file:a.mp4"])
def test_a_url_is_refused(url: str) -> None:
    with pytest.raises(tricodec.RefusedError):
        tricodec.probe(url)


@pytest.mark.parametrize("data", [b"", b"no media at all " * 100], ids=["empty", "text"])
def test_bytes_that_are_no_media_are_corrupt_data(data: bytes) -> None:
    with pytest.raises(tricodec.CorruptDataError):
        tricodec.FrameReader(data)


def test_media_without_video_are_unsupported_for_a_reader() -> None:
    with pytest.raises(tricodec.UnsupportedError, match="no video"):
        tricodec.FrameReader(generated("audio_only.m4a"))


def test_a_picture_past_the_limits_is_refused() -> None:
    with limits(max_width=100), pytest.raises(tricodec.RefusedError, match="320x180"):
        tricodec.FrameReader(generated("h264_bframes.mp4"))[0]


@pytest.fixture(scope="module")
def grown(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """300 pictures of 160x96, more than are probed for the headers, and 10 of 320x180."""
    path = tmp_path_factory.mktemp("grown") / "grown.h264"
    codec = "-pix_fmt yuv420p -c:v libx264 -preset ultrafast -g 12 -f h264 -"
    with path.open("wb") as file:
        for size, count in (("160x96", 300), ("320x180", 10)):
            file.write(ffmpeg(f"-f lavfi -i testsrc2=size={size}:rate=25 -frames:v {count}", codec))
    return path


@pytest.mark.parametrize("num_workers", [1, 2])
def test_a_stream_that_grows_past_the_limits_is_refused(grown: Path, num_workers: int) -> None:
    widths = []

    with limits(max_height=96), tricodec.FrameReader(grown, device="cpu", num_workers=num_workers) as reader:
        with pytest.raises(tricodec.RefusedError, match="a picture of the stream is 320x180, past limits"):
            widths.extend(frame.width for frame in reader)
        for _ in range(2):
            with pytest.raises(tricodec.RefusedError, match="320x180, past limits"):
                reader.batch(slice(None), size=(32, 32))
            with pytest.raises(tricodec.RefusedError, match="320x180, past limits"):
                len(reader)

    assert widths == [160] * 300


def test_a_gpu_that_is_demanded_and_not_there_is_a_device_error() -> None:
    # No build has a GPU engine yet; once one has, only an index past the last GPU is certain to fail.
    with pytest.raises(tricodec.DeviceError, match="cuda:999"):
        tricodec.FrameReader(generated("h264_bframes.mp4"), device="cuda:999")


def test_a_device_of_another_name_is_a_value_error() -> None:
    with pytest.raises(ValueError, match="'tpu'"):
        tricodec.FrameReader(generated("h264_bframes.mp4"), device="tpu")


def test_an_unknown_keyword_is_a_type_error() -> None:
    with pytest.raises(TypeError, match="colour"):
        tricodec.Transform(colour="rgb")  # type: ignore[call-arg]
    with pytest.raises(TypeError):
        tricodec.FrameReader(generated("h264_bframes.mp4"), "cpu")  # type: ignore[misc]


def test_a_missing_ffmpeg_library_is_named_by_the_import_error(tmp_path: Path) -> None:
    from tricodec._installation import explain

    text = explain(ImportError("libavformat.so.59: cannot open shared object file: No such file or directory"))
    assert "libavformat.so.59" in text
    assert "LD_LIBRARY_PATH" in text

    other = explain(ImportError("libfoo.so.1: cannot open shared object file: No such file or directory"))
    assert "needs libfoo.so.1" in other


def test_a_package_without_its_native_module_says_which_interpreter_it_lacks(tmp_path: Path) -> None:
    package = tmp_path / "tricodec"
    package.mkdir()
    source = Path(tricodec.__file__).parent
    for file in source.glob("*.py"):
        (package / file.name).write_bytes(file.read_bytes())
    script = textwrap.dedent("""
        import sys
        sys.path.insert(0, sys.argv[1])
        try:
            import tricodec
        except ImportError as error:
            print(error)
    """)

    result = subprocess.run(
        [sys.executable, "-c", script, str(tmp_path)], capture_output=True, text=True, check=True, cwd=tmp_path
    )

    assert "there is no native module of tricodec for this interpreter" in result.stdout
    assert sys.executable in result.stdout
