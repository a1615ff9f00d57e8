# SPDX-License-Identifier: Apache-2.0
"""What `tricodec serve` prints: one line for what keeps a server from starting, and what it does instead of serving."""

from __future__ import annotations

import base64
import contextlib
import json
import shlex
import signal
import struct
import subprocess
import sys
import time
import urllib.request
from pathlib import Path
from typing import Any

import pytest
from media import generated
from patience import slowdown
from tricodec.serve import Server, main
from triton_testing import connect


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
        [sys.executable, "-m", "tricodec.cli", *command.split()], stdout=subprocess.PIPE, text=True
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
