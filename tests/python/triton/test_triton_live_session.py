# SPDX-License-Identifier: Apache-2.0
"""The model video_session with a live stream: packets are pushed, and frames come as they can be decoded."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
import tricodec
from media import generated
from tricodec.triton.serve import Server
from triton_testing import connect, variants

pytestmark = pytest.mark.needs_triton

MODELS = {
    "video_session": {"workers": "1"},
    "inline": {"workers": "1", "isolation": "none"},
    "small": {"workers": "1", "max_input_bytes": "20000"},
}


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    repository = variants(tmp_path_factory.mktemp("repository"), "video_session", **MODELS)
    with Server(repository, None, ready_timeout_seconds=240, stop_timeout_seconds=5) as started:
        yield started


def packets_of(name: str) -> list[tricodec.Packet]:
    with tricodec.Demuxer(generated(name), annexb=True) as demuxer:
        return list(demuxer)


def codec_of(name: str) -> str:
    with tricodec.Demuxer(generated(name)) as demuxer:
        return demuxer.stream.codec


def pushed(session: Any, packets: list[tricodec.Packet], each: int) -> list[tricodec.DecodedVideo]:
    """What a session gives for packets, some of them a request, until the stream is at its end."""
    chunks = []
    for first in range(0, len(packets), each):
        chunks.append(session.push(packets[first : first + each]))
        chunks += session
    chunks.append(session.flush())
    chunks += session
    assert session.is_last
    return [chunk for chunk in chunks if len(chunk)]


@pytest.mark.parametrize("shared_memory", [True, False])
@pytest.mark.parametrize(
    ("name", "each", "options"),
    [
        ("h264_bframes.mp4", 1, {}),
        ("hevc10.mkv", 7, {"dtype": "float32", "layout": "CHW", "size": (40, 56), "mean": [0.4, 0.5, 0.6]}),
        ("av1.mp4", 100, {"dtype": "bfloat16", "size": (33, 47)}),
        ("vp9.webm", 3, {"color": "gray"}),
    ],
)
def test_pushed_packets_give_the_frames_and_times_of_the_file(
    server: Any, name: str, each: int, options: dict[str, Any], shared_memory: bool
) -> None:
    expected = tricodec.decode_video(generated(name), device="cpu", **options)
    with (
        connect(server.grpc_url, shared_memory=shared_memory) as client,
        client.open(codec=codec_of(name), chunk=5, model="video_session", **options) as session,
    ):
        chunks = pushed(session, packets_of(name), each)

    assert max(len(chunk) for chunk in chunks) <= 5
    assert np.concatenate([chunk.frames for chunk in chunks]).tobytes() == expected.frames.tobytes()
    np.testing.assert_array_equal(np.concatenate([chunk.pts_seconds for chunk in chunks]), expected.pts_seconds)
    assert chunks[-1].num_damaged_packets == 0


def test_a_stream_that_changes_its_size_gives_each_size_in_chunks_of_its_own(server: Any) -> None:
    names = ("h264_bframes.mp4", "h264_16x16.mp4")
    first, second = (tricodec.decode_video(generated(name), device="cpu").frames for name in names)
    packets = [*packets_of(names[0]), *packets_of(names[1])]
    data = [bytes(packet) for packet in packets]
    for shared_memory in (True, False):
        with (
            connect(server.grpc_url, shared_memory=shared_memory) as client,
            client.open(codec="h264", chunk=16) as session,
        ):
            chunks = pushed(session, data, 30)
        large = [chunk for chunk in chunks if chunk.frames.shape[1:] == first.shape[1:]]
        small = [chunk for chunk in chunks if chunk.frames.shape[1:] == second.shape[1:]]
        assert chunks == large + small
        np.testing.assert_array_equal(np.concatenate([chunk.frames for chunk in large]), first)
        np.testing.assert_array_equal(np.concatenate([chunk.frames for chunk in small]), second)
        assert np.isnan(chunks[0].pts_seconds).all()  # bytes have no times


def push_until_refused(session: Any, packets: list[tricodec.Packet]) -> tuple[int, str]:
    """How many packets a session takes without giving frames, and the text of its refusal of the next one."""
    for number, packet in enumerate(packets):
        try:
            session.push(packet, chunk=0)
        except tricodec.RefusedError as error:
            return number, str(error)
    raise AssertionError("all packets were taken")


def test_a_client_that_pushes_and_never_pulls_is_stopped_at_the_models_limit(server: Any) -> None:
    packets = packets_of("h264_bframes.mp4")
    assert sum(map(len, packets)) > 20_000
    with connect(server.grpc_url) as client, client.open(codec="h264", chunk=4, model="small") as session:
        taken, refusal = push_until_refused(session, packets)
        chunks = list(session)  # room again
        chunks += pushed(session, packets[taken:], 1)

    assert re.search(r"packets of \d+ bytes wait .*max_input_bytes.*pull frames", refusal)
    frames = np.concatenate([chunk.frames for chunk in chunks])
    np.testing.assert_array_equal(frames, tricodec.decode_video(generated("h264_bframes.mp4"), device="cpu").frames)


def test_damaged_packets_are_counted_and_cost_their_frames_only(server: Any) -> None:
    packets = packets_of("h264_bframes.mp4")
    data = [bytes(packet) for packet in packets]
    keys = [number for number, packet in enumerate(packets) if packet.key]
    data[keys[1] - 1] = b"\0\0\0\1\x41" + b"\xff" * 40
    with connect(server.grpc_url) as client, client.open(codec="h264") as session:
        chunks = pushed(session, data, 10)

    whole = tricodec.decode_video(generated("h264_bframes.mp4"), device="cpu").frames
    frames = np.concatenate([chunk.frames for chunk in chunks])
    assert chunks[-1].num_damaged_packets >= 1
    np.testing.assert_array_equal(frames[-(len(whole) - keys[1]) :], whole[keys[1] :])


@pytest.mark.parametrize("data", [[b""], [b"no packet"]])
def test_what_is_no_packet_ends_no_stream(server: Any, data: list[bytes]) -> None:
    packets = packets_of("h264_bframes.mp4")
    with connect(server.grpc_url) as client, client.open(codec="h264") as session:
        if data == [b""]:
            with pytest.raises(ValueError, match="packet 0 of PACKETS is empty"):
                session.push(data)
        else:
            assert len(session.push(data)) == 0
        chunks = pushed(session, packets, 50)

    assert sum(map(len, chunks)) == 50
