# SPDX-License-Identifier: Apache-2.0
"""A client on the server's machine hands over a video on disk or in memory, and gets frames in a memory file."""

from __future__ import annotations

import fcntl
import json
import os
import secrets
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tricodec
from media import generated
from tricodec.triton.serve import Server
from triton_testing import UNSHARE, connect, infer, need_namespaces, variants, videos

pytestmark = pytest.mark.needs_triton

FIXED = fcntl.F_SEAL_SHRINK | fcntl.F_SEAL_GROW
OUTPUTS = ["FRAMES_SHAPE", "PTS", "NUM_DAMAGED_PACKETS"]
SIZE = {"SIZE": np.array([[40, 60]]), "COUNT": np.array([[5]])}
NUM_BYTES = 5 * 40 * 60 * 3


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    models = {
        "processes": {"workers": "1"},
        "threads": {"isolation": "none", "workers": "1"},
        "several": {"workers": "4"},
    }
    folder = variants(tmp_path_factory.mktemp("models"), **models)
    with Server(folder, models=None) as started:
        yield started


@pytest.fixture(params=["processes", "threads"])
def model(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def clip(name: str = "h264_bframes.mp4") -> Path:
    return generated(name)


def expected(**options: Any) -> Any:
    return tricodec.decode_video(clip(), **options).frames


class File:
    """A memory file of this process, made without tricodec.triton.client."""

    def __init__(self, size: int, seals: int = FIXED, data: bytes = b"") -> None:
        self.name = secrets.token_hex(16)
        self.descriptor = os.memfd_create(f"tricodec-client-{self.name}", os.MFD_ALLOW_SEALING)
        os.ftruncate(self.descriptor, size)
        os.pwrite(self.descriptor, data, 0)
        fcntl.fcntl(self.descriptor, fcntl.F_ADD_SEALS, seals)

    def words(self) -> dict[str, Any]:
        return {"pid": os.getpid(), "descriptor": self.descriptor, "name": self.name}

    def tensor(self, **replaced: Any) -> Any:
        return videos(json.dumps(self.words() | replaced).encode())

    def bytes(self) -> bytes:
        return os.pread(self.descriptor, 1 << 24, 0)


@pytest.mark.parametrize(
    "options",
    [{"dtype": "float16", "layout": "CHW", "mean": [10, 20, 30]}, {"indices": [5, 1, 1], "size": (400, 600)}],
    ids="-".join,
)
def test_frames_of_a_client_are_those_of_decode_video(server: Any, model: str, options: dict[str, Any]) -> None:
    if options.get("dtype") == "bfloat16":
        pytest.importorskip("ml_dtypes")
    whole = tricodec.decode_video(clip(), **options)
    with connect(server.grpc_url, model=model) as client:
        video = client.decode_video(clip(), **options)

        assert client._try_files
    assert video.frames.tobytes() == np.asarray(whole.frames).tobytes()
    assert video.frames.shape == whole.frames.shape
    np.testing.assert_array_equal(video.pts_seconds, whole.pts_seconds)


def test_memory_is_used_again_when_no_array_of_it_is_left(server: Any) -> None:
    def address(frames: Any) -> Any:
        return frames.__array_interface__["data"][0]

    with connect(server.grpc_url, model="processes") as client:
        first = client.decode_video(clip(), size=(200, 300)).frames
        kept = first[3]
        place = address(first)
        del first
        second = client.decode_video(clip(), size=(200, 300), start=10).frames

        assert address(second) != place
        np.testing.assert_array_equal(kept, expected(size=(200, 300), start=3, count=1)[0])
        del kept
        assert address(client.decode_video(clip(), size=(200, 300), count=7).frames) == place
    np.testing.assert_array_equal(second, expected(size=(200, 300), start=10))


@pytest.mark.parametrize("is_path", [True, False])
def test_a_video_in_memory_and_one_on_disk_give_the_same_frames(
    server: Any, model: str, tmp_path: Path, is_path: bool
) -> None:
    with connect(server.grpc_url, model=model) as client:
        for name in ("hevc.mp4", "h264_bframes.mp4", "mpeg2.ts"):  # the memory of one is used for the next
            source = clip(name) if is_path else clip(name).read_bytes()
            frames = client.decode_video(source, size=(40, 60)).frames
            np.testing.assert_array_equal(frames, tricodec.decode_video(clip(name), size=(40, 60)).frames)
        (tmp_path / "bad.mp4").write_bytes(b"no video" * 100)
        bad = tmp_path / "bad.mp4"
        with pytest.raises(tricodec.CorruptDataError) as error:
            client.decode_video(bad if is_path else bad.read_bytes())

        assert "/proc/" not in str(error.value)
        assert client._try_files


NO_FILES: dict[str, tuple[Any, str]] = {
    "another_descriptor": (lambda tensor: tensor(descriptor=1), "has no file of this name|cannot be opened"),
    "no_process": (lambda tensor: tensor(pid=2**22 + 1), "cannot be opened"),
    "not_sealed": (lambda tensor: tensor(**File(NUM_BYTES, 0).words()), "is not sealed"),
    "a_path": (lambda tensor: tensor(name="../../etc/passwd"), "32 hexadecimal digits"),
    "no_object": (lambda _: videos(b"[]"), "expected a JSON object"),
}


@pytest.mark.parametrize("name", NO_FILES)
def test_a_file_that_is_not_the_clients_is_refused(server: Any, model: str, name: str) -> None:
    from tritonclient.utils import InferenceServerException

    make, text = NO_FILES[name]
    file = File(NUM_BYTES)
    named = make(lambda **words: file.tensor(size=9, **words))
    for tensors in ({"VIDEO_FILE": named}, {"VIDEO": videos(clip().read_bytes()), "FRAMES_FILE": named}):
        with pytest.raises(InferenceServerException, match=text):
            infer(server.grpc_url, {"FRAMES_FILE": file.tensor(), **tensors, **SIZE}, OUTPUTS, model=model)

    assert not any(file.bytes())


def on_disk(descriptor: object, seals: int = FIXED | fcntl.F_SEAL_WRITE, size: int = 9) -> Any:
    text = str(descriptor).encode()
    return File(len(text), seals, text).tensor(size=size, on_disk=True)


def test_a_descriptor_of_a_file_on_disk_needs_a_permit(server: Any, model: str, tmp_path: Path) -> None:
    from tritonclient.utils import InferenceServerException

    (tmp_path / "huge.mp4").touch()
    os.truncate(tmp_path / "huge.mp4", 300_000_000)
    frames = File(NUM_BYTES)
    pipe, _ = os.pipe()
    with clip().open("rb") as video, (tmp_path / "huge.mp4").open("rb") as huge:
        number = video.fileno()
        refused = {
            "no file of this name|cannot be opened": File(9).tensor(size=9, on_disk=True, descriptor=number),
            "is not sealed": on_disk(number, FIXED),
            "does not hold the number": on_disk("../../etc/passwd"),
            "is no file on disk that it may read": on_disk(pipe),
            "cannot be opened": on_disk(999_999),
            "VIDEO_FILE has 300000000 bytes, and this model accepts at most": on_disk(huge.fileno()),
            "VIDEO_FILE has the size 0": on_disk(number, size=0),
            "VIDEO_FILE has 268435457 bytes": on_disk(number, size=268435457),
        }
        for text, tensor in refused.items():
            given = {"VIDEO_FILE": tensor, "FRAMES_FILE": frames.tensor(), **SIZE}
            with pytest.raises(InferenceServerException, match=text):
                infer(server.grpc_url, given, OUTPUTS, model=model)
        assert not any(frames.bytes())

        given = {"VIDEO_FILE": on_disk(number), "FRAMES_FILE": frames.tensor(), **SIZE}
        infer(server.grpc_url, given, OUTPUTS, model=model)
    assert frames.bytes() == expected(size=(40, 60), count=5).tobytes()


def test_a_client_of_another_user_hands_over_only_what_it_may_read(
    server: Any, model: str, request: pytest.FixtureRequest
) -> None:
    from tritonclient.utils import InferenceServerException

    if os.geteuid() != 0:
        pytest.skip("only root can be two users")
    program = """
import ctypes, fcntl, json, os, sys
os.setgroups([]), os.setgid(65534), os.setuid(65534)
ctypes.CDLL(None).prctl(4, 1)  # PR_SET_DUMPABLE, as for a program that this user has started
for path in sys.argv[1:]:
    name = os.urandom(16).hex()
    memory = os.memfd_create(f"tricodec-client-{name}", os.MFD_ALLOW_SEALING)
    os.write(memory, str(os.open(path, os.O_PATH)).encode())
    fcntl.fcntl(memory, fcntl.F_ADD_SEALS, 14)
    words = {"pid": os.getpid(), "descriptor": memory, "name": name, "size": os.stat(path).st_size, "on_disk": True}
    print(json.dumps(words), flush=True)
sys.stdin.read()
"""
    folder = tempfile.TemporaryDirectory()  # not below pytest's own, which other users cannot enter
    request.addfinalizer(folder.cleanup)
    Path(folder.name).chmod(0o755)
    secret, open_to_all = Path(folder.name) / "secret.mp4", Path(folder.name) / "open.mp4"
    for path, rights in ((secret, 0o600), (open_to_all, 0o644)):
        path.write_bytes(clip().read_bytes())
        path.chmod(rights)
    frames = File(NUM_BYTES)
    command = [sys.executable, "-c", program, str(secret), str(open_to_all)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as client:
        assert client.stdout is not None
        forbidden, permitted = (client.stdout.readline() for _ in range(2))
        words = {"FRAMES_FILE": frames.tensor(), **SIZE}
        with pytest.raises(InferenceServerException, match="that it may read"):
            infer(server.grpc_url, {"VIDEO_FILE": videos(forbidden), **words}, OUTPUTS, model=model)
        assert not any(frames.bytes())
        infer(server.grpc_url, {"VIDEO_FILE": videos(permitted), **words}, OUTPUTS, model=model)
        assert client.stdin is not None
        client.stdin.close()

    assert frames.bytes() == expected(size=(40, 60), count=5).tobytes()


def test_a_client_that_the_server_cannot_see_gets_its_frames_in_another_way(server: Any) -> None:
    need_namespaces()
    program = f"""
import sys, tricodec
from tricodec.triton.client import Client
with Client({server.grpc_url!r}, model="processes") as client:
    frames = client.decode_video(open(sys.argv[1], "rb"), size=(200, 300)).frames
    assert not client._try_files
assert frames.tobytes() == tricodec.decode_video(sys.argv[1], size=(200, 300)).frames.tobytes()
"""
    command = [*UNSHARE, "--pid", "--fork", "--mount-proc", sys.executable, "-c", program, str(clip())]
    result = subprocess.run(command, capture_output=True, text=True, check=False, timeout=120)

    assert result.returncode == 0, result.stderr
