# SPDX-License-Identifier: Apache-2.0
"""Which exception each kind of failure is, and that exceptions pickle."""

from __future__ import annotations

import copy
import os
import pickle
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


@pytest.mark.parametrize("data", [b"", b"no media at all " * 100], ids=["empty", "text"])
def test_bytes_that_are_no_media_are_corrupt_data(data: bytes) -> None:
    with pytest.raises(tricodec.CorruptDataError):
        tricodec.FrameReader(data)


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


def test_a_missing_ffmpeg_library_is_named_by_the_import_error(tmp_path: Path) -> None:
    from tricodec._installation import explain

    text = explain(ImportError("libavformat.so.59: cannot open shared object file: No such file or directory"))
    assert "libavformat.so.59" in text
    assert "LD_LIBRARY_PATH" in text

    other = explain(ImportError("libfoo.so.1: cannot open shared object file: No such file or directory"))
    assert "needs libfoo.so.1" in other
