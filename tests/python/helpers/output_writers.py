# SPDX-License-Identifier: Apache-2.0
"""Everything of tricodec that writes a file: each entry of WRITERS writes one to a path."""

from __future__ import annotations

import dataclasses
import functools
import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path

import numpy as np
import PyNvVideoCodec as nvc
import tricodec
from media import generated
from stream_testing import generate
from tricodec.cli import main
from tricodec.compress import compress_file
from tricodec.io import StreamWriter

FAST = {"preset": "ultrafast"}
STREAM = "mpegts"  # needs no seeking, so that it goes through a pipe


@dataclasses.dataclass(frozen=True)
class Writer:
    """One way to write a file.

    Attributes:
        write: writes to a path; raises OSError where the system refuses.
        name: of a file that it may be asked for.
        old: what may be in the file before.
        seeks: it goes back in the file, which pipes cannot.
    """

    write: Callable[[Path], object]
    name: str
    old: Callable[[], bytes] = lambda: b"the old file"
    seeks: bool = False


@functools.cache
def sources() -> Path:
    """A folder with what the writers read, made before their file system is full or not theirs."""
    folder = Path(_FOLDER.name)
    folder.chmod(0o755)
    shutil.copy(generated("h264_bframes.mp4"), folder / "clip.mp4")
    (folder / "source").write_bytes(np.random.default_rng(1).bytes(40_000))
    command("compress", folder / "source", "--algorithm", "lz4")
    with tricodec.FrameReader(generated("h264_audio.mp4")) as reader:
        reader.save_index(folder / "old.index")
    return folder


_FOLDER = tempfile.TemporaryDirectory()


def clip() -> Path:
    return sources() / "clip.mp4"


def old_index() -> bytes:
    """Of another video than the clip."""
    return (sources() / "old.index").read_bytes()


def command(*arguments: object) -> None:
    """A command that replaces files, as calls do. One that fails has said why, and raises here."""
    if main([*map(str, arguments), "--force"]) != 0:
        message = "the command failed"
        raise OSError(message)


def transcode(path: Path) -> None:
    tricodec.transcode(clip(), path, options=FAST, num_threads=1, format=STREAM)


def mux(path: Path) -> None:
    demuxer = tricodec.Demuxer(clip())
    with tricodec.Muxer(path, format=STREAM) as muxer:
        stream = muxer.add_stream(demuxer.stream)
        for packet in demuxer:
            muxer.write(packet, stream)


def write_stream(path: Path) -> None:
    writer = StreamWriter(path, format=STREAM)
    writer.add_video_stream(30, 64, 48, encoder="mpeg2video")
    with writer.open():
        writer.write_video_chunk(0, np.tile(generate(frames=10), (4, 1, 1, 1)))


def mux_by_pynv(path: Path) -> None:
    demuxer = tricodec.Demuxer(clip(), annexb=True)
    try:
        muxer = nvc.FFmpegMuxer(str(path), nvc.MP4, "h264", demuxer.stream.width, demuxer.stream.height)
        for number, packet in enumerate(demuxer):
            muxer.MuxVideoPacket(bytes(packet.data), 3 if packet.key else 0, number)
        muxer.Finalize()
    except nvc.PyNvVCException as error:  # the original's, which is no OSError
        raise OSError(str(error)) from error


def transcode_by_pynv(path: Path) -> None:
    try:
        nvc.Transcoder(str(clip()), str(path), preset="P1").transcode_with_mux()
    except nvc.PyNvVCException as error:
        raise OSError(str(error)) from error


def write_picture(path: Path) -> None:
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "000000.png").symlink_to(path)
        command("frames", clip(), "--count", 1, "-o", folder)


@functools.cache
def _profiler() -> tricodec.Profiler:
    with tricodec.Profiler() as profiler:
        tricodec.decode_video(clip(), device="cpu")
    return profiler


def keep_index(path: Path) -> None:
    with tricodec.FrameReader(clip(), index=path) as reader:
        len(reader)


def save_index(path: Path) -> None:
    with tricodec.FrameReader(clip()) as reader:
        reader.save_index(path)


WRITERS = {
    "transcode": Writer(transcode, "a.ts"),
    "Muxer": Writer(mux, "a.ts"),
    "StreamWriter": Writer(write_stream, "a.ts"),
    "FFmpegMuxer": Writer(mux_by_pynv, "a.mp4", seeks=True),
    "Transcoder": Writer(transcode_by_pynv, "a.mp4", seeks=True),
    "save_index": Writer(save_index, "a.index", old_index),
    "save_trace": Writer(lambda path: _profiler().save_trace(path), "a.json"),
    "compress_file": Writer(lambda path: compress_file(sources() / "source", path, algorithm="lz4"), "a.tcz"),
    "tricodec transcode": Writer(
        lambda path: command("transcode", clip(), "-o", path, "--preset=ultrafast", "--threads=1"), "a.mp4", seeks=True
    ),
    "tricodec encode": Writer(
        lambda path: command("encode", clip(), "-p", "preset=P1", "-o", path), "a.mp4", seeks=True
    ),
    "tricodec frames": Writer(write_picture, "a.png"),
    "tricodec frames --raw": Writer(lambda path: command("frames", clip(), "--count", 2, "--raw", "-o", path), "a.yuv"),
    "tricodec frames --contact-sheet": Writer(
        lambda path: command("frames", clip(), "--contact-sheet", "-o", path), "a.png"
    ),
    "tricodec compress": Writer(
        lambda path: command("compress", sources() / "source", "--algorithm", "lz4", "-o", path), "a.tcz"
    ),
    "tricodec decompress": Writer(lambda path: command("decompress", sources() / "source.tcz", "-o", path), "a"),
}
