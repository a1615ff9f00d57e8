# SPDX-License-Identifier: Apache-2.0
"""A tritonserver process with tricodec's models, from start to a clean end."""

from __future__ import annotations

import contextlib
import http.client
import os
import re
import secrets
import shutil
import signal
import socket
import subprocess
import sys
import sysconfig
import tempfile
import threading
import time
import weakref
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import TracebackType

from tricodec.serve.environment import create_environment
from tricodec.serve.locate import find_tritonserver
from tricodec.serve.repository import installed_repository, lacking_models, lay_out_backends, lay_out_models

_HOST = "127.0.0.1"
_LOG_READ_BYTES = 1 << 20
_LOG_TAIL_CHARACTERS = 6000
# Rows and rules of tables, and lines of level "info", which begin with I and the date.
_LOG_NOISE = re.compile(r"[|+]|I\d{4} ")
_BIND_ATTEMPTS = 3
_METRICS_SECONDS = 3.0

# The first program of the server's process: requests a signal at the parent's end, then runs tritonserver.
_LAUNCHER = """
import ctypes, os, signal, sys
ctypes.CDLL(None).prctl(1, signal.SIGTERM)  # PR_SET_PDEATHSIG
if os.getppid() != int(sys.argv[1]):
    sys.exit("the process that started the server is gone")
os.execv(sys.argv[2], sys.argv[2:])
"""


class Server:
    """A tritonserver on 127.0.0.1 that serves models of a repository; a context manager.

    Installed files stay unchanged: backends, models and the Python environment of the models are in a private temporary
    folder, which is deleted with the server.

        with Server() as server:
            frames = Client(server.grpc_url).decode_video("a.mp4").frames

    Thread safety: one thread at a time may call start() and stop(). If the main thread starts the server, the kernel
    ends it when this process dies.

    Attributes:
        http_url, grpc_url, metrics_url: "127.0.0.1:PORT"; valid after start().
        models: names of the models served.
        left_out: models of tricodec that are left out of "all" because their packages are not installed, each with the
            reason.
    """

    def __init__(
        self,
        model_repository: str | os.PathLike[str] | None = None,
        models: Sequence[str] | None = None,
        *,
        tritonserver: str | os.PathLike[str] | None = None,
        http_port: int = 0,
        grpc_port: int = 0,
        metrics_port: int = 0,
        parameters: Mapping[str, Mapping[str, str]] | None = None,
        execution_environment: str | os.PathLike[str] | None = None,
        extra_args: Sequence[str] = (),
        ready_timeout_seconds: float = 60.0,
        stop_timeout_seconds: float = 20.0,
        log_file: str | os.PathLike[str] | None = None,
        forward_log: bool = False,
    ) -> None:
        """Describe a server; start() or `with` starts it.

        Args:
            model_repository: a folder of models; None is the one installed with tricodec.
            models: names of the models to serve; None is all. Fewer models start faster. An ensemble includes the
                models of its steps.
            tritonserver: the executable or its folder; None searches for it, see `find_tritonserver`.
            http_port, grpc_port, metrics_port: port number; 0 takes a free port.
            parameters: for each model, values of its parameters: {"video_decode": {"timeout_ms": "5000"}}.
            execution_environment: a virtual environment for Python models; None creates one with NumPy below 2 and this
                tricodec.
            extra_args: further arguments for tritonserver.
            ready_timeout_seconds: longest time in seconds that start() waits for all models.
            stop_timeout_seconds: time in seconds that stop() waits for a clean end before it kills the server.
            log_file: file for the server's output; None is a file in the private folder.
            forward_log: whether the server writes to this process's stderr instead. Errors then have no log tail.
        """
        self._repository = Path(model_repository) if model_repository is not None else installed_repository()
        self._own_repository = model_repository is None
        self._wanted = models
        self._tritonserver = tritonserver
        self._fixed_ports = (http_port, grpc_port, metrics_port)
        self._parameters = parameters or {}
        self._environment = Path(execution_environment) if execution_environment is not None else None
        self._extra_args = list(extra_args)
        self._ready_timeout_seconds = ready_timeout_seconds
        self._stop_timeout_seconds = stop_timeout_seconds
        self._given_log_file = Path(log_file) if log_file is not None else None
        self._log_file: Path | None = None
        self._forward_log = forward_log
        self._ports = (0, 0, 0)
        self._identity = ""
        self._process: subprocess.Popen[bytes] | None = None
        self._cleanup = contextlib.ExitStack()
        self._finalizer: weakref.finalize[[contextlib.ExitStack, int], Server] | None = None
        self.models: list[str] = []
        self.left_out: dict[str, str] = {}

    @property
    def http_url(self) -> str:
        """The address for HTTP requests, "127.0.0.1:PORT"."""
        return f"{_HOST}:{self._ports[0]}"

    @property
    def grpc_url(self) -> str:
        """The address for gRPC requests, "127.0.0.1:PORT"."""
        return f"{_HOST}:{self._ports[1]}"

    @property
    def metrics_url(self) -> str:
        """The address of the Prometheus metrics, "127.0.0.1:PORT" (path /metrics)."""
        return f"{_HOST}:{self._ports[2]}"

    @property
    def pid(self) -> int | None:
        """The process id of the server; None if it does not run."""
        return self._process.pid if self._process is not None else None

    def start(self) -> Server:
        """Start the server and wait until all of its models are ready.

        Raises:
            FileNotFoundError: there is no tritonserver, repository or model.
            RuntimeError: the server ended or was not ready in time; the text has the end of its log.
        """
        if self._process is not None:
            raise RuntimeError(f"the server already runs, process {self._process.pid}; stop it first")
        try:
            self._start()
        except BaseException:
            self.stop()
            raise
        return self

    def stop(self) -> None:
        """End the server by SIGTERM; after the time limit kill all of its processes. A second call does nothing."""
        if self._finalizer is not None:
            self._finalizer.detach()
            self._finalizer = None
        self._cleanup.close()
        self._process = None

    def wait(self) -> int:
        """Wait until the server ends without stop().

        Returns:
            Its exit status.
        """
        if self._process is None:
            raise RuntimeError("the server does not run; start it first")
        return self._process.wait()

    def log_tail(self) -> str:
        """The last lines of the server's log, without tables and notes; empty for a forwarded log."""
        if self._log_file is None or not self._log_file.is_file():
            return ""
        with self._log_file.open("rb") as file:
            file.seek(max(0, self._log_file.stat().st_size - _LOG_READ_BYTES))
            lines = file.read().decode(errors="replace").splitlines()
        kept = [line for line in lines if line.strip() and not _LOG_NOISE.match(line)]
        return "\n".join(kept)[-_LOG_TAIL_CHARACTERS:]

    def __enter__(self) -> Server:
        """Starts the server."""
        return self.start()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        """Stops the server."""
        self.stop()

    def _start(self) -> None:
        installation = find_tritonserver(self._tritonserver)
        private = Path(tempfile.mkdtemp(prefix="tricodec-serve-"))
        self._cleanup.callback(shutil.rmtree, private, ignore_errors=True)
        # It also runs when the interpreter ends without stop().
        self._finalizer = weakref.finalize(self, _close_in_owner, self._cleanup, os.getpid())

        backends = lay_out_backends(installation, private / "backends")
        environment = self._environment or create_environment(private / "environment")
        # The packages of a given environment are not known here; a model reports those that are missing.
        if self._own_repository and self._wanted is None and self._environment is None:
            self.left_out = lacking_models(self._repository)
        self.models = lay_out_models(
            self._repository, self._wanted, private / "models", environment, self._parameters, self.left_out
        )
        self._log_file = None if self._forward_log else self._given_log_file or private / "server.log"
        self._identity = f"tricodec_{os.getpid()}_{secrets.token_hex(4)}"
        self._cleanup.callback(_remove_shared_memory, f"{self._identity}_")

        arguments = [
            str(installation.binary),
            f"--model-repository={private / 'models'}",
            f"--backend-directory={backends}",
            f"--backend-config=python,shm-region-prefix-name={self._identity}_",
            f"--id={self._identity}",
            f"--http-address={_HOST}",
            f"--grpc-address={_HOST}",
            f"--metrics-address={_HOST}",
            f"--exit-timeout-secs={max(1, int(self._stop_timeout_seconds) - 2)}",
            *(["--disable-auto-complete-config"] if self._own_repository else []),
            *self._extra_args,
        ]
        variables = _server_variables(installation.libraries)
        deadline = time.monotonic() + self._ready_timeout_seconds
        for attempt in range(1, _BIND_ATTEMPTS + 1):
            self._ports = _choose_ports(self._fixed_ports)
            self._launch(arguments, variables)
            problem = self._wait_until_ready(deadline)
            if problem is None:
                return
            # Another process may have taken a free port before the server could bind it.
            if 0 not in self._fixed_ports or "already in use" not in self.log_tail() or attempt == _BIND_ATTEMPTS:
                break
            assert self._process is not None
            _end_process(self._process, self._stop_timeout_seconds)
        tail = self.log_tail()
        raise RuntimeError(f"{problem}; the end of its log:\n{tail}" if tail else f"{problem}; see its log")

    def _launch(self, arguments: Sequence[str], variables: Mapping[str, str]) -> None:
        ports = [f"--{name}-port={port}" for name, port in zip(("http", "grpc", "metrics"), self._ports, strict=True)]
        command = [*arguments, *ports]
        # The kernel sends the signal when the starting thread ends, so only the main thread may request it.
        if threading.current_thread() is threading.main_thread():
            command = [sys.executable, "-I", "-c", _LAUNCHER, str(os.getpid()), *command]
        with contextlib.ExitStack() as stack:
            output = None if self._log_file is None else stack.enter_context(self._log_file.open("ab"))
            # A separate session: Ctrl-C does not reach the server, and one signal ends all of its processes.
            self._process = subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT if output is not None else None,
                env=dict(variables),
                start_new_session=True,
            )
        self._cleanup.callback(_end_process, self._process, self._stop_timeout_seconds)

    def _wait_until_ready(self, deadline: float) -> str | None:
        """Waits until all models are ready; returns None, or the problem."""
        assert self._process is not None
        metrics_deadline = None
        while time.monotonic() < deadline:
            status = self._process.poll()
            if status is not None:
                return f"tritonserver ended with status {status} before it was ready"
            if self._is_ready():
                # Metrics start last, and a server continues without them if their port is taken.
                if "--allow-metrics=false" in self._extra_args or _get(self._ports[2], "/metrics") is not None:
                    return None
                metrics_deadline = metrics_deadline or time.monotonic() + _METRICS_SECONDS
                if time.monotonic() > metrics_deadline:
                    return f"tritonserver gives no metrics on port {self._ports[2]}; is it in use?"
            time.sleep(0.05)
        return f"tritonserver was not ready after {self._ready_timeout_seconds:g} s"

    def _is_ready(self) -> bool:
        """Whether our server is ready, and not another one on the same port."""
        about = _get(self._ports[0], "/v2")
        ours = about is not None and self._identity.encode() in about
        return ours and _get(self._ports[0], "/v2/health/ready") is not None


def _choose_ports(fixed: Sequence[int]) -> tuple[int, int, int]:
    """`fixed` with a different free port instead of each 0."""
    with contextlib.ExitStack() as stack:
        # All ports stay open until the last one is chosen, so that they differ.
        http_port, grpc_port, metrics_port = (port or _free_port(stack) for port in fixed)
    return http_port, grpc_port, metrics_port


def _free_port(stack: contextlib.ExitStack) -> int:
    probe = stack.enter_context(socket.socket())
    probe.bind((_HOST, 0))
    return int(probe.getsockname()[1])


def _server_variables(libraries: Sequence[Path]) -> dict[str, str]:
    """This process's environment, with the folders of the server's libraries and of libpython."""
    folders = [str(path) for path in libraries if path.is_dir()]
    library_folder, library_name = sysconfig.get_config_var("LIBDIR"), sysconfig.get_config_var("INSTSONAME")
    # The stub needs libpython; that of the running interpreter fits its standard library.
    if library_folder and library_name and (Path(library_folder) / library_name).is_file():
        folders.append(library_folder)
    inherited = os.environ.get("LD_LIBRARY_PATH")
    if inherited:
        folders.append(inherited)
    return {**os.environ, "LD_LIBRARY_PATH": os.pathsep.join(folders)}


def _get(port: int, path: str) -> bytes | None:
    """The body of an answer with status 200, None for anything else."""
    connection = http.client.HTTPConnection(_HOST, port, timeout=2)
    try:
        connection.request("GET", path)
        response = connection.getresponse()
        body = response.read()
    except (OSError, http.client.HTTPException):
        return None
    else:
        return body if response.status == 200 else None
    finally:
        connection.close()


def _close_in_owner(cleanup: contextlib.ExitStack, owner: int) -> None:
    if os.getpid() == owner:  # a forked child must not end its parent's server
        cleanup.close()


def _end_process(process: subprocess.Popen[bytes], timeout_seconds: float) -> None:
    if process.poll() is None:
        process.send_signal(signal.SIGTERM)
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(timeout_seconds)
    # The rest of the session: a server that did not end, or stubs of a server that crashed.
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()


def _remove_shared_memory(prefix: str) -> None:
    for region in Path("/dev/shm").glob(f"{prefix}*"):
        with contextlib.suppress(OSError):
            region.unlink()
