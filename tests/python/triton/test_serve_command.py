# SPDX-License-Identifier: Apache-2.0
"""What `tricodec serve` prints: one line for what keeps a server from starting, and what it does instead of serving."""

from __future__ import annotations

import base64
import json
import shlex
import socket
import struct
from pathlib import Path
from typing import Any

import pytest
import tricodec
from media import generated
from tricodec.serve import main
from tricodec.serve.repository import installed_repository


def failure(capsys: Any, *arguments: str) -> str:
    """The line that a call ends with."""
    assert main(arguments) == 1
    printed = capsys.readouterr()
    assert printed.out == ""
    assert printed.err.count("\n") == 1
    return str(printed.err)


@pytest.mark.needs_triton
def test_a_port_that_is_taken_is_one_line(capsys: Any) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        line = failure(capsys, "--grpc-port", str(taken.getsockname()[1]))

    assert line.startswith("tricodec serve: port ")
    assert "for grpc, is already in use by process" in line


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        ("--parameter video_decode.timeout_ms=soon", "timeout_ms of video_decode is 'soon'; expected a whole number"),
        ("--parameter video_decode.tiemout_ms=5", "video_decode has no parameter 'tiemout_ms'; accepted: isolation, "),
        ("--model video_decoed", "no model 'video_decoed' in "),
        ("--http-port 8001", "http and grpc are both to use port 8001"),
        ("--http-port 70000", "port 70000 for http is out of range"),
        ("--host no.such.host.invalid", "cannot listen on 'no.such.host.invalid'"),
        ("--tls-cert server.pem", "a key (--tls-key) is missing"),
        ("--tls-cert /nowhere/a.pem --tls-key /nowhere/a.key", "no file /nowhere/a.pem for TLS (cert)"),
        (
            "--gpus 99 --model video_decode --http-port 0 --grpc-port 0 --metrics-port 0",
            "Triton has no GPU 99; name one that nvidia-smi lists, or leave out --gpus",
        ),
        ("--tritonserver /nowhere", "no tritonserver at /nowhere (given)"),
        ("--watch https://a", "expected the server's HTTP address"),
        ("--perf-data x --model compress", "--perf-data needs a model with media files"),
        ("--perf-data x --perf-input SIEZ=1,2", "video_decode has no input 'SIEZ' for --perf-input; accepted: START"),
        ("--perf-data x --perf-input SIZE=a", "expected values of type INT64"),
        ("--perf-data x --perf-video /nowhere.mp4", "--perf-video /nowhere.mp4: No such file"),
    ],
)
@pytest.mark.needs_triton
def test_what_is_wrong_is_one_line_that_says_so(capsys: Any, arguments: str, text: str) -> None:
    assert text in failure(capsys, *arguments.split())


@pytest.mark.parametrize("arguments", ["--parameter a=b", "--header a", "--perf-input a", "--watch a --print-config"])
def test_wrong_usage_is_refused(capsys: Any, arguments: str) -> None:
    with pytest.raises(SystemExit, match="2"):
        main(arguments.split())

    assert "usage: tricodec serve" in capsys.readouterr().err


def test_the_configuration_that_is_printed_is_the_one_that_is_served(capsys: Any) -> None:
    assert main(["--print-config", "--model", "video_text", "--parameter", "video_decode.workers=3"]) == 0
    printed = capsys.readouterr().out

    for name in ("video_text", "video_decode", "text_detector"):
        assert f"# {name}/config.pbtxt\n{(installed_repository() / name / 'config.pbtxt').read_text()}" in printed
    assert 'parameters { key: "workers" value { string_value: "3" } }' in printed


def test_a_repository_for_any_server_is_whole_and_an_existing_one_stays(capsys: Any, tmp_path: Path) -> None:
    target = tmp_path / "models"
    options = ["--models-only", str(target), "--model", "video_text", "--environment", "/opt/environment"]

    assert main(options) == 0
    assert str(target) in capsys.readouterr().out
    assert sorted(path.name for path in target.iterdir()) == ["text_detector", "video_decode", "video_text"]
    assert not any(path.is_symlink() for path in target.rglob("*"))
    assert '"/opt/environment"' in (target / "video_decode" / "config.pbtxt").read_text()
    assert "EXECUTION_ENV_PATH" not in (target / "video_text" / "config.pbtxt").read_text()
    assert "exists already" in failure(capsys, *options)


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


def test_requests_without_a_video_hold_one_that_can_be_decoded(capsys: Any, tmp_path: Path) -> None:
    assert main(["--perf-data", str(tmp_path / "requests.json"), "--model", "video_stream"]) == 0
    (request,) = json.loads((tmp_path / "requests.json").read_text())["data"]

    video = base64.b64decode(request["VIDEO"]["b64"])[4:]
    assert tricodec.probe(video).video.width == 640
    assert "--streaming" in capsys.readouterr().out


def test_gpus_get_an_instance_each_of_the_models_that_can_use_them(capsys: Any) -> None:
    assert main(["--print-config", "--json", "--gpus", "1,0", "--model", "video_text", "--model", "compress"]) == 0
    configs = json.loads(capsys.readouterr().out)

    for model in ("video_decode", "compress"):
        assert "{ kind: KIND_GPU count: 1 gpus: [ 0, 1 ] }" in configs[model]
        assert "KIND_CPU" not in configs[model]
    assert "{ kind: KIND_CPU count: 1 }" in configs["text_detector"]


def test_gpus_that_are_no_numbers_are_refused(capsys: Any) -> None:
    with pytest.raises(SystemExit):
        main(["--print-config", "--gpus", "all"])

    assert "'all' is no list of GPUs; expected numbers, such as 0 or 0,1" in capsys.readouterr().err
