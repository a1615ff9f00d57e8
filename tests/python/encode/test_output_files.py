# SPDX-License-Identifier: Apache-2.0
"""Files have their names when they are whole: the old file or the new one is there, and nothing between."""

from __future__ import annotations

import contextlib
import os
import resource
import textwrap
import threading
import tty
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import tricodec
from media import generated
from output_writers import WRITERS, Writer, clip, command, keep_index, save_index, sources
from preloaded import with_tricodec
from tricodec.io import StreamWriter


def without_frames(path: Path) -> Path:
    """A video with packets of zeros."""
    data = bytearray(generated("h264_bframes.mp4").read_bytes())
    for packet in tricodec.Demuxer(generated("h264_bframes.mp4")):
        assert packet.pos is not None
        data[packet.pos : packet.pos + len(packet.data)] = bytes(len(packet.data))
    path.write_bytes(data)
    return path


FULL = 512  # bytes: less than any of the files, more than the errors that pytest captures in one
every_writer = pytest.mark.parametrize("writer", WRITERS.values(), ids=WRITERS)


@contextlib.contextmanager
def files_of_at_most(size_bytes: int) -> Iterator[None]:
    """Writing more to a file fails with EFBIG, as ENOSPC on a disk that is full. (Python ignores SIGXFSZ.)"""
    old = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size_bytes, old[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, old)


def names(folder: Path) -> list[str]:
    return sorted(each.name for each in folder.iterdir())


@every_writer
def test_an_old_file_is_replaced_and_keeps_its_permissions(writer: Writer, tmp_path: Path) -> None:
    target = tmp_path / writer.name
    target.write_bytes(writer.old())
    target.chmod(0o640)
    inode = target.stat().st_ino

    writer.write(target)

    assert target.read_bytes() != writer.old()
    assert target.stat().st_size > 100
    assert target.stat().st_ino != inode  # a reader of the old file still has all of it
    assert target.stat().st_mode & 0o777 == 0o640
    assert names(tmp_path) == [writer.name]


@every_writer
@pytest.mark.parametrize("existing", [True, False])
def test_a_link_stays_one_and_what_it_points_to_is_written(writer: Writer, existing: bool, tmp_path: Path) -> None:
    folder = tmp_path / "elsewhere"
    folder.mkdir()
    if existing:
        (folder / "file").write_bytes(writer.old())
    (tmp_path / "second").symlink_to("elsewhere/file")
    link = tmp_path / writer.name
    link.symlink_to(tmp_path / "second")

    writer.write(link)

    assert link.is_symlink()
    assert (folder / "file").stat().st_size > 100
    assert not (folder / "file").is_symlink()
    assert names(folder) == ["file"]


@every_writer
@pytest.mark.parametrize("existing", [True, False])
def test_a_full_disk_leaves_what_was_there(writer: Writer, existing: bool, tmp_path: Path) -> None:
    target = tmp_path / writer.name
    sources()
    if existing:
        target.write_bytes(writer.old())

    with files_of_at_most(FULL), pytest.raises(OSError, match="failed"):
        writer.write(target)

    assert names(tmp_path) == [writer.name] * existing
    assert not existing or target.read_bytes() == writer.old()


every_stream = pytest.mark.parametrize(
    "writer",
    [each for each in WRITERS.values() if not each.seeks],
    ids=[name for name in WRITERS if not WRITERS[name].seeks],
)


@pytest.fixture
def read_back(tmp_path: Path) -> Iterator[Callable[[str, str], tuple[Path, Callable[[], bytes]]]]:
    """Makes a pipe or a terminal to write to, in no folder that root could put another file in."""
    with contextlib.ExitStack() as stack:

        def make(kind: str, name: str) -> tuple[Path, Callable[[], bytes]]:
            read: list[bytes] = []
            if kind == "pipe":
                target = tmp_path / name
                os.mkfifo(target)
                reading = threading.Thread(target=lambda: read.append(target.read_bytes()))
            else:
                reader, writer = os.openpty()
                tty.setraw(writer)
                target = Path(os.ttyname(writer))
                stack.callback(os.close, reader)

                def drain() -> None:
                    with contextlib.suppress(OSError):  # how a terminal says that nothing writes to it any more
                        while data := os.read(reader, 65536):
                            read.append(data)

                reading = threading.Thread(target=drain)

            def finish() -> bytes:
                if kind == "terminal":
                    os.close(writer)
                reading.join()
                return b"".join(read)

            reading.start()
            return target, finish

        yield make


@every_stream
@pytest.mark.parametrize("kind", ["pipe", "terminal"])
def test_pipes_and_devices_are_written_directly(
    writer: Writer, kind: str, read_back: Callable[[str, str], tuple[Path, Callable[[], bytes]]], tmp_path: Path
) -> None:
    folder = tmp_path / "file"
    folder.mkdir()
    writer.write(folder / writer.name)
    target, finish = read_back(kind, writer.name)
    before = target.stat()

    writer.write(target)

    assert finish() == (folder / writer.name).read_bytes()
    assert kind == "terminal" or os.path.samestat(before, target.stat())


def begin(target: Path, *, in_full: bool = False) -> tricodec.Muxer:
    demuxer = tricodec.Demuxer(clip())
    muxer = tricodec.Muxer(target)
    stream = muxer.add_stream(demuxer.stream)
    for number, packet in enumerate(demuxer):
        if in_full or number < 3:
            muxer.write(packet, stream)
    return muxer


@pytest.fixture
def old(tmp_path: Path) -> Path:
    path = tmp_path / "a.mp4"
    path.write_bytes(b"the old file")
    return path


def begin_stream(target: Path) -> StreamWriter:
    writer = StreamWriter(target)
    writer.add_video_stream(30, 64, 48)
    return writer.open()


@pytest.mark.parametrize("opened", [begin, begin_stream])
def test_an_exception_in_a_block_leaves_what_was_there(
    opened: Callable[[Path], contextlib.AbstractContextManager[object]], old: Path
) -> None:
    with pytest.raises(KeyError), opened(old):
        raise KeyError

    assert old.read_bytes() == b"the old file"
    assert names(old.parent) == ["a.mp4"]


def test_close_finishes_and_discard_does_not(old: Path) -> None:
    begin(old).discard()
    assert old.read_bytes() == b"the old file"
    tricodec.Muxer(old).close()  # nothing was asked of it
    assert old.read_bytes() == b"the old file"

    muxer = begin(old, in_full=True)
    muxer.close()
    muxer.close()

    assert muxer.finished
    assert len(tricodec.FrameReader(old)) == len(tricodec.FrameReader(clip()))
    writer = begin_stream(old)
    whole = old.read_bytes()
    writer.discard()
    writer.close()  # nothing is open any more
    assert old.read_bytes() == whole
    assert names(old.parent) == ["a.mp4"]


@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
def test_a_forked_child_leaves_its_parents_file_alone(tmp_path: Path) -> None:
    muxer = begin(tmp_path / "a.mp4", in_full=True)

    child = os.fork()
    if child == 0:
        try:
            muxer.discard()
        finally:
            os._exit(0)
    os.waitpid(child, 0)
    muxer.finish()

    assert len(tricodec.FrameReader(tmp_path / "a.mp4")) == len(tricodec.FrameReader(clip()))


@pytest.mark.parametrize("write", [save_index, keep_index])
@pytest.mark.parametrize("contents", ["video", "text", "zeros"])
def test_an_index_takes_the_place_of_nothing_else(write: Callable[[Path], None], contents: str, tmp_path: Path) -> None:
    path = tmp_path / "a.mp4"
    path.write_bytes({"video": clip().read_bytes(), "text": b"tricodec is here", "zeros": bytes(10)}[contents])
    before = path.read_bytes()

    with pytest.raises(ValueError, match=r"a\.mp4' is not an index of tricodec, and stays unchanged; name a new file"):
        write(path)

    assert path.read_bytes() == before
    assert names(tmp_path) == ["a.mp4"]


def test_a_source_without_frames_leaves_what_was_there(old: Path, tmp_path: Path) -> None:
    folder = tmp_path / "sources"
    folder.mkdir()
    source = without_frames(folder / "zeros.mp4")
    empty = folder / "empty.yuv"
    empty.touch()

    with pytest.raises(tricodec.CorruptDataError, match="no frame of"):
        tricodec.transcode(source, old)
    with pytest.raises(ValueError, match="no frame of"):
        tricodec.transcode(clip(), old, start=100)
    for arguments in (
        ("transcode", source, "-o", old),
        ("encode", empty, "-o", old, "--size", "64x64"),
        ("encode", source, "-o", old),
        ("frames", source, "--raw", "-o", old),
        ("frames", source, "--contact-sheet", "-o", old),
    ):
        with pytest.raises(OSError, match="failed"):
            command(*arguments)

    assert old.read_bytes() == b"the old file"
    assert names(tmp_path) == ["a.mp4", "sources"]


PRELUDE = """
    import tricodec

    def write(*times, fragmented):
        with tricodec.Muxer(None, format="mp4", fragmented=fragmented) as muxer:
            muxer.add_stream(tricodec.video.describe_stream("mpeg4", 64, 64, time_base=(1, 25)))
            for time in times:
                muxer.write(tricodec.Packet(b"\\0\\0\\0\\1\\x65abc", pts=time, dts=time, duration=1, key=True))
            muxer.finish()
            return muxer.getvalue()

    def times(file):
        return [packet.dts for packet in tricodec.Demuxer(file)]
"""


def run(script: str) -> str:
    """What a process of Python prints; an abort of libavformat ends it."""
    process = with_tricodec().run_code(textwrap.dedent(PRELUDE) + textwrap.dedent(script))
    assert process.returncode == 0, process.stderr
    return process.stdout


@pytest.mark.parametrize("fragmented", [False, True])
@pytest.mark.parametrize("stamps", ["0, 1, 1 << 40", "0, -(1 << 31), 1", "None, None, 1 << 50"])
def test_a_time_that_mp4_cannot_store_is_refused(stamps: str, fragmented: bool) -> None:
    printed = run(
        f"""
        try:
            write({stamps}, fragmented={fragmented})
        except ValueError as error:
            print(error)
        """
    )

    assert "2^31 units" in printed


@pytest.mark.parametrize("fragmented", [False, True])
def test_a_packet_without_times_follows_the_one_before(fragmented: bool) -> None:
    printed = run(f"print(len(times(write(0, None, 2, None, fragmented={fragmented}))))")

    assert printed == "4\n"
