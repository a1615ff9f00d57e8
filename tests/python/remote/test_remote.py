# SPDX-License-Identifier: Apache-2.0
"""`tricodec.open_remote`: videos on a server are read by the ranges that a read needs."""

from __future__ import annotations

import hashlib
import io
import json
import os
import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tricodec
from media import ffmpeg, ffprobe, generated
from programs import printed_by
from range_server import RangeServer
from tricodec.cli import main
from tricodec.remote._stores import open_url

obstore = pytest.importorskip("obstore")
pytest.importorskip("fsspec")

CLIENTS = ["obstore", "fsspec"]


@pytest.fixture(scope="module")
def long_clip(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """600 frames of noise in twenty GOPs, about 12 MB, the table in front."""
    path = tmp_path_factory.mktemp("remote") / "long.mp4"
    noise = "color=gray:size=160x120:rate=30,noise=c0s=100:c0f=t+u:all_seed=5"
    options = "-c:v libx264 -preset ultrafast -bf 2 -qp 9 -g 30 -keyint_min 30 -sc_threshold 0 -movflags +faststart"
    ffmpeg("-f", "lavfi", "-i", noise, "-frames:v", "600", *options.split(), path)
    return path


def source_of(client: str, url: str, **options: Any) -> Any:
    if client == "obstore":
        return tricodec.open_remote(url, **options)
    import fsspec

    return tricodec.open_remote(url, filesystem=fsspec.filesystem("http", skip_instance_cache=True), **options)


@pytest.mark.parametrize("client", CLIENTS)
@pytest.mark.parametrize("name", ["h264_bframes.mp4", "hevc.mp4", "vp9.webm", "av1.mp4", "h264.ts"])
def test_a_remote_video_has_the_frames_of_the_local_one(server: RangeServer, client: str, name: str) -> None:
    clip = generated(name)
    source = source_of(client, server.put(name, clip.read_bytes()))

    remote = tricodec.decode_video(source, start=3, stride=5, size=(48, 64))
    local = tricodec.decode_video(clip, start=3, stride=5, size=(48, 64))

    np.testing.assert_array_equal(remote.frames, local.frames)
    np.testing.assert_array_equal(remote.pts_seconds, local.pts_seconds)
    assert source.size_bytes == clip.stat().st_size


@pytest.mark.parametrize("scheme", ["s3", "gs", "az"])
def test_object_stores_are_read_by_their_schemes(server: RangeServer, scheme: str) -> None:
    clip = generated("h264_bframes.mp4")
    server.put("bucket/folder/a.mp4", clip.read_bytes())
    where: dict[str, Any] = {
        "s3": {"endpoint": server.url, "virtual_hosted_style_request": False},
        "gs": {"base_url": server.url},
        "az": {"endpoint": server.url, "account_name": "account"},
    }[scheme]
    options = {**where, "skip_signature": True, "client_options": {"allow_http": True}}
    source = tricodec.open_remote(
        f"{scheme}://bucket/folder/a.mp4", allowed_prefixes=[f"{scheme}://bucket/"], **options
    )
    assert tricodec.FrameReader(source, device="cpu")[7].md5() == tricodec.FrameReader(clip, device="cpu")[7].md5()


def test_an_endpoint_without_encryption_is_read_only_if_that_is_allowed(server: RangeServer) -> None:
    where = {"endpoint": server.url, "virtual_hosted_style_request": False, "skip_signature": True}
    with pytest.raises(tricodec.MediaIOError, match=r'needs client_options={"allow_http": True}'):
        tricodec.FrameReader(tricodec.open_remote("s3://bucket/a.mp4", **where))
    assert not server.paths


def test_a_file_of_the_hub_is_read_by_its_ranges_and_a_change_of_it_is_found(
    server: RangeServer, long_clip: Path
) -> None:
    pytest.importorskip("huggingface_hub")  # transformers brings it

    def put(data: bytes) -> None:
        tag = hashlib.sha1(data).hexdigest()
        entry = {"type": "file", "path": "folder/long.mp4", "size": len(data), "oid": tag}
        server.put("api/datasets/me/videos", json.dumps({"id": "me/videos", "sha": tag}).encode())
        server.put("api/datasets/me/videos/tree/main/folder", json.dumps([entry]).encode())
        server.put("datasets/me/videos/resolve/main/folder/long.mp4", data)

    data = long_clip.read_bytes()
    put(data)
    source = tricodec.open_remote("hf://datasets/me/videos/folder/long.mp4", endpoint=server.url)
    with tricodec.FrameReader(source, device="cpu") as reader, tricodec.FrameReader(long_clip, device="cpu") as local:
        assert reader[300].md5() == local[300].md5()
        assert server.bytes_sent < 0.2 * len(data)
        put(data[:-1] + bytes([data[-1] ^ 1]))
        with pytest.raises(tricodec.errors.SourceChangedError, match="changed while it was read"):
            reader.frames([500])


def test_sound_packets_and_chunks_come_from_a_remote_source(server: RangeServer) -> None:
    clip = generated("h264_audio.mp4")
    source = tricodec.open_remote(server.put("av.mp4", clip.read_bytes()))

    with tricodec.AudioReader(source) as remote, tricodec.AudioReader(clip) as local:
        np.testing.assert_array_equal(remote.read().data, local.read().data)
    assert [packet.pts for packet in tricodec.Demuxer(source)] == [packet.pts for packet in tricodec.Demuxer(clip)]
    together = tricodec.read_av(source, count=5, audio_rate=16000)
    np.testing.assert_array_equal(together.audio.data, tricodec.read_av(clip, count=5, audio_rate=16000).audio.data)


def test_commands_take_urls(server: RangeServer, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    clip = generated("h264_audio.mp4")
    url = server.put("av.mp4", clip.read_bytes())

    def run(*arguments: object) -> str:
        assert main(list(map(str, arguments))) == 0
        return capsys.readouterr().out

    assert json.loads(run("probe", url, "--json"))["streams"] == tricodec.probe(clip).to_dict()["streams"]
    assert run("frames", url, "--framemd5") == run("frames", clip, "--framemd5")
    for name, source in (("remote", url), ("local", clip)):
        run("audio", source, "-o", tmp_path / f"{name}.wav")
        run("transcode", source, "-o", tmp_path / f"{name}.mp4", "--threads", 1)
    for suffix in (".wav", ".mp4"):
        assert (tmp_path / f"remote{suffix}").read_bytes() == (tmp_path / f"local{suffix}").read_bytes()


@pytest.mark.parametrize("client", CLIENTS)
def test_a_few_frames_take_their_groups_of_pictures_up_to_them(
    server: RangeServer, client: str, long_clip: Path
) -> None:
    wanted = [47, 48, 49, 311, 312, 590]
    packets = ffprobe(long_clip, "-select_streams v:0 -show_entries packet=size")["packets"]
    lasts = {number // 30: number for number in wanted}
    # A frame is coded after at most three that are shown later.
    needed = sum(int(packet["size"]) for gop, last in lasts.items() for packet in packets[30 * gop : last + 4])
    source = source_of(client, server.put("long.mp4", long_clip.read_bytes()))

    with tricodec.FrameReader(source, device="cpu") as reader:
        assert len(reader) == 600
        head = server.bytes_sent
        frames = reader.frames(wanted)
    with tricodec.FrameReader(long_clip, device="cpu") as local:
        expected = local.frames(wanted)

    assert [frame.md5() for frame in frames] == [frame.md5() for frame in expected]
    assert head <= 256 << 10
    assert server.bytes_sent - head <= 1.1 * needed
    assert source.stats.bytes_fetched == server.bytes_sent


@pytest.mark.parametrize("flags", ["+frag_keyframe+empty_moov", "+dash+global_sidx"], ids=["mfra", "sidx"])
def test_the_headers_of_fragments_are_fetched_at_once(
    server: RangeServer, long_clip: Path, tmp_path: Path, flags: str
) -> None:
    path = tmp_path / "fragments.mp4"
    ffmpeg("-i", long_clip, "-c", "copy", "-movflags", flags, path)
    packets = ffprobe(path, "-select_streams v:0 -show_entries packet=size")["packets"]
    needed = sum(int(packet["size"]) for gop in (10, 17) for packet in packets[30 * gop : 30 * gop + 30])
    server.latency_s = 0.05
    with tricodec.FrameReader(tricodec.open_remote(server.put("f.mp4", path.read_bytes())), device="cpu") as reader:
        assert len(reader) == 600
        assert server.bytes_sent < 0.1 * path.stat().st_size
        assert server.most_at_once >= 5
        server.forget()
        frames = reader.frames([310, 520])
        assert server.bytes_sent <= 1.1 * needed
    with tricodec.FrameReader(path, device="cpu") as local:
        assert [frame.md5() for frame in frames] == [frame.md5() for frame in local.frames([310, 520])]


@pytest.mark.parametrize("place", ["front", "end"])
def test_a_long_table_is_fetched_at_once(server: RangeServer, tmp_path: Path, place: str) -> None:
    path = tmp_path / "many_frames.mp4"
    flags = ["-movflags", "+faststart"] if place == "front" else []
    ffmpeg("-stream_loop", "799", "-i", generated("h264_bframes.mp4"), "-c", "copy", *flags, path)
    with tricodec.FrameReader(tricodec.open_remote(server.put("m.mp4", path.read_bytes())), device="cpu") as reader:
        assert len(reader) > 30_000
    assert len(server.paths) <= 4
    assert server.bytes_sent < 2 << 20


def test_the_ranges_of_a_read_are_fetched_at_once(server: RangeServer, long_clip: Path) -> None:
    source = tricodec.open_remote(server.put("long.mp4", long_clip.read_bytes()))
    with tricodec.FrameReader(source, device="cpu") as reader:
        len(reader)
        server.latency_s = 0.2
        server.forget()
        reader.frames(range(15, 600, 60))
    assert server.most_at_once >= 5


def test_a_read_from_one_end_to_the_other_fetches_ahead_and_each_byte_once(
    server: RangeServer, long_clip: Path
) -> None:
    size = long_clip.stat().st_size
    source = tricodec.open_remote(server.put("long.mp4", long_clip.read_bytes()))
    server.latency_s = 0.05
    with tricodec.FrameReader(source, device="cpu", num_workers=1) as reader:
        md5s = [frame.md5() for frame in reader]
    with tricodec.FrameReader(long_clip, device="cpu", num_workers=1) as local:
        assert md5s == [frame.md5() for frame in local]
    assert server.bytes_sent == size
    assert server.most_at_once >= 6
    assert len(server.paths) < 40


def test_a_read_in_order_that_stops_early_has_fetched_little(server: RangeServer, long_clip: Path) -> None:
    source = tricodec.open_remote(server.put("long.mp4", long_clip.read_bytes()))
    with tricodec.FrameReader(source, device="cpu", num_workers=1) as reader:
        assert next(iter(reader)).index == 0
    source.close()
    assert server.bytes_sent <= 3 << 20


def test_objects_of_one_server_share_its_connections(server: RangeServer) -> None:
    clip = generated("h264_bframes.mp4").read_bytes()
    for i in range(6):
        tricodec.FrameReader(tricodec.open_remote(server.put(f"{i}.mp4", clip)), device="cpu")[0]
    assert server.num_connections < 6


def test_another_option_or_another_environment_makes_another_store(monkeypatch: pytest.MonkeyPatch) -> None:
    def store_of(**options: Any) -> Any:
        return open_url("s3://bucket/a.mp4", 30.0, 5, {"region": "x", **options})._store

    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "secret")
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "one")
    store = store_of()
    assert store_of() is store
    assert store_of(skip_signature=True) is not store
    assert store_of(client_options={"timeout": "9s"}) is not store
    assert store_of(credential_provider=dict) is not store_of(credential_provider=dict)
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "two")
    assert store_of() is not store


def test_two_readers_share_what_was_fetched(server: RangeServer) -> None:
    source = tricodec.open_remote(server.put("a.mp4", generated("h264_bframes.mp4").read_bytes()))
    with tricodec.FrameReader(source) as one, tricodec.FrameReader(source) as other:
        assert [frame.md5() for frame in one] == [frame.md5() for frame in other]
    assert server.bytes_sent == generated("h264_bframes.mp4").stat().st_size


@pytest.mark.parametrize(("client", "weak_tags"), [("obstore", False), ("fsspec", False), ("obstore", True)])
def test_an_object_that_changes_while_it_is_read_is_an_error(
    server: RangeServer, client: str, weak_tags: bool, long_clip: Path
) -> None:
    server.weak_tags = weak_tags
    data = long_clip.read_bytes()
    source = source_of(client, server.put("long.mp4", data))
    with tricodec.FrameReader(source, device="cpu") as reader:
        len(reader)
        server.put("long.mp4", data[:-1] + (bytes([data[-1] ^ 1]) if weak_tags else b"x" + data[-1:]))
        with pytest.raises(tricodec.errors.SourceChangedError, match="changed while it was read"):
            reader.frames([300])


def test_requests_that_fail_are_repeated(server: RangeServer, long_clip: Path) -> None:
    source = tricodec.open_remote(server.put("long.mp4", long_clip.read_bytes()))
    server.num_unavailable = 2
    with tricodec.FrameReader(source, device="cpu") as reader:
        len(reader)
        server.num_cut = 1
        server.num_unavailable = 1
        frames = reader.frames([300, 500])
    with tricodec.FrameReader(long_clip, device="cpu") as local:
        assert [frame.md5() for frame in frames] == [frame.md5() for frame in local.frames([300, 500])]


def test_a_server_that_stays_unavailable_is_an_error_with_its_url(server: RangeServer) -> None:
    source = tricodec.open_remote(server.put("a.mp4", b"x" * 1000), retries=1)
    server.num_unavailable = 1000
    with pytest.raises(tricodec.MediaIOError, match=r"reading bytes 0 to \d+ of 'http://127.0.0.1:\d+/a.mp4' failed"):
        tricodec.FrameReader(source)


@pytest.mark.parametrize("client", CLIENTS)
def test_a_missing_object_is_not_found(server: RangeServer, client: str) -> None:
    with pytest.raises(tricodec.MediaNotFoundError, match=r"missing.mp4' does not exist"):
        tricodec.FrameReader(source_of(client, f"{server.url}/missing.mp4"))


@pytest.mark.parametrize("client", CLIENTS)
def test_a_server_without_ranges_is_told(server: RangeServer, client: str, long_clip: Path) -> None:
    server.ignores_ranges = True
    source = source_of(client, server.put("long.mp4", long_clip.read_bytes()))
    with pytest.raises(tricodec.MediaIOError, match="ranges of bytes"):
        len(tricodec.FrameReader(source))


def test_a_source_pickles(server: RangeServer) -> None:
    clip = generated("h264_bframes.mp4")
    source = tricodec.open_remote(server.put("a.mp4", clip.read_bytes()))
    len(tricodec.FrameReader(source))
    copied = pickle.loads(pickle.dumps(source))
    assert tricodec.FrameReader(copied)[7].md5() == tricodec.FrameReader(clip)[7].md5()


def in_a_forked_child(work: Callable[[], str]) -> str:
    """What `work` gives, or the text of its exception."""
    read_end, write_end = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            text = work()
        except BaseException as error:
            text = f"{type(error).__name__}: {error}"
        os.write(write_end, text.encode())
        os._exit(0)
    os.close(write_end)
    with os.fdopen(read_end) as answer:
        text = answer.read()
    os.waitpid(child, 0)
    return text


def test_a_forked_child_reads_by_connections_of_its_own(server: RangeServer) -> None:
    source = source_of("fsspec", server.put("a.mp4", generated("h264_bframes.mp4").read_bytes()))
    expected = tricodec.FrameReader(source, device="cpu")[7].md5()

    def read() -> str:
        return tricodec.FrameReader(source, device="cpu")[7].md5()

    assert in_a_forked_child(read) == expected


@pytest.mark.needs_torch
def test_forked_workers_of_a_data_loader_open_stores_of_their_own(server: RangeServer) -> None:
    names = ["h264_bframes.mp4", "hevc.mp4", "vp9.webm"]
    urls = [server.put(name, generated(name).read_bytes()) for name in names]
    printed = printed_by(
        """
        import sys
        import tricodec
        from torch.utils.data import DataLoader, Dataset
        class Md5s(Dataset):
            sources = [tricodec.open_remote(url) for url in sys.argv[1:]]
            def __len__(self): return len(self.sources)
            def __getitem__(self, number): return tricodec.FrameReader(self.sources[number], device="cpu")[7].md5()
        loader = DataLoader(Md5s(), batch_size=None, num_workers=2, multiprocessing_context="fork")
        print(*loader, *loader)
        """,
        *urls,
    )
    assert printed.split() == 2 * [tricodec.FrameReader(generated(name), device="cpu")[7].md5() for name in names]


def test_obstore_in_a_forked_child_is_an_error_with_the_remedy(server: RangeServer) -> None:
    source = tricodec.open_remote(server.put("a.mp4", generated("h264_bframes.mp4").read_bytes()))
    tricodec.FrameReader(source, device="cpu")
    text = in_a_forked_child(lambda: str(tricodec.FrameReader(source, device="cpu")))
    assert text.startswith("UnsupportedError: obstore was used before this process was forked")
    assert "spawn" in text


def test_a_file_of_a_source_is_one_of_pythons_files(server: RangeServer) -> None:
    data = os.urandom(300_000)
    with tricodec.open_remote(server.put("data", data)).open() as file:
        assert file.seek(-10, os.SEEK_END) == len(data) - 10
        assert file.read(20) == data[-10:]
        assert file.read(1) == b""
        file.seek(0)
        assert io.BufferedReader(file).read() == data


def test_what_is_kept_is_bounded(server: RangeServer) -> None:
    data = os.urandom(8 << 20)
    source = tricodec.open_remote(server.put("data", data), cache_bytes=1 << 20)
    with source.open() as file:
        assert file.read() == data
        assert source.stats.bytes_kept <= 2 << 20


@pytest.mark.parametrize(
    ("url", "options", "text"),
    [
        ("file:///etc/passwd", {}, "is no URL of a remote file; accepted are s3://"),
        ("a.mp4", {}, "or a path with filesystem="),
        ("https://host/a.mp4", {"cache_bytes": 0}, "cache_bytes is 0; it must be a positive integer"),
        ("https://host/a.mp4", {"timeout_s": "1"}, "timeout_s is '1'; it must be a positive number"),
    ],
)
def test_arguments_that_are_wrong_are_told(url: str, options: dict[str, Any], text: str) -> None:
    with pytest.raises(ValueError, match=text):
        tricodec.open_remote(url, **options)
