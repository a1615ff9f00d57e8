# SPDX-License-Identifier: Apache-2.0
"""What `tricodec serve` prints, and how it ends."""

from __future__ import annotations

import contextlib
import json
import signal
import subprocess
import sys
import time
import urllib.request
from pathlib import Path
from typing import Any

import pytest
from media import generated
from patience import slowdown
from tricodec.cli import main
from tricodec.triton.serve import Server
from triton_testing import connect


def failure(capsys: Any, *arguments: str) -> str:
    """The line that a call ends with."""
    assert main(["serve", *arguments]) == 1
    printed = capsys.readouterr()
    assert printed.out == ""
    assert printed.err.count("\n") == 1
    return str(printed.err)


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        ("--parameter video_decode.timeout_ms=soon", "timeout_ms of video_decode is 'soon'; expected an integer"),
        ("--model video_decoed", "no model 'video_decoed' in "),
        (
            "--http-port 8001",
            "port 8001 of 127.0.0.1, for grpc, is already in use; choose another one with --grpc-port",
        ),
        ("--tritonserver /nowhere", "no tritonserver at /nowhere (given)"),
    ],
)
@pytest.mark.needs_triton
def test_what_is_wrong_is_one_line_that_says_so(capsys: Any, arguments: str, text: str) -> None:
    assert text in failure(capsys, *arguments.split())


def test_gpus_get_an_instance_each_of_the_models_that_can_use_them(tmp_path: Path) -> None:
    written = tmp_path / "written"
    arguments = ["--models-only", str(written), "--gpus", "1,0", "--model", "video_text", "--model", "compress"]
    assert main(["serve", *arguments]) == 0

    for model in ("video_decode", "compress"):
        config = (written / model / "config.pbtxt").read_text()
        assert "{ kind: KIND_GPU count: 1 gpus: [ 0, 1 ] }" in config
        assert "KIND_CPU" not in config
    assert "{ kind: KIND_CPU count: 1 }" in (written / "text_detector" / "config.pbtxt").read_text()


@pytest.mark.needs_triton
def test_an_error_in_a_configuration_names_the_model_and_the_line(tmp_path: Path) -> None:
    (tmp_path / "broken" / "1").mkdir(parents=True)
    (tmp_path / "broken" / "config.pbtxt").write_text('name: "broken"\nbackend: "python"\ninput [ { name: "A" ]\n')

    with pytest.raises(RuntimeError, match=r"model broken did not load: .*config\.pbtxt:3:"):
        Server(tmp_path).start()


@pytest.mark.needs_triton
def test_parameters_may_be_numbers_and_flags() -> None:
    values = {"max_queue": 2, "workers": 1, "strict_plan": True}
    parameters = {"video_decode": values}
    with Server(models=["video_decode"], parameters=parameters) as server:
        configuration = f"http://{server.http_url}/v2/models/video_decode/config"
        config = json.loads(urllib.request.urlopen(configuration).read())["parameters"]

    assert {name: config[name]["string_value"] for name in values} == {
        "max_queue": "2", "workers": "1", "strict_plan": "true",
    }  # fmt: skip


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


@pytest.mark.parametrize(
    "command",
    ["serve --help", "probe --help", "probe CLIP --json", "info", "frames CLIP --framemd5"],
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
