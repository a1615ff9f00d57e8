# SPDX-License-Identifier: Apache-2.0
"""Media that name other files or servers make tricodec open neither: the kernel reports each open of a canary file, and
a listener each connection."""

from __future__ import annotations

import contextlib
import ctypes
import io
import os
import select
import socket
import struct
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import damaged_clips
import media
import pytest
import tricodec
import tricodec.io
from range_server import range_server

IN_OPEN = 0x20
IN_NONBLOCK = 0o4000


class Canary:
    """A video that media name, and a server that they name. Both notice their use."""

    def __init__(self, folder: Path) -> None:
        self.path = folder / "canary.mp4"
        self.path.write_bytes(media.generated("h264_bframes.mp4").read_bytes())
        self._libc = ctypes.CDLL(None, use_errno=True)
        self._notices = self._libc.inotify_init1(IN_NONBLOCK)
        assert self._libc.inotify_add_watch(self._notices, os.fsencode(self.path), IN_OPEN) >= 0
        self._server = socket.create_server(("127.0.0.1", 0))
        self._server.setblocking(False)
        self.port = self._server.getsockname()[1]

    def noticed(self) -> list[str]:
        """What was done since the last call."""
        found = []
        if select.select([self._notices], [], [], 0)[0]:
            os.read(self._notices, 4096)
            found.append("the file was opened")
        with contextlib.suppress(BlockingIOError):
            self._server.accept()[0].close()
            found.append("the server was connected to")
        return found

    def close(self) -> None:
        os.close(self._notices)
        self._server.close()


@pytest.fixture
def canary(tmp_path: Path) -> Iterator[Canary]:
    one = Canary(tmp_path)
    yield one
    one.close()


def playlist(target: str) -> bytes:
    return f"#EXTM3U\n#EXT-X-VERSION:3\n#EXT-X-TARGETDURATION:2\n#EXTINF:2.0,\n{target}\n#EXT-X-ENDLIST\n".encode()


def dash(target: str) -> bytes:
    return (
        '<?xml version="1.0"?>\n<MPD xmlns="urn:mpeg:dash:schema:mpd:2011" type="static" '
        'mediaPresentationDuration="PT2S"><Period><AdaptationSet mimeType="video/mp4"><Representation id="1" '
        f'bandwidth="1000" width="64" height="64"><BaseURL>{target}</BaseURL></Representation></AdaptationSet>'
        "</Period></MPD>\n"
    ).encode()


def sdp(target: str) -> bytes:
    host, port = "127.0.0.1", target.rpartition(":")[2].partition("/")[0]
    port = port if port.isdigit() else "5004"
    return f"v=0\no=- 0 0 IN IP4 {host}\ns=x\nc=IN IP4 {host}\nt=0 0\nm=video {port} RTP/AVP 96\n".encode()


def with_data_reference(target: str, kind: bytes = b"url ") -> bytes:
    """An mp4 with its samples in another file, as its data reference says."""
    data = media.generated("h264_bframes.mp4").read_bytes()
    at = data.index(b"dref") + 8
    old = data[at + 4 : at + 16]
    assert old[4:8] == b"url "
    location = target.encode() + b"\0"
    entry = struct.pack(">I4sI", 12 + len(location), kind, 0) + location
    # Only the reference itself grows; libavformat takes boxes that are longer than their parents.
    return data[: at + 4] + entry + data[at + 16 :]


def mkv_with_attachment(target: str, folder: Path) -> bytes:
    """A Matroska file with an attachment that has the name of another file."""
    attached = folder / "attached.txt"
    attached.write_text("x")
    clip = damaged_clips.made("hevc.mkv", damaged_clips.SMALL["hevc.mkv"], seconds=0.48)
    command = ["ffmpeg", "-nostdin", "-v", "error", "-y", "-i", clip, "-c", "copy"]
    command += ["-attach", attached, "-metadata:s:t", f"filename={target}", "-metadata:s:t", "mimetype=text/plain"]
    subprocess.run([*command, folder / "attachment.mkv"], check=True)
    return (folder / "attachment.mkv").read_bytes()


CONTENTS: dict[str, Callable[[str, Path], bytes]] = {
    "playlist.m3u8": lambda target, _: playlist(target),
    "playlist_named.mp4": lambda target, _: playlist(target),
    "playlist_with_key.m3u8": lambda target, _: playlist(target).replace(
        b"#EXTINF", f'#EXT-X-KEY:METHOD=AES-128,URI="{target}"\n#EXTINF'.encode()
    ),
    "script.ffconcat": lambda target, _: f"ffconcat version 1.0\nfile '{target}'\n".encode(),
    "script_named.mkv": lambda target, _: f"ffconcat version 1.0\nfile '{target}'\n".encode(),
    "manifest.mpd": lambda target, _: dash(target),
    "session.sdp": lambda target, _: sdp(target),
    "stream.rtsp": lambda target, _: f"RTSPtext\n{target}\n".encode(),
    "redirect.ram": lambda target, _: f"{target}\n".encode(),
    "redirect.asx": lambda target, _: f'<asx version="3.0"><entry><ref href="{target}"/></entry></asx>'.encode(),
    "url_reference.mp4": lambda target, _: with_data_reference(target),
    "alias_reference.mov": lambda target, _: with_data_reference(target, b"alis"),
    "attachment.mkv": mkv_with_attachment,
}


def frames_of(source: Any) -> None:
    with tricodec.FrameReader(source, device="cpu") as reader:
        for _ in zip(range(3), reader, strict=False):
            pass


def stream_of(source: Any) -> None:
    reader = tricodec.io.StreamReader(source)
    reader.add_basic_video_stream(3)
    reader.fill_buffer()


READERS: dict[str, Callable[[Any], Any]] = {
    "probe": tricodec.probe,
    "FrameReader": frames_of,
    "Demuxer": lambda source: list(tricodec.Demuxer(source, all_streams=True)),
    "transcode": lambda source: tricodec.transcode(source, None, format="matroska"),
    "StreamReader": stream_of,
}


@pytest.mark.parametrize("content", CONTENTS)
def test_what_a_file_names_is_not_opened(content: str, canary: Canary, tmp_path: Path) -> None:
    server = f"http://127.0.0.1:{canary.port}/canary.mp4"
    for target in (str(canary.path), canary.path.name, f"file://{canary.path}", server, server.replace("http", "rtsp")):
        data = CONTENTS[content](target, tmp_path)
        path = tmp_path / content
        path.write_bytes(data)
        for name, read in READERS.items():
            for source in (path, data, io.BytesIO(data)):
                with contextlib.suppress(tricodec.Error, IndexError, ValueError, RuntimeError):
                    read(source)

                assert canary.noticed() == [], (name, target)


def test_what_a_file_on_a_server_names_is_not_opened(canary: Canary, tmp_path: Path) -> None:
    pytest.importorskip("obstore")
    with range_server() as server:
        beside = server.put("canary.mp4", canary.path.read_bytes())
        canary.noticed()
        for content, make in CONTENTS.items():
            url = server.put(content, b"")
            for target in (str(canary.path), beside, "canary.mp4"):
                server.put(content, make(target, tmp_path))
                for name, read in READERS.items() if target == beside else [("FrameReader", frames_of)]:
                    with contextlib.suppress(tricodec.Error, IndexError, ValueError, RuntimeError):
                        read(tricodec.open_remote(url))

                    assert canary.noticed() == [], (content, name, target)
        assert set(server.paths) == {f"/{content}" for content in CONTENTS}


@pytest.mark.parametrize("reader", READERS)
def test_names_of_protocols_and_patterns_are_not_opened(
    reader: str, canary: Canary, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("picture001.mp4").symlink_to(canary.path)
    server = f"127.0.0.1:{canary.port}"
    for name in (
        f"http://{server}/x.mp4",
        f"tcp://{server}",
        f"rtsp://{server}/x",
        f"ftp://{server}/x",
        f"concat:{canary.path}|{canary.path}",
        f"concatf:{canary.path}",
        f"subfile,,start,0,end,900,,:{canary.path}",
        f"crypto:{canary.path}",
        f"async:{canary.path}",
        f"cache:file:{canary.path}",
        f"file:{canary.path}",
        "data:text/plain,x",
        "pipe:0",
        f"unix:{canary.path}",
        "picture%03d.mp4",
        "picture*.mp4",
    ):
        with pytest.raises((tricodec.Error, OSError, ValueError)):
            READERS[reader](name)

        assert canary.noticed() == [], name
