# SPDX-License-Identifier: Apache-2.0
"""What `tricodec serve` prints, hides from other users and does beside a server of another program."""

from __future__ import annotations

import base64
import contextlib
import http.client
import json
import os
import re
import shlex
import signal
import struct
import subprocess
import sys
import threading
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tricodec
from media import generated
from patience import slowdown
from tricodec.triton.serve import Server, main
from triton_testing import connect, descendants, metric, settled, stubs, variants, wait_until


def failure(capsys: Any, *arguments: str) -> str:
    """The line that a call ends with."""
    assert main(arguments) == 1
    printed = capsys.readouterr()
    assert printed.out == ""
    assert printed.err.count("\n") == 1
    return str(printed.err)


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        ("--parameter video_decode.timeout_ms=soon", "timeout_ms of video_decode is 'soon'; expected a whole number"),
        ("--model video_decoed", "no model 'video_decoed' in "),
        ("--http-port 8001", "http and grpc are both to use port 8001"),
        ("--tls-cert /nowhere/a.pem --tls-key /nowhere/a.key", "no file /nowhere/a.pem for TLS (cert)"),
        (
            "--gpus 99 --model video_decode --model probe --http-port 0 --grpc-port 0 --metrics-port 0",
            "models probe, video_decode did not load: Triton has no GPU 99; name one that nvidia-smi lists",
        ),
        ("--tritonserver /nowhere", "no tritonserver at /nowhere (given)"),
        ("--perf-data x --perf-input SIEZ=1,2", "video_decode has no input 'SIEZ' for --perf-input; accepted: START"),
    ],
)
@pytest.mark.needs_triton
def test_what_is_wrong_is_one_line_that_says_so(capsys: Any, arguments: str, text: str) -> None:
    assert text in failure(capsys, *arguments.split())


def test_requests_for_perf_analyzer_hold_the_video_and_the_command_sends_them(capsys: Any, tmp_path: Path) -> None:
    video, target = generated("h264_bframes.mp4"), tmp_path / "requests.json"
    options = ["--perf-video", str(video), "--perf-input", "SIZE=24,32", "--perf-input", "COUNT=5"]

    assert main(["--perf-data", str(target), *options]) == 0
    command = shlex.split(capsys.readouterr().out)
    (request,) = json.loads(target.read_text())["data"]

    data = base64.b64decode(request["VIDEO"]["b64"])
    assert struct.unpack("<I", data[:4]) == (len(data) - 4,)
    assert data[4:] == video.read_bytes()
    assert request["SIZE"] == {"content": [24, 32], "shape": [2]}
    assert command[:3] == ["perf_analyzer", "-m", "video_decode"]
    assert command[command.index("--input-data") + 1] == str(target)
    assert "--shared-memory" not in command  # perf_analyzer refuses it for models with optional inputs


def test_gpus_get_an_instance_each_of_the_models_that_can_use_them(capsys: Any) -> None:
    assert main(["--print-config", "--json", "--gpus", "1,0", "--model", "video_text", "--model", "compress"]) == 0
    configs = json.loads(capsys.readouterr().out)

    for model in ("video_decode", "compress"):
        assert "{ kind: KIND_GPU count: 1 gpus: [ 0, 1 ] }" in configs[model]
        assert "KIND_CPU" not in configs[model]
    assert "{ kind: KIND_CPU count: 1 }" in configs["text_detector"]


@pytest.fixture
def broken(tmp_path: Path) -> Path:
    """A repository with a configuration that has an error in line 3."""
    (tmp_path / "broken" / "1").mkdir(parents=True)
    (tmp_path / "broken" / "config.pbtxt").write_text('name: "broken"\nbackend: "python"\ninput [ { name: "A" ]\n')
    return tmp_path


@pytest.mark.needs_triton
@pytest.mark.parametrize("options", ["", "--print-config", "--models-only written"])
def test_an_error_in_a_configuration_names_file_and_line(
    capsys: Any, broken: Path, options: str, monkeypatch: Any
) -> None:
    monkeypatch.chdir(broken)

    line = failure(capsys, "--model-repository", str(broken), "--model", "broken", *options.split())

    assert f"{broken}/broken/config.pbtxt:3:" in line


@pytest.mark.needs_triton
def test_parameters_may_be_numbers_and_the_start_says_what_is_loaded(tmp_path: Path) -> None:
    lines: list[str] = []
    values = {"max_queue": 2, "workers": 1, "strict_plan": True}
    parameters = {"video_decode": values}
    with Server(models=["probe", "video_decode"], parameters=parameters, report=lines.append) as server:
        configuration = f"http://{server.http_url}/v2/models/video_decode/config"
        config = json.loads(urllib.request.urlopen(configuration).read())["parameters"]

    assert {name: config[name]["string_value"] for name in values} == {
        "max_queue": "2", "workers": "1", "strict_plan": "true",
    }  # fmt: skip
    assert sorted(line for line in lines if line.startswith("loaded")) in (
        ["loaded probe (1 of 2)", "loaded video_decode (2 of 2)"],
        ["loaded probe (2 of 2)", "loaded video_decode (1 of 2)"],
    )


@pytest.mark.needs_triton
@pytest.mark.parametrize(("signals", "least", "most"), [(1, 2, 9), (2, 0, 3)])
def test_ctrl_c_waits_for_an_open_stream_for_a_bounded_time_and_twice_for_none(
    signals: int, least: float, most: float
) -> None:
    """Triton waits for a stream that its client does not read as long as its exit timeout says."""
    command = "serve --model video_stream --stop-timeout 6 --http-port 0 --grpc-port 0 --metrics-port 0 --json"
    with subprocess.Popen(
        [sys.executable, "-m", "tricodec", *command.split()], stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        address = json.loads(process.stdout.readline())["grpc"]
        with connect(address) as client:
            chunks = client.stream_video(generated("h264_bframes.mp4"), 1, window=1)
            next(chunks)
            began = time.monotonic()
            for _ in range(signals):
                process.send_signal(signal.SIGINT)
                time.sleep(0.5)
            assert process.wait(60) in (0, 1)
            assert least <= time.monotonic() - began < most * max(1.0, slowdown())
            with contextlib.suppress(ConnectionError):
                chunks.close()


KEY = "operators-key-4711"
RESTRICTED = f"--http-restricted-api=model-repository:admin={KEY}"


@contextlib.contextmanager
def shown_meanwhile() -> Iterator[dict[int, set[bytes]]]:
    """Collects the command lines and environments of this process's descendants, as often as it can."""
    shown: dict[int, set[bytes]] = {}
    ended = threading.Event()

    def look() -> None:
        while True:
            last = ended.is_set()
            for pid in descendants(os.getpid()):
                for name in ("cmdline", "environ"):
                    with contextlib.suppress(OSError):
                        shown.setdefault(pid, set()).add(Path(f"/proc/{pid}/{name}").read_bytes())
            if last:
                return
            time.sleep(0.002)

    thread = threading.Thread(target=look)
    thread.start()
    try:
        yield shown
    finally:
        ended.set()
        thread.join()


def index_status(url: str, **headers: str) -> int:
    """The status of a call that lists the models of a server."""
    with contextlib.closing(http.client.HTTPConnection(url, timeout=30)) as connection:
        connection.request("POST", "/v2/repository/index", headers=headers)
        return connection.getresponse().status


@pytest.mark.needs_triton
@pytest.mark.parametrize("options", [[], ["--model-control-mode=explicit", "--load-model=*", RESTRICTED]])
def test_no_process_of_a_server_shows_a_key(options: list[str], tmp_path: Path) -> None:
    server = Server(models=["probe"], extra_args=options, log_file=tmp_path / "log", stop_timeout_seconds=5)
    with shown_meanwhile() as shown:
        server.start()
        try:
            with connect(server.grpc_url, retries=1) as client:
                client.probe(generated("h264_16x16.mp4"))
            key = KEY if options else next(iter(server._control._headers.values()))
            name = "admin" if options else "tricodec-key"
            statuses = [index_status(server.http_url), index_status(server.http_url, **{name: "--tricodec-secret"})]
            statuses.append(index_status(server.http_url, **{name: key}))
            time.sleep(0.2)
            preloads = [
                b"LD_PRELOAD" in Path(f"/proc/{pid}/environ").read_bytes() for pid in stubs(server.pid, "probe")
            ]
        finally:
            server.stop()

    lines = {text.split(b"\0")[0].rpartition(b"/")[2] for texts in shown.values() for text in texts}
    assert {b"tritonserver", b"triton_python_backend_stub"} <= lines
    assert preloads == [False]
    assert statuses == [403, 403, 200]
    everything = b"\0".join(text for texts in shown.values() for text in texts) + (tmp_path / "log").read_bytes()
    assert key.encode() not in everything


@pytest.mark.needs_triton
def test_a_header_that_others_could_read_is_refused_with_the_remedy(tmp_path: Path, capsys: Any) -> None:
    file = tmp_path / "header"
    file.write_text(f"admin={KEY}\n")
    file.chmod(0o640)
    for mode, text, expected in (
        (0o640, f"admin={KEY}\n", f"other users can read the file; run chmod 600 {file}"),
        (0o600, KEY, "expected lines KEY=VALUE"),
        (0o600, "", "expected lines KEY=VALUE"),
    ):
        file.write_text(text)
        file.chmod(mode)
        assert main(["--watch", "127.0.0.1:1", "--header", f"@{file}"]) == 1
        assert re.fullmatch(f"tricodec serve: .*{re.escape(expected)}\n", capsys.readouterr().err)

    assert main(["--watch", "127.0.0.1:1", "--header", f"@{file}.gone"]) == 1
    assert "No such file" in capsys.readouterr().err
    with pytest.raises(SystemExit, match="2"):
        main(["--watch", "127.0.0.1:1", "--header", f"admin={KEY}"])
    assert "mode 0600" in capsys.readouterr().err


needs_triton = pytest.mark.needs_triton
HEADER = "admin-key=secret"


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A certificate for 127.0.0.1 that signs itself, with its key in server.key beside it."""
    folder = tmp_path_factory.mktemp("tls")
    command = (
        "openssl req -x509 -newkey rsa:2048 -nodes -days 2 -subj /CN=localhost -addext subjectAltName=IP:127.0.0.1"
    )
    files = ["-keyout", folder / "server.key", "-out", folder / "server.pem"]
    subprocess.run([*command.split(), *files], check=True, capture_output=True)
    return folder / "server.pem"


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory, certificate: Path) -> Iterator[Any]:
    """A server as an operator configures it: for the network, with TLS, with a model of another name."""
    repository = variants(tmp_path_factory.mktemp("repository"), decoder={"workers": "1"})
    options = ["--model-control-mode=explicit", "--load-model=*", f"--http-restricted-api=model-repository:{HEADER}"]
    tls = {"tls_certificate": certificate, "tls_key": certificate.with_name("server.key")}
    with Server(repository, None, extra_args=options, host="0.0.0.0", **tls) as started:
        yield started


def sidecar(server: Any, *options: str) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "tricodec", "serve", "--watch", f"http://{server.http_url}", *options]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


@needs_triton
def test_a_sidecar_loads_a_killed_model_again_and_its_pings_are_no_requests(server: Any, certificate: Path) -> None:
    path = generated("h264_bframes.mp4")
    tls = {"ssl": True, "root_certificates": str(certificate)}
    with connect(server.grpc_url, model="decoder", retries=3, **tls) as client:
        client.decode_video(path, count=1)
        header = certificate.with_name("header")
        header.touch(0o600)
        header.write_text(HEADER)
        with sidecar(server, "--header", f"@{header}") as process:
            try:
                assert process.stdout is not None
                assert process.stdout.readline().startswith("watching decoder at ")
                (before,) = settled(
                    lambda: [metric(server.metrics_url, "tricodec_requests_total", model="decoder", outcome="ok")]
                )
                (stub,) = stubs(server.pid, "decoder")
                os.kill(stub, signal.SIGKILL)
                video = client.decode_video(path, count=2)
                line = process.stdout.readline()
            finally:
                process.terminate()

    np.testing.assert_array_equal(video.frames, tricodec.decode_video(path, count=2).frames)
    assert line.startswith("decoder: its process is dead; loaded again in ")
    assert process.returncode == 0
    assert before == 1
    wait_until(lambda: len(stubs(server.pid, "decoder")) == 1, "one stub is left")


@pytest.mark.parametrize("url", ["https://a", "a:b"])
def test_an_address_that_is_not_http_is_refused(url: str) -> None:
    from tricodec.triton.serve.sidecar import parse_address

    with pytest.raises(ValueError, match="expected the server's HTTP address"):
        parse_address(url)


@pytest.mark.needs_triton
def test_what_only_triton_finds_in_a_configuration_names_file_and_line_too(capsys: Any, broken: Path) -> None:
    config = broken / "broken" / "config.pbtxt"
    config.write_text('name: "broken"\nbackend: "python"\nmax_batch_sise: 4\n')

    line = failure(capsys, "--model-repository", str(broken), "--http-port=0", "--grpc-port=0", "--metrics-port=0")

    assert f"model broken did not load: {config}:3:" in line
    assert "max_batch_sise" in line


@pytest.mark.parametrize(
    "command",
    ["serve --print-config", "serve --help", "probe --help", "probe CLIP --json", "info", "frames CLIP --framemd5"],
)
def test_a_reader_that_ends_before_the_output_is_no_error(command: str) -> None:
    arguments = command.replace("CLIP", str(generated("h264_bframes.mp4"))).split()
    with subprocess.Popen(
        [sys.executable, "-m", "tricodec", *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.close()
        assert process.stderr.read() == b""


@pytest.mark.parametrize(
    ("parameters", "text"),
    [
        (3, "parameters: expected values by model and parameter, such as"),
        ({"video_decode": 3}, "parameters of 'video_decode': expected values by model and parameter"),
        ({"video_decode": {"max_queue": [2]}}, r"max_queue of video_decode is \[2\]; expected a text, a number"),
        ({"video_decode": {"max_queue": None}}, "max_queue of video_decode is None; expected"),
    ],
)
def test_parameters_that_are_none_are_refused(parameters: Any, text: str) -> None:
    with pytest.raises(TypeError, match=text):
        Server(parameters=parameters)
    with pytest.raises(TypeError, match=r"models is 'probe'; expected a list of names, such as \['probe'\]"):
        Server(models="probe")
