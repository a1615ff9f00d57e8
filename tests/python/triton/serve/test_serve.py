# SPDX-License-Identifier: Apache-2.0
"""tricodec.triton.serve starts a real tritonserver, says why it cannot, and leaves nothing behind."""

from __future__ import annotations

import hashlib
import json
import os
import re
import signal
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
from patience import least_seconds
from tricodec.cli.command import build_parser
from tricodec.triton.serve import Server, find_tritonserver
from tricodec.triton.serve.locate import create_environment
from tricodec.triton.serve.repository import installed_repository, lay_out_models
from triton_testing import command as command_of
from triton_testing import descendants, infer, running, workers

needs_triton = pytest.mark.needs_triton

READY_SECONDS = 15.0
"""How long a start may take once NumPy is in the cache."""

ECHO = {
    "config.pbtxt": """
name: "echo"
backend: "python"
max_batch_size: 0
input [ { name: "IN" data_type: TYPE_UINT8 dims: [ -1 ] } ]
output [ { name: "OUT" data_type: TYPE_STRING dims: [ 1 ] } ]
instance_group [ { kind: KIND_CPU count: 1 } ]
parameters { key: "word" value { string_value: "from the file" } }
""",
    "1/model.py": """
import hashlib, json
import numpy as np
import tricodec
import triton_python_backend_utils as pb_utils

class TritonPythonModel:
    def initialize(self, args):
        self.word = json.loads(args["model_config"])["parameters"]["word"]["string_value"]

    def execute(self, requests):
        responses = []
        for request in requests:
            data = pb_utils.get_input_tensor_by_name(request, "IN").as_numpy()
            facts = {"sha256": hashlib.sha256(data.tobytes()).hexdigest(), "word": self.word,
                     "tricodec": tricodec.__file__, "numpy": np.__version__}
            out = pb_utils.Tensor("OUT", np.array([json.dumps(facts).encode()], dtype=np.object_))
            responses.append(pb_utils.InferenceResponse([out]))
        return responses
""",
}


def write_echo(folder: Path) -> Path:
    for name, text in ECHO.items():
        path = folder / "echo" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return folder


@pytest.fixture
def echo(tmp_path: Path) -> Path:
    """A repository of one model."""
    return write_echo(tmp_path / "models")


@pytest.fixture(scope="module")
def echo_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """A server that tests only look at."""
    repository = write_echo(tmp_path_factory.mktemp("models"))
    with Server(repository, ["echo"], parameters={"echo": {"word": 'from "here"'}}) as server:
        yield server


def ask_echo(url: str, data: bytes) -> dict[str, str]:
    return json.loads(infer(url, {"IN": np.frombuffer(data, np.uint8)}, model="echo")["OUT"][0])


@needs_triton
def test_a_server_starts_quickly_and_leaves_no_process_memory_or_folder(monkeypatch: Any, tmp_path: Path) -> None:
    create_environment(tmp_path / "warm")  # the download is not part of a start
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    repository = installed_repository()
    files = {path: path.read_bytes() for path in repository.rglob("*") if path.is_file()}

    def start_and_stop() -> float:
        began = time.monotonic()
        with Server(models=["video_decode"]) as server:
            took = time.monotonic() - began
            assert server.pid is not None
            family = [server.pid, *descendants(server.pid)]
            assert len(workers(server.pid)) == 1
            folders = set(tmp_path.iterdir())
            (private,) = tmp_path.glob("tricodec-serve-*")
            assert list(Path("/dev/shm").glob(f"{private.name}_*"))

        assert len(family) > 2
        assert len(folders) > 1
        assert not [pid for pid in family if running(pid)]
        assert not list(Path("/dev/shm").glob(f"{private.name}_*"))
        assert {path: path.read_bytes() for path in repository.rglob("*") if path.is_file()} == files
        assert set(tmp_path.iterdir()) == {tmp_path / "warm"}
        assert server.pid is None
        return took

    assert least_seconds(start_and_stop, READY_SECONDS) < READY_SECONDS


_CODE = re.compile(r"^```python\n(.*?)^```", re.MULTILINE | re.DOTALL)


@needs_triton
@pytest.mark.needs_dali
@pytest.mark.needs_onnx
def test_examples_beside_the_models_run_as_they_stand_on_a_server_of_all_models(
    tmp_path: Path, monkeypatch: Any, capsys: Any
) -> None:
    from tritonclient.grpc import InferenceServerClient

    names = sorted(path.name for path in installed_repository().iterdir() if (path / "config.pbtxt").is_file())
    assert len(names) > 5
    (tmp_path / "a.mp4").symlink_to(generated("h264_bframes.mp4"))
    monkeypatch.chdir(tmp_path)

    with Server(parameters={"*": {"workers": "1"}}) as server, InferenceServerClient(server.grpc_url) as client:
        for code in _CODE.findall((installed_repository() / "README.md").read_text()):
            assert '"127.0.0.1:8001"' in code
            exec(compile(code.replace("127.0.0.1:8001", server.grpc_url), "README.md", "exec"), {})
            promised = re.findall(r"^ *print\(.*\)  # (\S.*)$", code, re.MULTILINE)
            assert capsys.readouterr().out.splitlines() == promised
        statistics = client.get_inference_statistics(as_json=True)["model_stats"]
        asked = {each["name"] for each in statistics if int(each["inference_stats"]["success"].get("count", 0)) > 0}

    assert server.models == names == sorted(asked)
    assert build_parser().parse_args(["serve"]).model is None  # which is all


@needs_triton
def test_models_run_this_tricodec_with_numpy_below_2_and_bytes_arrive_intact(echo_server: Server) -> None:
    data = os.urandom(3_000_001)
    facts = ask_echo(echo_server.grpc_url, data)

    assert facts["sha256"] == hashlib.sha256(data).hexdigest()
    assert facts["tricodec"] == tricodec.__file__
    assert facts["numpy"].startswith("1.")
    assert facts["word"] == 'from "here"'


@needs_triton
def test_a_model_that_does_not_load_is_one_line_with_the_cause(echo: Path) -> None:
    (echo / "echo" / "1" / "model.py").write_text("import no_such_package\n")
    server = Server(echo, ["echo"])

    with pytest.raises(
        RuntimeError, match=r"^model echo did not load: ModuleNotFoundError: No module named 'no_such_package'[^\n]*$"
    ):
        server.start()

    assert server.pid is None


@needs_triton
def test_a_server_can_be_started_again_and_from_a_thread_that_ends(echo: Path) -> None:
    server = Server(echo, None)
    for _ in range(2):
        thread = threading.Thread(target=server.start)
        thread.start()
        thread.join()
        assert ask_echo(server.grpc_url, b"x")["word"] == "from the file"
        server.stop()
    server.stop()

    assert server.pid is None


@needs_triton
@pytest.mark.parametrize(("number", "as_json"), [(signal.SIGINT, False), (signal.SIGTERM, True)])
def test_the_command_serves_until_a_signal(echo: Path, number: signal.Signals, as_json: bool) -> None:
    # Tests that run in the background may have SIGINT ignored, which children inherit.
    python = ["env", f"--default-signal={number.name[3:]}", sys.executable]
    command = [*python, "-m", "tricodec", "serve", "--model-repository", str(echo)]
    options = ["--http-port", "0", "--grpc-port", "0", "--metrics-port", "0", "--parameter", "echo.word=told"]
    options += ["--json"] * as_json
    with subprocess.Popen(
        [*command, *options, "--", "--log-warning=1"], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    ) as process:
        assert process.stdout is not None
        line = process.stdout.readline()
        if as_json:
            told = json.loads(line)
            models, http, grpc = told["models"], told["http"], told["grpc"]
        else:
            models = [line.removeprefix("serving ").partition(":")[0]]
            http, grpc = re.findall(r"(?:http|grpc) (127\.0\.0\.1:\d+)", line)
        with urllib.request.urlopen(f"http://{http}/v2/models/echo/ready") as answer:
            assert answer.status == 200
        assert ask_echo(grpc, b"x")["word"] == "told"
        family = descendants(process.pid)
        process.send_signal(number)
        status = process.wait(60)

    assert models == ["echo"]
    assert status == 0
    assert len(family) >= 2
    assert not [pid for pid in family if running(pid)]


@needs_triton
def test_the_command_starts_a_server_that_crashes_again_at_the_same_addresses(echo: Path) -> None:
    command = [sys.executable, "-m", "tricodec", "serve", "--model-repository", str(echo)]
    options = ["--http-port", "0", "--grpc-port", "0", "--metrics-port", "0"]
    with subprocess.Popen([*command, *options], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        first = process.stdout.readline()
        (server,) = [pid for pid in descendants(process.pid) if "bin/tritonserver" in command_of(pid).split()[0]]
        os.kill(server, signal.SIGKILL)
        second = process.stdout.readline()
        (grpc,) = re.findall(r"grpc (127\.0\.0\.1:\d+)", second)
        answer = ask_echo(grpc, b"x")
        process.terminate()
        errors = process.stderr.read()

    assert first.startswith("serving echo: ")
    assert second == first
    assert answer["word"] == "from the file"
    assert "tritonserver ended by itself with status -9" in errors


def test_a_tritonserver_that_is_not_there_is_an_error_that_names_it(tmp_path: Path, monkeypatch: Any) -> None:
    with pytest.raises(FileNotFoundError, match=re.escape(f"{tmp_path}/bin/tritonserver (given)")):
        find_tritonserver(tmp_path)

    monkeypatch.setenv("TRICODEC_TRITONSERVER", "/nowhere/tritonserver")
    with pytest.raises(FileNotFoundError, match=r"/nowhere/tritonserver .from TRICODEC_TRITONSERVER"):
        find_tritonserver()


@pytest.mark.parametrize(
    ("models", "parameters", "kind", "text"),
    [
        (
            ["nothing"],
            {},
            FileNotFoundError,
            "no model .nothing. in .*; there are: compress, dali_clip, decompress, .*video_decode, .*video_transcode$",
        ),
        (["video_decode"], {"other": {"a": "b"}}, ValueError, "parameters for other, which is not served"),
    ],
    ids=["no_model", "parameters_for_no_model"],
)
def test_a_model_that_is_not_there_is_named(
    tmp_path: Path, models: list[str], parameters: Any, kind: type[Exception], text: str
) -> None:
    with pytest.raises(kind, match=text):
        lay_out_models(installed_repository(), models, tmp_path / "models", tmp_path, parameters)


def test_an_ensemble_brings_the_models_of_its_steps(tmp_path: Path) -> None:
    names = lay_out_models(
        installed_repository(), ["video_text", "video_decode"], tmp_path / "models", tmp_path, {"video_decode": {}}
    )

    assert names == ["video_text", "video_decode", "text_detector"]
    assert sorted(path.name for path in (tmp_path / "models").iterdir()) == sorted(names)


@needs_triton
def test_a_model_that_cannot_run_here_is_left_out_and_the_command_says_why(tmp_path: Path) -> None:
    """The models that are installed are some of them here: another test serves all."""
    (tmp_path / "models").mkdir()
    for name in ("dali_clip", "probe", "video_decode"):
        (tmp_path / "models" / name).symlink_to(installed_repository() / name)
    packages = tmp_path / "packages"
    packages.mkdir()
    (packages / "sitecustomize.py").write_text('import sys; sys.modules["nvidia.dali"] = None\n')  # not installed
    variables = os.environ | {"PYTHONPATH": f"{packages}{os.pathsep}{os.environ.get('PYTHONPATH', '')}"}
    program = (
        "import pathlib, tricodec.triton.serve.server; from tricodec.cli import main\n"
        f"tricodec.triton.serve.server.installed_repository = lambda: pathlib.Path({str(tmp_path / 'models')!r})\n"
        "main(['serve', '--http-port', '0', '--grpc-port', '0', '--metrics-port', '0'])"
    )
    with subprocess.Popen(
        [sys.executable, "-c", program], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, env=variables
    ) as process:
        assert process.stdout is not None
        lines = []
        while not lines or lines[-1].startswith("left out: "):
            lines.append(process.stdout.readline())
        process.terminate()

    serving = lines.pop()
    left_out = lines[0]
    assert left_out.startswith("left out: dali_clip: tricodec.dali needs NVIDIA DALI")
    assert "pip install tricodec[dali]" in left_out
    served = serving.removeprefix("serving ").partition(":")[0].split(", ")
    assert sorted(served) == ["probe", "video_decode"]
