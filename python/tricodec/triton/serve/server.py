# SPDX-License-Identifier: Apache-2.0
"""A tritonserver process with tricodec's models, from start to a clean end."""

from __future__ import annotations

import contextlib
import http.client
import logging
import os
import secrets
import signal
import subprocess
import sys
import sysconfig
import threading
import time
import weakref
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import TracebackType

from tricodec.triton.serve import log
from tricodec.triton.serve.control import ControlError, ControlKey, ModelControl
from tricodec.triton.serve.environment import create_environment
from tricodec.triton.serve.locate import find_tritonserver
from tricodec.triton.serve.network import Network
from tricodec.triton.serve.ports import INTERFACES, choose_ports
from tricodec.triton.serve.private import PrivateFolder, remove_abandoned
from tricodec.triton.serve.repository import (
    installed_repository,
    lacking_models,
    lay_out_backends,
    lay_out_models,
    parameter_texts,
)
from tricodec.triton.serve.secret import hidden
from tricodec.triton.serve.watch import StubWatcher, find_stubs

_LOG = logging.getLogger("tricodec.triton.serve")
_START_ATTEMPTS = 3
_CRASHES = (-signal.SIGABRT, -signal.SIGSEGV, -signal.SIGBUS)
_METRICS_SECONDS = 3.0
_LAUNCHER = Path(__file__).with_name("launcher.py")
_WITHOUT_STUBS_SECONDS, _AFTER_STUBS_SECONDS = 1.0, 0.2
"""How long a server that is told to end may take without stubs: it had none, or they have ended. It looks for the end
of its models once a second.
"""
_LOOK_SECONDS = 1.0
_LEAST_LOADS = 4
"""Models that Triton loads side by side by default."""


class Server:
    """A tritonserver that serves models of a repository, by default on 127.0.0.1; a context manager.

    Installed files stay unchanged: backends, models and the Python environment of the models are in a private temporary
    folder, which is deleted with the server.

        with Server() as server:
            frames = Client(server.grpc_url).decode_video("a.mp4").frames

    A Python model with a process that dies is not ready from then on, and comes back within seconds; the logger
    "tricodec.triton.serve" says so. Only this object may load and unload models: the server refuses these calls, and
    the list of its repository, to other clients.

    Thread safety: one thread at a time may call start() and stop(). If the main thread starts the server, the kernel
    ends it when this process dies.

    Attributes:
        http_url, grpc_url, metrics_url: "HOST:PORT", for clients on this machine; valid after start().
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
        parameters: Mapping[str, Mapping[str, str | float]] | None = None,
        execution_environment: str | os.PathLike[str] | None = None,
        extra_args: Sequence[str] = (),
        ready_timeout_seconds: float = 60.0,
        stop_timeout_seconds: float = 6.0,
        log_file: str | os.PathLike[str] | None = None,
        forward_log: bool = False,
        watch: bool = True,
        host: str = "127.0.0.1",
        tls_certificate: str | os.PathLike[str] | None = None,
        tls_key: str | os.PathLike[str] | None = None,
        tls_client_ca: str | os.PathLike[str] | None = None,
        gpus: Sequence[int] = (),
        report: Callable[[str], None] | None = None,
    ) -> None:
        """Describe a server; start() or `with` starts it.

        Args:
            model_repository: a folder of models; None is the one installed with tricodec.
            models: names of the models to serve; None is all. Fewer models start faster. An ensemble includes the
                models of its steps.
            tritonserver: the executable or its folder; None searches for it, see `find_tritonserver`.
            http_port, grpc_port, metrics_port: port number; 0 takes a free port.
            parameters: for each model, values of its parameters: {"video_decode": {"timeout_ms": 5000}}; "*" is all
                models that have the parameter.
            execution_environment: a virtual environment for Python models; None creates one with NumPy below 2 and this
                tricodec.
            extra_args: further arguments for tritonserver.
            ready_timeout_seconds: longest time in seconds that start() waits for all models.
            stop_timeout_seconds: time in seconds that stop() waits for requests in flight, and for models that Triton
                does not let go, before it kills the server.
            log_file: file for the server's output; None is a file in the private folder.
            forward_log: whether the server writes to this process's stderr instead. Errors then have no log tail.
            watch: whether models come back. False leaves loading, listing and unloading as `extra_args` say, and so
                does an own --model-control-mode there.
            host: the address to listen on; "0.0.0.0" is all of IPv4.
            tls_certificate, tls_key: PEM files of the server, for gRPC with TLS. HTTP, which Triton serves without TLS
                only, then stays on 127.0.0.1.
            tls_client_ca: PEM file with the authority that must have signed the certificates of clients.
            gpus: numbers of the GPUs on which the models decode and compress; without any they use the CPU.
            report: takes a line for people about each model that start() has loaded, and about those that it waits for.

        Raises:
            TypeError: `models` or `parameters` is none of these.
            ValueError: of `tls_certificate` and `tls_key` one is missing.
            FileNotFoundError: a file of TLS does not exist.
        """
        if isinstance(models, str):
            raise TypeError(f"models is {models!r}; expected a list of names, such as [{models!r}]")
        self._network = Network(host, tls_certificate, tls_key, tls_client_ca)
        self._watch = watch and not any(argument.startswith("--model-control-mode") for argument in extra_args)
        self._watcher: StubWatcher | None = None
        self._control: ModelControl | None = None
        self._repository = Path(model_repository) if model_repository is not None else installed_repository()
        self._own_repository = model_repository is None
        self._wanted = models
        self._tritonserver = tritonserver
        self._fixed_ports = (http_port, grpc_port, metrics_port)
        self._parameters = parameter_texts(parameters or {})
        self._report = report or (lambda line: None)
        self._gpus = list(gpus)
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
        """The address for HTTP requests, "HOST:PORT"."""
        return f"{self._network.reachable[0]}:{self._ports[0]}"

    @property
    def grpc_url(self) -> str:
        """The address for gRPC requests, "HOST:PORT"."""
        return f"{self._network.reachable[1]}:{self._ports[1]}"

    @property
    def metrics_url(self) -> str:
        """The address of the Prometheus metrics, "HOST:PORT" (path /metrics)."""
        return f"{self._network.reachable[2]}:{self._ports[2]}"

    @property
    def pid(self) -> int | None:
        """The process id of the server; None if it does not run."""
        return self._process.pid if self._process is not None else None

    @property
    def log_path(self) -> Path | None:
        """The file with the server's log; None before start(), and for a forwarded log."""
        return self._log_file

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
        self._process = self._control = None

    def restart(self) -> None:
        """End what is left of a server that ended by itself, and start it again at the same addresses.

        Raises:
            FileNotFoundError, RuntimeError: as start(); the server is then stopped.
        """
        self._fixed_ports = self._ports
        self.stop()
        self.start()

    def reload(self, model: str) -> None:
        """Unload a model and load it again, which replaces its processes; returns when it is ready.

        Requests in flight are answered, those that come meanwhile are refused.

        Raises:
            RuntimeError: the server does not run, has no such model, or was made with `watch` False.
        """
        if self._control is None or self._watcher is None:
            raise RuntimeError("only a server that runs, and watches its models, loads one again; use watch=True")
        with self._watcher.reloading():
            try:
                self._control.unload(model)
            finally:  # a busy server may unload it later than its answer is waited for
                self._control.load(model)

    def wait(self, hang_seconds: float | None = None) -> int:
        """Wait until the server ends without stop().

        Args:
            hang_seconds: a server that answers nothing for so long is killed; None waits for its own end.

        Returns:
            Its exit status; a signal is a negative number, as of `subprocess.Popen`.
        """
        process = self._process
        if process is None:
            raise RuntimeError("the server does not run; start it first")
        if hang_seconds is None:
            return process.wait()
        control, answered = ModelControl(self.http_url), time.monotonic()
        while (status := process.poll()) is None:
            with contextlib.suppress(ControlError):
                control.is_ready(self.models[0])  # whatever the answer is
                answered = time.monotonic()
            if time.monotonic() > answered + hang_seconds:
                process.kill()
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(_LOOK_SECONDS)
        return status

    def log_tail(self) -> str:
        """The last lines of the server's log, without tables and notes; empty for a forwarded log."""
        return "" if self._log_file is None else log.tail(self._log_file)

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
        self._ports = choose_ports(self._network.hosts, self._fixed_ports)  # before anything that takes time
        remove_abandoned()
        self._identity = f"tricodec_{os.getpid()}_{secrets.token_hex(4)}"
        folder = PrivateFolder(self._identity)
        private = folder.path
        self._cleanup.callback(folder.close)
        # It also runs when the interpreter ends without stop().
        self._finalizer = weakref.finalize(self, _close_in_owner, self._cleanup, os.getpid())

        backends = lay_out_backends(installation, private / "backends")
        environment = self._environment or create_environment(private / "environment")
        # The packages of a given environment are not known here; a model reports those that are missing.
        if self._own_repository and self._wanted is None and self._environment is None:
            line = "looking for packages that models need; the first time, operators of DALI are compiled"
            slow = threading.Timer(log.SILENT_SECONDS, self._report, [line])
            slow.start()
            try:
                self.left_out = lacking_models(self._repository)
            finally:
                slow.cancel()
        self.models = lay_out_models(
            self._repository, self._wanted, private / "models", environment, self._parameters, self.left_out,
            gpus=self._gpus,
        )  # fmt: skip
        self._log_file = None if self._forward_log else self._given_log_file or private / "server.log"
        key = ControlKey()
        arguments = [
            str(installation.binary),
            f"--model-repository={private / 'models'}",
            f"--backend-directory={backends}",
            f"--backend-config=python,shm-region-prefix-name={self._identity}_",
            f"--id={self._identity}",
            *self._network.arguments,
            f"--exit-timeout-secs={max(1, int(self._stop_timeout_seconds) - 1)}",
            f"--model-load-thread-count={max(_LEAST_LOADS, min(len(self.models), len(os.sched_getaffinity(0))))}",
            *(["--disable-auto-complete-config"] if self._own_repository else []),
            *(key.arguments if self._watch else []),
            *self._extra_args,
        ]
        variables = _server_variables(installation.libraries)
        deadline = time.monotonic() + self._ready_timeout_seconds
        for attempt in range(1, _START_ATTEMPTS + 1):
            if attempt > 1:
                self._ports = choose_ports(self._network.hosts, self._fixed_ports)
            self._launch(arguments, variables, folder.lock)
            problem = self._wait_until_ready(deadline)
            if problem is None:
                self._start_watch(key)
                return
            assert self._process is not None
            # Another process may have taken a free port before the server could bind it.
            lost_port = 0 in self._fixed_ports and "already in use" in self.log_tail()
            # Triton 24.10 may crash while several models register their metrics (boost's lock_exception).
            crashed = self._process.poll() in _CRASHES
            if not (lost_port or crashed) or attempt == _START_ATTEMPTS:
                break
            if crashed:
                _LOG.warning("%s; it is started again", problem)
            _end_process(self._process, self._stop_timeout_seconds)
        reasons = log.reasons(self._log_file, self._repository) if self._log_file is not None else []
        if reasons:
            raise RuntimeError("; ".join(reasons))
        if self._log_file is None:
            raise RuntimeError(f"{problem}; see its log")
        last = log.last_error(self._log_file)
        reason = f"; its last error is: {last}" if last else ""
        raise RuntimeError(f"{problem}{reason}\nThe end of its log:\n{self.log_tail()}")

    def _start_watch(self, key: ControlKey) -> None:
        if self._watch:
            assert self._process is not None
            self._control = ModelControl(self.http_url, key.headers)
            self._watcher = StubWatcher(self._process.pid, self._control, _LOG.warning)
            self._cleanup.callback(self._watcher.close)

    def _launch(self, arguments: Sequence[str], variables: Mapping[str, str], lock: int) -> None:
        ports = [f"--{name}-port={port}" for name, port in zip(INTERFACES, self._ports, strict=True)]
        # The kernel sends the signal when the starting thread ends, so only the main thread may request it.
        parent = os.getpid() if threading.current_thread() is threading.main_thread() else 0
        launcher = [sys.executable, "-I", str(_LAUNCHER), str(parent), str(self._stop_timeout_seconds)]
        with contextlib.ExitStack() as stack:
            shown, handed_over, descriptors = stack.enter_context(hidden([*arguments, *ports]))
            output = None if self._log_file is None else stack.enter_context(self._log_file.open("ab"))
            # A separate session: Ctrl-C does not reach the server, and one signal ends all of its processes.
            self._process = subprocess.Popen(
                [*launcher, *shown],
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT if output is not None else None,
                env={**variables, **handed_over},
                start_new_session=True,
                pass_fds=(lock, *descriptors),
            )
        self._cleanup.callback(_end_process, self._process, self._stop_timeout_seconds)

    def _wait_until_ready(self, deadline: float) -> str | None:
        """Waits until all models are ready; returns None, or the problem."""
        assert self._process is not None
        metrics_deadline = None
        progress = log.Progress(self.models, self._log_file, self._report)
        while time.monotonic() < deadline:
            progress.look()
            status = self._process.poll()
            if status is not None:
                return f"tritonserver ended with status {status} before it was ready"
            if self._is_ready():
                # Metrics start last, and a server continues without them if their port is taken.
                if "--allow-metrics=false" in self._extra_args or _get(self.metrics_url, "/metrics") is not None:
                    return None
                metrics_deadline = metrics_deadline or time.monotonic() + _METRICS_SECONDS
                if time.monotonic() > metrics_deadline:
                    return f"tritonserver gives no metrics on port {self._ports[2]}; is it in use?"
            time.sleep(0.05)
        waiting = progress.waiting
        of = f"; it waits for {', '.join(waiting)}" if waiting else ""
        return f"tritonserver was not ready after {self._ready_timeout_seconds:g} s{of}"

    def _is_ready(self) -> bool:
        """Whether our server is ready, and not another one on the same port."""
        about = _get(self.http_url, "/v2")
        ours = about is not None and self._identity.encode() in about
        return ours and _get(self.http_url, "/v2/health/ready") is not None


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


def _get(address: str, path: str) -> bytes | None:
    """The body of an answer with status 200, None for anything else."""
    connection = http.client.HTTPConnection(address, timeout=2)
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
    try:
        if process.poll() is None:
            process.send_signal(signal.SIGTERM)
            deadline = time.monotonic() + timeout_seconds
            no_stubs, patience = 0.0, _AFTER_STUBS_SECONDS if any(find_stubs(process.pid)) else _WITHOUT_STUBS_SECONDS
            while process.poll() is None and time.monotonic() < deadline:
                time.sleep(0.05)
                # A server that had a dead stub waits for it in vain: all models have ended when all stubs have.
                no_stubs = 0.0 if any(find_stubs(process.pid)) else no_stubs or time.monotonic()
                if no_stubs and time.monotonic() > no_stubs + patience:
                    break
    finally:  # also after a second Ctrl-C
        # The rest of the session: a server that did not end, or stubs of a server that crashed.
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()
