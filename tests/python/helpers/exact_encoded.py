# SPDX-License-Identifier: Apache-2.0
"""Streams of encoders, with the MD5 of each frame from what is not the decoder that tricodec uses.

x264 writes the pictures that it reconstructs beside the stream. x265 writes their MD5s into the stream (a message of
ITU-T H.265, D.3.19). The frames of VP8, VP9 and AV1 come from libvpx and libaom, the reference decoders.
"""

from __future__ import annotations

import hashlib
import subprocess
import tempfile
from collections.abc import Sequence
from pathlib import Path

import media

SIZE, COUNT = (320, 192), 24  # whole coding tree blocks, so that a picture is what its MD5 is of
_SAMPLES = {"gray": 1.0, "yuv420p": 1.5, "yuv422p": 2.0, "yuv440p": 2.0, "yuv444p": 3.0, "gbrp": 3.0}
_KIND, _HASH = 40, 132  # NAL unit of messages that follow the picture; the message with its MD5s


class NotInThisFfmpeg(RuntimeError):
    """The ffmpeg command line was built without an encoder or a decoder that a stream needs."""


def md5(data: bytes) -> str:
    return hashlib.md5(data, usedforsecurity=False).hexdigest()


def source(pix_fmt: str, size: tuple[int, int] = SIZE, count: int = COUNT, noise: int = 0) -> list[str]:
    """ffmpeg's arguments for moving pictures."""
    # testsrc2 makes 4:2:0 of other colors; noise gives the encoders residuals that no prediction removes
    filters = f"scale={size[0]}:{size[1]}" + (f",noise=alls={noise}:all_seed=5" if noise else "")
    picture = f"testsrc2=size={size[0] + size[0] % 2}x{size[1] + size[1] % 2}:rate=25"
    return ["-f", "lavfi", "-i", picture, "-frames:v", str(count), "-vf", filters, "-pix_fmt", pix_fmt]


def make(name: str, arguments: Sequence[str], sidecar: str = "") -> Path:
    """The file that ffmpeg writes, made once; `sidecar` is what the encoder writes beside it."""
    key = md5("\0".join([media.ffmpeg_version(), name, *arguments]).encode())[:16]
    path = media.CACHE / "exact" / key / name
    if path.is_file():
        return path
    path.parent.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=path.parent.parent) as folder:
        command = ["ffmpeg", "-nostdin", "-v", "error", *arguments, name]
        result = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
        if "Unknown encoder" in result.stderr:
            raise NotInThisFfmpeg(result.stderr.strip())
        assert result.returncode == 0, f"{' '.join(command)}: {result.stderr[-2000:]}"
        path.parent.mkdir(exist_ok=True)
        for file in (sidecar, name):  # the stream last: where it is, all is there
            if file:
                (Path(folder) / file).replace(path.parent / file)
    return path


def frame_bytes(pix_fmt: str, size: tuple[int, int] = SIZE) -> int:
    base, deep = (pix_fmt[:-4], 2) if pix_fmt.endswith("le") else (pix_fmt, 1)
    return int(size[0] * size[1] * _SAMPLES[base]) * deep


def x264(
    name: str, options: str, pix_fmt: str = "yuv420p", *, flags: str = "", noise: int = 0, first: int = 0
) -> tuple[Path, list[str]]:
    """`first` frames are cut off by an edit list."""
    codec = ["-c:v", "libx264rgb" if pix_fmt == "gbrp" else "libx264", "-preset", "medium", "-threads", "1"]
    given = source("bgr24" if pix_fmt == "gbrp" else pix_fmt, noise=noise)
    parameters = f"dump-yuv=coded.yuv:keyint=12:scenecut=0:{options}"
    path = make(name, [*given, *codec, *flags.split(), "-x264-params", parameters], "coded.yuv")
    data = (path.parent / "coded.yuv").read_bytes()
    size = frame_bytes(pix_fmt)
    frames = [data[at : at + size] for at in range(0, len(data), size)]
    assert len(frames) == COUNT
    if pix_fmt.startswith("gray"):  # libavcodec gives 4:0:0 of H.264 as 4:2:0
        grey = b"\x80" if pix_fmt == "gray" else b"\x00\x02"
        frames = [frame + grey * (SIZE[0] * SIZE[1] // 2) for frame in frames]
    if first:
        edited = make(f"cut-{name}", ["-ss", f"{first / 25}", "-i", str(path), "-c", "copy"])
        return edited, [md5(frame) for frame in frames[first:]]
    return path, [md5(frame) for frame in frames]


def _units(stream: bytes) -> list[bytes]:
    """The NAL units of an Annex B stream, without the bytes against false start codes."""
    parts = stream.replace(b"\0\0\0\1", b"\0\0\1").split(b"\0\0\1")[1:]
    return [part.replace(b"\0\0\3", b"\0\0") for part in parts]


def written_md5s(stream: bytes, num_planes: int) -> list[str]:
    """The MD5s of the planes of each picture, joined, in decoding order, as an HEVC stream states them."""
    found = []
    for unit in _units(stream):
        if unit[0] >> 1 != _KIND or unit[2] != _HASH:
            continue
        assert unit[4] == 0, "the message has no MD5s"
        found.append("".join(unit[5 + 16 * plane : 21 + 16 * plane].hex() for plane in range(num_planes)))
    return found


def x265(name: str, options: str, pix_fmt: str = "yuv420p", *, noise: int = 0) -> tuple[Path, list[str]]:
    """The MD5s are of the planes of a frame, joined."""
    parameters = f"log-level=error:pools=1:frame-threads=1:hash=1:keyint=12:scenecut=0:{options}"
    path = make(
        name, [*source(pix_fmt, noise=noise), "-c:v", "libx265", "-preset", "medium", "-x265-params", parameters]
    )
    stream = subprocess.run(
        ["ffmpeg", "-v", "error", "-i", path, "-c", "copy", "-bsf:v", "hevc_mp4toannexb", "-f", "hevc", "-"],
        capture_output=True, check=True,
    ).stdout  # fmt: skip
    found = written_md5s(stream, 1 if pix_fmt.startswith("gray") else 3)
    shown = subprocess.run(
        ["ffprobe", "-v", "error", "-show_entries", "packet=pts", "-of", "csv=p=0", path],
        capture_output=True, text=True, check=True,
    ).stdout.replace(",", "")  # fmt: skip
    times = [int(line) for line in shown.split()]
    assert len(times) == len(found) == COUNT, (len(times), len(found))
    return path, [found[number] for number in sorted(range(COUNT), key=times.__getitem__)]


def reference(path: Path, decoder: str) -> tuple[Path, list[str]]:
    """The frames of a file by a decoder of the ffmpeg command line that tricodec does not use."""
    try:
        return path, media.ffmpeg_framemd5(path, input_options=("-c:v", decoder))
    except RuntimeError as error:
        if "Unknown decoder" in str(error):
            raise NotInThisFfmpeg(f"ffmpeg has no decoder {decoder}") from error
        raise


def vpx(name: str, options: str, pix_fmt: str = "yuv420p", size: tuple[int, int] = SIZE) -> tuple[Path, list[str]]:
    """VP8 if `options` name libvpx as the encoder, else VP9."""
    path = make(name, [*source(pix_fmt, size, noise=12), *options.split(), "-threads", "1", "-g", "12"])
    return reference(path, "libvpx" if " libvpx " in f" {options} " else "libvpx-vp9")


def av1(name: str, options: str, pix_fmt: str = "yuv420p", size: tuple[int, int] = SIZE) -> tuple[Path, list[str]]:
    path = make(name, [*source(pix_fmt, size, noise=12), *options.split(), "-g", "12"])
    return reference(path, "libaom-av1")
