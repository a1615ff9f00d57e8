# SPDX-License-Identifier: Apache-2.0
"""The model video_session on a real tritonserver: a video stays open, or packets are pushed as they come.

Its frames are those of decode_video.
"""

from __future__ import annotations

import contextlib
import queue
import re
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import damaged_clips
import numpy as np
import pytest
import tricodec
from media import generated
from tricodec.triton.serve import Server
from triton_testing import assert_same, connect, inputs_of, joined, metric, settled, variants, videos, wait_until

pytestmark = pytest.mark.needs_triton

CLIP = "h264_bframes.mp4"
MODELS = {
    "video_session": {"workers": "2"},
    "counted": {"workers": "2"},
    "few": {"workers": "1", "max_sessions": "2"},
    "small": {"workers": "1", "max_sessions_bytes": "150000", "max_output_bytes": "400000", "max_frames": "20"},
    "brief": {"workers": "1", "max_idle_ms": "300"},
    "narrow": {"workers": "1", "max_input_bytes": "20000"},
}


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    repository = variants(tmp_path_factory.mktemp("repository"), "video_session", **MODELS)
    # Triton waits for sessions that are open when it ends.
    with Server(repository, None, ready_timeout_seconds=240, stop_timeout_seconds=5) as started:
        yield started


@pytest.fixture(scope="module")
def whole() -> tricodec.DecodedVideo:
    return tricodec.decode_video(generated(CLIP), device="cpu")


def sessions_ended(server: Any, model: str, reason: str) -> float:
    return metric(server.metrics_url, "tricodec_sessions_ended_total", model=model, reason=reason)


@pytest.mark.parametrize(
    ("model", "name", "chunk", "options"),
    [
        ("video_session", CLIP, 7, {}),
        ("counted", "h264_vfr.mkv", 50, {"stride": 3, "count": 4}),
        (
            "video_session",
            "h264_rot90.mp4",
            16,
            {"dtype": "float32", "layout": "CHW", "mean": [0.4, 0.5, 0.6], "std": [0.2, 0.3, 0.4], "count": 9},
        ),
        ("video_session", CLIP, 9, {"dtype": "bfloat16", "size": (40, 56), "chroma": "nearest"}),
    ],
)
def test_the_chunks_of_a_session_are_the_frames_of_decode_video(
    client: Any, model: str, name: str, chunk: int, options: dict[str, Any]
) -> None:
    expected = tricodec.decode_video(generated(name), device="cpu", **options)

    with client.open(generated(name), chunk, model=model, **options) as session:
        chunks = list(session)

    assert [len(each) for each in chunks[:-1]] == [chunk] * (len(chunks) - 1)
    assert_same(joined(chunks), expected)


def test_seeking_by_number_and_by_time_gives_the_frames_that_the_reader_has_there(client: Any) -> None:
    reader = tricodec.FrameReader(generated("h264_vfr.mkv"), device="cpu")
    with client.open(generated("h264_vfr.mkv"), 4) as session:
        assert len(session) == len(reader)
        for start in (30, 2, 25, -3):
            session.seek(start)
            chunk = session.read(3)
            wanted = reader.select(start=start, count=3)
            np.testing.assert_array_equal(session.frame_numbers, wanted)
            np.testing.assert_array_equal(chunk.frames, reader.batch(wanted))
        for seconds in (0.5, 0.0, 0.9):
            session.seek(start_s=seconds, stride=2, count=2)
            chunks = list(session)
            first = reader.index_at(seconds)
            np.testing.assert_array_equal(joined(chunks).frames, reader.batch([first, first + 2]))
            assert session.is_last


CHOICES: list[dict[str, Any]] = [
    {"indices": [40, 3, 3, -1, 17]},
    {"times": [1.0, 0.2, 0.21, 1.0], "tolerance_s": 0.05, "policy": "on_screen"},
    {"fps": 3.0, "start_s": 0.3, "end_s": 1.5, "policy": "nearest"},
    {"start_s": 0.5, "end_s": 1.1, "stride": 4},
    {"sampling": "around", "times": [0.3, 1.2], "num_frames": 3, "stride": 2},
]


@pytest.mark.parametrize("words", CHOICES, ids="-".join)
def test_the_words_of_decode_video_choose_its_frames_when_a_session_opens_and_later(
    client: Any, words: dict[str, Any]
) -> None:
    expected = tricodec.decode_video(generated(CLIP), device="cpu", size=(40, 56), **words)
    assert 0 < len(expected) < 25

    with client.open(generated(CLIP), 3, size=(40, 56), **words) as session:
        chunks, numbers = [], []
        for chunk in session:
            chunks.append(chunk)
            numbers += session.frame_numbers.tolist()
        assert_same(joined(chunks), expected)
        assert numbers == expected.indices.tolist()
    with client.open(generated(CLIP), 4, size=(40, 56), stride=3) as session:
        session.read()
        session.seek(**words)
        assert_same(joined(list(session)), expected)


def test_many_sessions_at_a_time_keep_their_places(client: Any, whole: tricodec.DecodedVideo) -> None:
    def play(start: int) -> None:
        with client.open(generated(CLIP), 3 + start, start=start) as session:
            np.testing.assert_array_equal(joined(list(session)).frames, whole.frames[start:])

    with ThreadPoolExecutor(6) as threads:
        list(threads.map(play, range(6)))


def test_requests_that_a_client_sends_ahead_are_answered_in_their_order(server: Any) -> None:
    import tritonclient.grpc as triton_grpc

    video, chunk = inputs_of({"VIDEO": videos(generated(CLIP).read_bytes())[0], "CHUNK": np.array([5])})
    answers: queue.Queue[Any] = queue.Queue()
    with triton_grpc.InferenceServerClient(server.grpc_url) as raw:
        raw.start_stream(lambda result, error: answers.put((result, error)))
        for number in range(10):
            inputs = [chunk, video] if number == 0 else [chunk]
            raw.async_stream_infer(
                "video_session", inputs, request_id=str(number), sequence_id="camera-7",
                sequence_start=number == 0, sequence_end=number == 9,
            )  # fmt: skip
        found = {}
        for _ in range(10):
            result, error = answers.get(timeout=60)
            assert error is None
            found[int(result.get_response().id)] = result.as_numpy("FRAME_NUMBERS").tolist()
        with pytest.raises(triton_grpc.InferenceServerException, match="must specify the START flag"):
            raw.infer("video_session", [chunk], sequence_id="camera-7")

    assert found == {number: list(range(5 * number, 5 * number + 5)) for number in range(10)}


def test_more_sessions_or_bytes_than_the_model_keeps_are_refused_until_one_ends(client: Any) -> None:
    with client.open(generated(CLIP), model="few") as first, client.open(generated(CLIP), model="few"):
        with pytest.raises(ConnectionError, match=r"2 sessions are open.*parameter max_sessions"):
            client.open(generated(CLIP), model="few")
        first.close()
        with client.open(generated(CLIP), 3, model="few") as third:
            assert len(third.read()) == 3

    size = generated(CLIP).stat().st_size
    assert size < 150_000
    with contextlib.ExitStack() as opened:
        for _ in range(150_000 // size):
            opened.enter_context(client.open(generated(CLIP), model="small", size=(16, 16)))
        with pytest.raises(ConnectionError, match="parameter max_sessions_bytes"):
            client.open(generated(CLIP), model="small", size=(16, 16))


def test_an_idle_session_ends_and_says_why(server: Any, client: Any, whole: tricodec.DecodedVideo) -> None:
    with client.open(generated(CLIP), 4, model="brief") as session:
        wait_until(lambda: sessions_ended(server, "brief", "expired") >= 1, "the session expires")
        with pytest.raises(ConnectionError, match=r"had no request for 300 ms \(parameter max_idle_ms"):
            session.read()

    with connect(server.grpc_url, retries=1) as patient, patient.open(generated(CLIP), 4, model="brief") as session:
        first = session.read()
        time.sleep(0.6)  # mostly it has expired
        rest = list(session)
    np.testing.assert_array_equal(joined([first, *rest]).frames, whole.frames)


@pytest.mark.parametrize(
    ("tensors", "flags", "message"),
    [
        ({"CHUNK": np.array([1])}, {"sequence_start": True}, "the request that opens a session has VIDEO"),
        ({"CHUNK": np.array([1]), "SIZE": np.array([8, 8])}, {}, "SIZE is for the request that opens a session"),
        ({"PACKETS": np.array([b"x"], np.object_)}, {}, "this session has a video, and takes no packets"),
        ({"START": np.array([1]), "START_S": np.array([1.0])}, {}, "start and start_s are both given"),
        ({"FPS": np.array([2.0, 3.0])}, {}, "FPS: expected one value, got 2"),
        ({"CODEC": np.array([b"mpeg9"], np.object_)}, {"sequence_start": True}, "mpeg9"),
    ],
)
def test_a_request_that_a_session_cannot_take_says_what_is_wrong(
    server: Any, tensors: dict[str, Any], flags: dict[str, bool], message: str
) -> None:
    import tritonclient.grpc as triton_grpc

    video, chunk = inputs_of({"VIDEO": videos(generated(CLIP).read_bytes())[0], "CHUNK": np.array([2])})
    with triton_grpc.InferenceServerClient(server.grpc_url) as raw:
        if not flags:
            raw.infer("video_session", [video], sequence_id=5, sequence_start=True)
        with pytest.raises(triton_grpc.InferenceServerException, match=message):
            raw.infer("video_session", inputs_of(tensors), sequence_id=5, **flags)
        if not flags:  # the session is as it was
            result = raw.infer("video_session", [chunk], sequence_id=5, sequence_end=True)
            assert result.as_numpy("FRAME_NUMBERS").tolist() == [16, 17]


def test_a_damaged_video_has_the_frames_before_the_damage_and_a_count(client: Any) -> None:
    data = damaged_clips.without_frame_15()
    with client.open(data, 7) as session:
        video = joined(list(session))
    assert np.array_equal(video.frames[:15], tricodec.decode_video(data, device="cpu", count=15).frames)
    assert video.num_damaged_packets > 0


def test_metrics_count_sessions_and_their_ends(server: Any, client: Any) -> None:
    def read() -> list[float]:
        opened = metric(server.metrics_url, "tricodec_sessions_opened_total", model="counted")
        return [opened, sessions_ended(server, "counted", "closed")]

    with client.open(generated(CLIP), model="counted"):
        pass
    before = settled(read)
    with client.open(generated(CLIP), model="counted"):
        opened, ended = before
        wait_until(lambda: read() == [opened + 1, ended], "the session counts as opened")
    wait_until(lambda: read() == [opened + 1, ended + 1], "the session counts as closed")


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
    client: Any, name: str, each: int, options: dict[str, Any]
) -> None:
    expected = tricodec.decode_video(generated(name), device="cpu", **options)
    with client.open(codec=codec_of(name), chunk=5, **options) as session:
        chunks = pushed(session, packets_of(name), each)

    assert max(len(chunk) for chunk in chunks) <= 5
    assert np.concatenate([chunk.frames for chunk in chunks]).tobytes() == expected.frames.tobytes()
    np.testing.assert_array_equal(np.concatenate([chunk.pts_seconds for chunk in chunks]), expected.pts_seconds)
    assert chunks[-1].num_damaged_packets == 0


def test_a_stream_that_changes_its_size_gives_each_size_in_chunks_of_its_own(client: Any) -> None:
    names = ("h264_bframes.mp4", "h264_16x16.mp4")
    first, second = (tricodec.decode_video(generated(name), device="cpu").frames for name in names)
    packets = [*packets_of(names[0]), *packets_of(names[1])]
    data = [bytes(packet) for packet in packets]
    with client.open(codec="h264", chunk=16) as session:
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


def test_a_client_that_pushes_and_never_pulls_is_stopped_at_the_models_limit(client: Any) -> None:
    packets = packets_of("h264_bframes.mp4")
    assert sum(map(len, packets)) > 20_000
    with client.open(codec="h264", chunk=4, model="narrow") as session:
        taken, refusal = push_until_refused(session, packets)
        chunks = list(session)  # room again
        chunks += pushed(session, packets[taken:], 1)

    assert re.search(r"packets of \d+ bytes wait .*max_input_bytes.*pull frames", refusal)
    frames = np.concatenate([chunk.frames for chunk in chunks])
    np.testing.assert_array_equal(frames, tricodec.decode_video(generated("h264_bframes.mp4"), device="cpu").frames)


def test_damaged_packets_are_counted_and_cost_their_frames_only(client: Any) -> None:
    packets = packets_of("h264_bframes.mp4")
    data = [bytes(packet) for packet in packets]
    keys = [number for number, packet in enumerate(packets) if packet.key]
    data[keys[1] - 1] = b"\0\0\0\1\x41" + b"\xff" * 40
    with client.open(codec="h264") as session:
        chunks = pushed(session, data, 10)

    whole = tricodec.decode_video(generated("h264_bframes.mp4"), device="cpu").frames
    frames = np.concatenate([chunk.frames for chunk in chunks])
    assert chunks[-1].num_damaged_packets >= 1
    np.testing.assert_array_equal(frames[-(len(whole) - keys[1]) :], whole[keys[1] :])


@pytest.mark.parametrize("data", [[b""], [b"no packet"]])
def test_what_is_no_packet_ends_no_stream(client: Any, data: list[bytes]) -> None:
    packets = packets_of("h264_bframes.mp4")
    with client.open(codec="h264") as session:
        if data == [b""]:
            with pytest.raises(ValueError, match="packet 0 of PACKETS is empty"):
                session.push(data)
        else:
            assert len(session.push(data)) == 0
        chunks = pushed(session, packets, 50)

    assert sum(map(len, chunks)) == 50
