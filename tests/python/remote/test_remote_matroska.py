# SPDX-License-Identifier: Apache-2.0
"""Remote Matroska files, read by their Cues with `index="container"`: the frames of the local file, by fewer bytes."""

from __future__ import annotations

import shlex
from pathlib import Path

import numpy as np
import pytest
import tricodec
from media import ffmpeg, ffprobe
from range_server import RangeServer

pytest.importorskip("obstore")

GOP, FRAMES = 30, 600
NOISE = "nullsrc=size=160x120:rate=30,geq=random(1)*255:128:128"
H264 = "-c:v libx264 -preset ultrafast -bf 2 -qp 14 -g 30 -keyint_min 30 -sc_threshold 0 -c:a aac"
HEAD_BYTES = 320 << 10  # the first request, one at the end for Tags and Cues, one where the video begins


@pytest.fixture(scope="module")
def clip(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """600 frames in twenty GOPs, with sound, about 12 MB."""
    path = tmp_path_factory.mktemp("cues") / "long.mkv"
    sound = ("-f", "lavfi", "-i", "sine=sample_rate=48000:duration=20")
    ffmpeg("-f", "lavfi", "-i", NOISE, *sound, "-frames:v", str(FRAMES), *shlex.split(H264), path)
    return path


def gop_bytes(path: Path, gops: list[int]) -> int:
    packets = ffprobe(path, "-select_streams v:0 -show_entries packet=size")["packets"]
    return sum(int(packet["size"]) for gop in gops for packet in packets[GOP * gop : GOP * gop + GOP])


def opened(server: RangeServer, path: Path) -> tricodec.FrameReader:
    source = tricodec.open_remote(server.put(path.name, path.read_bytes()))
    return tricodec.FrameReader(source, device="cpu", index="container")


def expect_same(remote: tricodec.FrameReader, path: Path, numbers: list[int]) -> None:
    """The frames, and then all numbers, are those of the local file, of which all packets are read."""
    with tricodec.FrameReader(path, device="cpu", index="packets") as local:
        expected = [(frame.index, frame.pts, frame.duration, frame.md5()) for frame in local.frames(numbers)]
        assert [(frame.index, frame.pts, frame.duration, frame.md5()) for frame in remote.frames(numbers)] == expected
        assert len(remote) == len(local)
        assert remote.key_frames == local.key_frames
        np.testing.assert_allclose(remote.pts_seconds, local.pts_seconds, atol=0.0011)


def test_frames_take_their_groups_of_pictures(server: RangeServer, clip: Path) -> None:
    wanted = [47, 48, 49, 171, 172, 311, 312, 313]
    with opened(server, clip) as reader:
        assert len(reader) == FRAMES
        assert server.bytes_sent <= HEAD_BYTES + 1.05 * gop_bytes(clip, [19]), "the head, Cues and the last GOP"
        server.forget()
        frames = reader.frames(wanted)
        assert server.bytes_sent <= 1.15 * gop_bytes(clip, [1, 5, 10])
        assert [frame.index for frame in frames] == wanted
        expect_same(reader, clip, wanted)
        assert reader.stats.bytes_read < 0.4 * clip.stat().st_size


def test_times_take_their_groups_of_pictures(server: RangeServer, clip: Path) -> None:
    times = [2.0, 3.017, 3.049, 12.9999, 13.0]
    numbers = [380, 387, 383, 385]
    with opened(server, clip) as remote, tricodec.FrameReader(clip, device="cpu") as local:
        begins = [local.pts_seconds[number] for number in numbers]
        assert len(remote) == FRAMES
        server.forget()
        frames = remote.batch(times=times)
        # A predicted time may be a millisecond later than the frame's own.
        assert [remote.at(seconds).index for seconds in begins] == numbers
        assert server.bytes_sent <= 1.15 * gop_bytes(clip, [1, 2, 3, 12])
        np.testing.assert_array_equal(frames, local.batch(times=times))


@pytest.mark.parametrize("read", ["iterate", "every tenth"])
def test_all_groups_are_read_as_those_of_a_local_file(server: RangeServer, clip: Path, read: str) -> None:
    step = 1 if read == "iterate" else 10
    with opened(server, clip) as remote, tricodec.FrameReader(clip, device="cpu") as local:
        assert len(remote) == FRAMES
        frames = remote if step == 1 else remote.frames(range(0, FRAMES, step))
        others = local if step == 1 else local.frames(range(0, FRAMES, step))
        assert [frame.md5() for frame in frames] == [frame.md5() for frame in others]
        assert remote.pts_seconds.tolist() == local.pts_seconds.tolist(), "all of them were read"


@pytest.mark.parametrize(
    "stream",
    [
        "-vf select='not(eq(mod(n\\,37)\\,5))' -vsync passthrough -c:v libx264 -preset ultrafast -g 30 -qp 20",
        "-c:v libx265 -preset ultrafast -x265-params keyint=30:min-keyint=30:open-gop=1:log-level=1",
        "-c:v libvpx -deadline realtime -cpu-used 16 -auto-alt-ref 1 -lag-in-frames 10 -g 30 -b:v 1M",
    ],
    ids=["frames are missing", "open groups", "hidden frames"],
)
def test_what_is_not_as_predicted_is_read_whole(server: RangeServer, clip: Path, tmp_path: Path, stream: str) -> None:
    path = tmp_path / "other.mkv"
    ffmpeg("-i", clip, "-frames:v", "120", *shlex.split(stream), "-an", path)
    with opened(server, path) as reader:
        expect_same(reader, path, [31, 40, 41, 100])


def test_wrong_cues_are_not_believed(server: RangeServer, clip: Path, tmp_path: Path) -> None:
    data = bytearray(clip.read_bytes())
    cues = data.rindex(bytes.fromhex("1c53bb6b"))
    points = [at for at in range(cues, len(data) - 1) if data[at : at + 2] in (b"\xf1\x83", b"\xf1\x84")]
    first, second = (data[at + 2 : at + 2 + data[at + 1] - 0x80] for at in points[5:7])
    assert len(first) == len(second)
    data[points[5] + 2 : points[5] + 2 + len(first)] = second
    path = tmp_path / "wrong.mkv"
    path.write_bytes(data)
    with opened(server, path) as reader:
        expect_same(reader, clip, [155, 160, 300])


def test_without_index_all_of_it_is_read_and_all_is_exact(server: RangeServer, clip: Path) -> None:
    source = tricodec.open_remote(server.put("a.mkv", clip.read_bytes()))
    with tricodec.FrameReader(source, device="cpu") as reader, tricodec.FrameReader(clip, device="cpu") as local:
        assert reader.pts_seconds.tolist() == local.pts_seconds.tolist()
    assert server.bytes_sent >= 0.99 * clip.stat().st_size


def test_an_index_that_is_saved_has_no_predictions(server: RangeServer, clip: Path) -> None:
    with opened(server, clip) as reader, tricodec.FrameReader(clip, index="packets") as local:
        assert len(reader) == FRAMES
        index = reader.index_bytes()
        with tricodec.FrameReader(clip, index=index) as again:
            assert again.pts_seconds.tolist() == local.pts_seconds.tolist()
