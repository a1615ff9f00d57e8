# SPDX-License-Identifier: Apache-2.0
"""No process that `tricodec serve`, `--watch` or a client starts shows a key of the model control to other users."""

from __future__ import annotations

import contextlib
import http.client
import os
import re
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from media import generated
from tricodec.serve import Server, main
from triton_testing import connect, descendants, stubs

pytestmark = pytest.mark.needs_triton

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


@pytest.mark.parametrize("options", [[], ["--model-control-mode=explicit", "--load-model=*", RESTRICTED]])
def test_no_process_of_a_server_shows_a_key(options: list[str], tmp_path: Path) -> None:
    server = Server(models=["probe"], extra_args=options, log_file=tmp_path / "log", stop_timeout_seconds=5)
    with shown_meanwhile() as shown:
        starter = server.start if True else start_in_thread(server)
        starter()
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


def start_in_thread(server: Server) -> Any:
    def start() -> None:
        thread = threading.Thread(target=server.start)
        thread.start()
        thread.join()

    return start


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
