# SPDX-License-Identifier: Apache-2.0
"""`tricodec serve --watch URL` beside a tritonserver that another program runs."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tricodec
from media import generated
from tricodec.serve import Server
from triton_testing import connect, metric, settled, stubs, variants, wait_until

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
    command = [sys.executable, "-m", "tricodec.cli", "serve", "--watch", f"http://{server.http_url}", *options]
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
    from tricodec.serve.sidecar import parse_address

    with pytest.raises(ValueError, match="expected the server's HTTP address"):
        parse_address(url)
