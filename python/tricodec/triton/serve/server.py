# SPDX-License-Identifier: Apache-2.0
"""A tritonserver process with tricodec's models, from start to a clean end."""

from __future__ import annotations

import contextlib
import dataclasses
import http.client
import os
import re
import signal
import subprocess
import sys
import sysconfig
import time
import weakref
from collections.abc import Mapping, Sequence
from pathlib import Path

from tricodec.node import Node, NodeLostError, Settings, connect, start
from tricodec.triton.serve.host import INTERFACES, PrivateFolder, choose_ports, load_failures, log_tail
from tricodec.triton.serve.locate import Installation, create_environment, find_tritonserver
from tricodec.triton.serve.repository import (
    installed_repository,
    lacking_models,
    lay_out_backends,
    lay_out_models,
    parameter_texts,
)

_START_ATTEMPTS = 3
_CRASHES = (-signal.SIGABRT, -signal.SIGSEGV, -signal.SIGBUS)
_LOOK_SECONDS = 0.5
_NODE_IDLE_SECONDS = 2.0
"""A node ends so long after the server and what started it, however they ended."""
_LEAST_LOADS = 4
"""Models that Triton loads side by side by default."""
_STUB = re.compile(r"triton_python_backend_stub\0[^\0]*/([^/]+)/\d+/[^/\0]+\0")

_LAUNCHER = """
import os, select, sys
ends = select.poll()
for process in (int(sys.argv[1]), os.getpid()):
    ends.register(os.pidfd_open(process), select.POLLIN)
if os.fork() == 0:
    ends.poll()
    os.killpg(0, 9)
os.execv(sys.argv[2], sys.argv[2:])
"""
"""Becomes the server. A child of it kills all of the server's processes when the server ends, or what started it."""


class Server:
    """A tritonserver that serves models of a repository, by default on 127.0.0.1; a context manager.

    Installed files stay unchanged: backends, models and the Python environment of the models are in a private temporary
    folder, which is deleted with the server.

        with Server() as server:
            frames = Client(server.grpc_url).decode_video("a.mp4").frames

    The server ends with this process, however that ends.

    Thread safety: one thread at a time may call start() and stop().

    Attributes:
        http_url, grpc_url, metrics_url: "HOST:PORT", for clients on this machine; valid after start(). Prometheus'
            metrics have the path /metrics.
        models: names of the models served.
        left_out: models of tricodec that are left out of "all" because their packages are not installed, each with the
            reason.
        log_path: the file with the server's log; None before start(), and for a forwarded log.
    """

    def __init__(
        self,
        model_repository: str | os.PathLike[str] | None = None,
        models: Sequence[str] | None = None,
        *,
        tritonserver: str | os.PathLike[str] | None = None,
        host: str = "127.0.0.1",
        http_port: int = 0,
        grpc_port: int = 0,
        metrics_port: int = 0,
        parameters: Mapping[str, Mapping[str, str | float]] | None = None,
        gpus: Sequence[int] = (),
        execution_environment: str | os.PathLike[str] | None = None,
        extra_args: Sequence[str] = (),
        ready_timeout_seconds: float = 60.0,
        stop_timeout_seconds: float = 6.0,
        forward_log: bool = False,
        verbose: bool = False,
        node: Settings | None = None,
    ) -> None:
        """Describe a server; start() or `with` starts it.

        Args:
            model_repository: a folder of models; None is the one installed with tricodec.
            models: names of the models to serve; None is all. Fewer models start faster. An ensemble includes the
                models of its steps.
            tritonserver: the executable or its folder; None searches for it, see `find_tritonserver`.
            host: the address to listen on; "0.0.0.0" is all of IPv4.
            http_port, grpc_port, metrics_port: port number; 0 takes a free port.
            parameters: for each model, values of its parameters: {"video_decode": {"timeout_ms": 5000}}; "*" is all
                models that have the parameter.
            gpus: numbers of the GPUs on which the models decode and compress; without any they use the CPU.
            execution_environment: a virtual environment for Python models; None creates one with NumPy below 2 and this
                tricodec.
            extra_args: further arguments for tritonserver.
            ready_timeout_seconds: longest time in seconds that start() waits for all models.
            stop_timeout_seconds: time in seconds that stop() waits for requests in flight before it kills the server.
            forward_log: whether the server writes to this process's stderr, and not to a file in the private folder.
            verbose: whether the log has Triton's notes too, and not only its warnings and errors.
            node: what the node may use that does the work of the models, except its socket; None is all cores, and the
                GPUs of `gpus`. If TRICODEC_NODE names the socket of a node, the models ask that one.

        Raises:
            TypeError: `models` or `parameters` is none of these.
        """
        if isinstance(models, str):
            raise TypeError(f"models is {models!r}; expected a list of names, such as [{models!r}]")
        self._repository = Path(model_repository) if model_repository is not None else installed_repository()
        self._own_repository = model_repository is None
        self._wanted = models
        self._tritonserver = tritonserver
        self._host = host
        self._fixed_ports: tuple[int, ...] = (http_port, grpc_port, metrics_port)
        self._parameters = parameter_texts(parameters or {})
        self._gpus = list(gpus)
        self._environment = Path(execution_environment) if execution_environment is not None else None
        self._extra_args = list(extra_args)
        self._ready_timeout_seconds = ready_timeout_seconds
        self._stop_timeout_seconds = stop_timeout_seconds
        self._forward_log = forward_log
        self._verbose = verbose
        self._node = dataclasses.replace(node or Settings(gpus=tuple(gpus)), idle_s=_NODE_IDLE_SECONDS)
        self._ports: tuple[int, ...] = (0, 0, 0)
        self._process: subprocess.Popen[bytes] | None = None
        self._cleanup = contextlib.ExitStack()
        self._finalizer: weakref.finalize[[contextlib.ExitStack, int], Server] | None = None
        self.models: list[str] = []
        self.left_out: dict[str, str] = {}
        self.log_path: Path | None = None
        self._take_ports(self._ports)

    def _take_ports(self, ports: tuple[int, ...]) -> None:
        host = {"0.0.0.0": "127.0.0.1", "::": "[::1]"}.get(self._host)  # what a client on this machine connects to
        host = host or (f"[{self._host}]" if ":" in self._host else self._host)
        self._ports = ports
        self.http_url, self.grpc_url, self.metrics_url = (f"{host}:{port}" for port in ports)

    @property
    def pid(self) -> int | None:
        """The process id of the server; None if it does not run."""
        return self._process.pid if self._process is not None else None

    def start(self) -> Server:
        """Start the server and wait until all of its models are ready.

        Raises:
            FileNotFoundError: there is no tritonserver, repository or model.
            RuntimeError: a port is in use; a model did not load, and the text is the reason; or the server ended or was
                not ready in time, and the text has the end of its log.
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

    def restart(self) -> None:
        """End what is left of a server that ended by itself, and start it again at the same addresses.

        Raises:
            FileNotFoundError, RuntimeError: as start(); the server is then stopped.
        """
        self._fixed_ports = self._ports
        self.stop()
        self.start()

    def wait(self) -> str:
        """Wait until the server ends without stop(), or the process of a model dies, which Triton does not replace.

        Returns:
            What has happened, for people.
        """
        process = self._process
        if process is None:
            raise RuntimeError("the server does not run; start it first")
        stubs = _stubs(process.pid)
        if any(argument.startswith("--model-control-mode") for argument in self._extra_args):
            stubs = {}  # models come and go
        while process.poll() is None:
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(_LOOK_SECONDS)
            dead = stubs.keys() - _stubs(process.pid).keys()
            if dead and process.poll() is None:
                process.kill()  # its requests to that model would never end
                return f"the process of the model {stubs[min(dead)]} died"
        return f"tritonserver ended by itself with status {process.returncode}"

    def __enter__(self) -> Server:
        """Starts the server."""
        return self.start()

    def __exit__(self, *_: object) -> None:
        """Stops the server."""
        self.stop()

    def _start(self) -> None:
        installation = find_tritonserver(self._tritonserver)
        self._take_ports(choose_ports(self._host, self._fixed_ports))  # before anything that takes time
        folder = PrivateFolder()
        self._cleanup.callback(folder.close)
        # It also runs when the interpreter ends without stop().
        self._finalizer = weakref.finalize(self, _close_in_owner, self._cleanup, os.getpid())
        arguments = self._lay_out(installation, folder)
        variables = {**_server_variables(installation.libraries), "TRICODEC_NODE": self._start_node(folder.path)}
        self.log_path = None if self._forward_log else folder.path / "server.log"
        deadline = time.monotonic() + self._ready_timeout_seconds
        for attempt in range(1, _START_ATTEMPTS + 1):
            if attempt > 1:
                self._take_ports(choose_ports(self._host, self._fixed_ports))
            process = self._process = self._launch(arguments, variables, folder.lock)
            problem = self._wait_until_ready(process, deadline, folder.path.name)
            if problem is None:
                return
            said = log_tail(self.log_path) if self.log_path is not None else ""
            # Another process may have taken a free port before the server could bind it.
            lost_port = 0 in self._fixed_ports and "already in use" in said
            # Triton 24.10 may crash while several models register their metrics (boost's lock_exception).
            if attempt == _START_ATTEMPTS or not (lost_port or process.poll() in _CRASHES):
                break
            _end_process(process, self._stop_timeout_seconds)
        reasons = load_failures(self.log_path) if self.log_path is not None else []
        if reasons:
            raise RuntimeError("; ".join(reasons))
        raise RuntimeError(f"{problem}; " + (f"the end of its log:\n{said}" if said else "see its log"))

    def _start_node(self, folder: Path) -> str:
        """The socket of the node for the models. It is started with the interpreter that runs the models."""
        named = os.environ.get("TRICODEC_NODE", "off")
        if named not in ("off", "auto", ""):
            return named
        python = None if self._environment is None else self._environment / "bin" / "python3"
        if python is not None and not python.exists():
            return "off"  # a packed environment: the models start their node themselves
        path = str(folder / "node.sock")
        node = connect(start(dataclasses.replace(self._node, socket=path), python=python))
        self._cleanup.callback(_stop_node, node)
        return path

    def _lay_out(self, installation: Installation, folder: PrivateFolder) -> list[str]:
        """Fills the private folder; the command that serves it."""
        backends = lay_out_backends(installation, folder.path / "backends")
        environment = self._environment or create_environment(folder.path / "environment")
        # The packages of a given environment are not known here; a model reports those that are missing.
        if self._own_repository and self._wanted is None and self._environment is None:
            self.left_out = lacking_models(self._repository)
        self.models = lay_out_models(
            self._repository, self._wanted, folder.path / "models", environment, self._parameters, self.left_out,
            gpus=self._gpus,
        )  # fmt: skip
        return [
            str(installation.binary),
            f"--model-repository={folder.path / 'models'}",
            f"--backend-directory={backends}",
            f"--backend-config=python,shm-region-prefix-name={folder.path.name}_",
            f"--id={folder.path.name}",
            *(f"--{interface}-address={self._host}" for interface in INTERFACES),
            f"--log-info={str(self._verbose).lower()}",
            f"--exit-timeout-secs={max(1, int(self._stop_timeout_seconds) - 1)}",
            f"--model-load-thread-count={max(_LEAST_LOADS, min(len(self.models), len(os.sched_getaffinity(0))))}",
            *(["--disable-auto-complete-config"] if self._own_repository else []),
            *self._extra_args,
        ]

    def _launch(self, arguments: Sequence[str], variables: Mapping[str, str], lock: int) -> subprocess.Popen[bytes]:
        ports = [f"--{name}-port={port}" for name, port in zip(INTERFACES, self._ports, strict=True)]
        launcher = [sys.executable, "-I", "-c", _LAUNCHER, str(os.getpid())]
        with contextlib.ExitStack() as stack:
            output = None if self.log_path is None else stack.enter_context(self.log_path.open("ab"))
            # A separate session: Ctrl-C does not reach the server, and one signal ends all of its processes.
            process = subprocess.Popen(
                [*launcher, *arguments, *ports],
                stdin=subprocess.DEVNULL,
                stdout=output or sys.stderr.fileno(),
                stderr=subprocess.STDOUT,
                env=variables,
                start_new_session=True,
                pass_fds=(lock,),
            )
        self._cleanup.callback(_end_process, process, self._stop_timeout_seconds)
        return process

    def _wait_until_ready(self, process: subprocess.Popen[bytes], deadline: float, name: str) -> str | None:
        """Waits until all models are ready; returns None, or the problem."""
        while time.monotonic() < deadline:
            status = process.poll()
            if status is not None:
                return f"tritonserver ended with status {status} before it was ready"
            about = _get(self.http_url, "/v2") or b""  # perhaps of another server on the same port
            answers = [_get(self.http_url, "/v2/health/ready")]
            if "--allow-metrics=false" not in self._extra_args:
                answers.append(_get(self.metrics_url, "/metrics"))  # they start last
            if name.encode() in about and None not in answers:
                return None
            time.sleep(0.05)
        return f"tritonserver and its metrics were not ready after {self._ready_timeout_seconds:g} s"


def _server_variables(libraries: Path) -> dict[str, str]:
    """This process's environment, with the folders of the server's libraries and of libpython."""
    # The stub needs libpython; that of the running interpreter fits its standard library.
    library = Path(sysconfig.get_config_var("LIBDIR") or "", sysconfig.get_config_var("INSTSONAME") or "")
    folders = [libraries] * libraries.is_dir() + [library.parent] * library.is_file()
    inherited = [os.environ["LD_LIBRARY_PATH"]] if os.environ.get("LD_LIBRARY_PATH") else []
    return {**os.environ, "LD_LIBRARY_PATH": os.pathsep.join([*map(str, folders), *inherited])}


def _stop_node(node: Node) -> None:
    with contextlib.suppress(NodeLostError):
        node.stop()


def _get(address: str, path: str) -> bytes | None:
    """The body of an answer with status 200, None for anything else."""
    with contextlib.closing(http.client.HTTPConnection(address, timeout=2)) as connection:
        try:
            connection.request("GET", path)
            response = connection.getresponse()
            body = response.read()
        except (OSError, http.client.HTTPException):
            return None
        return body if response.status == 200 else None


def _stubs(server: int) -> dict[int, str]:
    """The processes that run the Python of a server's models, with the models' names."""
    found = {}
    for process in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            parent = int((process / "stat").read_text().rpartition(")")[2].split()[1])
            if parent == server and (named := _STUB.search((process / "cmdline").read_text(errors="replace"))):
                found[int(process.name)] = named[1]
    return found


def _close_in_owner(cleanup: contextlib.ExitStack, owner: int) -> None:
    if os.getpid() == owner:  # a forked child must not end its parent's server
        cleanup.close()


def _end_process(process: subprocess.Popen[bytes], timeout_seconds: float) -> None:
    try:
        if process.poll() is None:
            process.terminate()
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(timeout_seconds)
    finally:  # also after a second Ctrl-C
        # The rest of the session: a server that did not end, or stubs of a server that crashed.
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()
