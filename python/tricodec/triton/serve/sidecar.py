# SPDX-License-Identifier: Apache-2.0
"""`tricodec serve --watch URL`: models of a tritonserver that another program started come back."""

from __future__ import annotations

import math
import re
import threading
from collections.abc import Collection, Mapping
from http import HTTPStatus
from typing import Any

from tricodec.triton.serve.control import ControlError, ModelControl
from tricodec.triton.serve.repository import installed_repository
from tricodec.triton.serve.watch import Reloader, Report

_INTERVAL_SECONDS = 0.5
_ANSWER_SECONDS = 3.0
PING = "tricodec_ping"
_PING_SEQUENCE = "tricodec-watch"
"""The parameter of a request that tricodec's models answer without looking at its inputs."""


def parse_address(url: str) -> str:
    """The "HOST:PORT" of a server's HTTP interface; the port is 8000 by default.

    Raises:
        ValueError: the URL is not one of HTTP.
    """
    found = re.fullmatch(r"(?:http://)?(\[[^]/]+\]|[^:/\[\]]+)(?::(\d+))?/?", url)
    if not found:
        raise ValueError(f"--watch {url!r}: expected the server's HTTP address, such as http://127.0.0.1:8000")
    return f"{found[1]}:{found[2] or 8000}"


class Sidecar:
    """Watches a server by requests, because its processes may be in another container or on another machine."""

    def __init__(
        self, address: str, headers: Mapping[str, str], models: Collection[str] | None, report: Report
    ) -> None:
        """Describe the watch; run() performs it.

        Args:
            address: "HOST:PORT" of the server's HTTP interface.
            headers: sent with each call, for a server that restricts some of them.
            models: names of the models; None is all of tricodec's. Other models get requests of zeros.
            report: takes a line for people about each event.
        """
        self._control = ModelControl(address, headers)
        self._models = models
        self._report = report
        self._ended = threading.Event()
        self._reloader = Reloader(self._control, report, self._ended)
        self._pings: dict[str, tuple[str, dict[str, Any]] | None] = {}

    def stop(self) -> None:
        """End run(); any thread may call this."""
        self._ended.set()

    def run(self) -> None:
        """Watch until stop().

        Raises:
            ControlError: the server does not let its models be loaded.
        """
        watched: list[str] = []
        is_absent = False
        while not self._ended.is_set():
            try:
                if not watched:
                    self._check_control()
                now = self._look()
            except ControlError as error:
                if self._control.is_live():
                    raise
                if not is_absent:
                    self._report(f"waiting for the server: {error}")
                is_absent, watched = True, []
                self._pings.clear()
            else:
                if now != watched:
                    self._report(f"watching {', '.join(now) or 'no model'} at {self._control.address}")
                is_absent, watched = False, now
            self._ended.wait(_INTERVAL_SECONDS)

    def _check_control(self) -> None:
        try:
            self._control.load("tricodec-watch-checks-model-control")
        except ControlError as error:
            if error.status == HTTPStatus.SERVICE_UNAVAILABLE:  # a model that there is not is another status
                raise ControlError(
                    f"{self._control.address} does not let its models be loaded; start it with "
                    "--model-control-mode=explicit --load-model=*"
                ) from error
            if error.status == HTTPStatus.FORBIDDEN:
                raise ControlError(f"{error}; give the header in a file with --header @FILE", error.status) from error

    def _look(self) -> list[str]:
        """Pings the models, reloads those that are dead; returns those that are watched."""
        watched = []
        for model, state in sorted(self._control.states().items()):
            if state != "READY" or (ping := self._ping_of(model)) is None:
                continue
            watched.append(model)
            if not self._is_alive(model, *ping):
                self._reloader.reload(model, "its process is dead")
        return watched

    def _ping_of(self, model: str) -> tuple[str, dict[str, Any]] | None:
        if model not in self._pings:
            config = self._control.config(model)
            wanted = _is_ours(model, config) if self._models is None else model in self._models
            self._pings[model] = ping_request(model, config) if wanted else None
        return self._pings[model]

    def _is_alive(self, model: str, path: str, body: Mapping[str, Any]) -> bool:
        try:
            if not self._control.is_ready(model):  # Triton from 25.12 on reports a dead stub itself
                return self._control.states().get(model) != "READY"
            return "is not healthy" not in self._control.request(path, body, _ANSWER_SECONDS)[1]
        except ControlError:
            return True  # it is busy, or the server is gone, which the next look shows


def _is_ours(model: str, config: Mapping[str, Any]) -> bool:
    if config.get("backend") != "python":
        return False
    return "isolation" in config.get("parameters", {}) or (installed_repository() / model).is_dir()


def ping_request(model: str, config: Mapping[str, Any]) -> tuple[str, dict[str, Any]]:
    """The path and the body of the smallest request that reaches a model."""
    # Triton refuses a request without any input.
    required = [tensor for tensor in config["input"] if not tensor.get("optional")] or config["input"][:1]
    if config.get("model_transaction_policy", {}).get("decoupled"):
        values = {tensor["name"]: _zero(tensor["data_type"]) for tensor in required}
        return f"/v2/models/{model}/generate_stream", {**values, PING: True}
    batch = [1] if config.get("max_batch_size", 0) > 0 else []
    inputs = []
    for tensor in required:
        shape = batch + [max(1, int(extent)) for extent in tensor["dims"]]
        datatype = tensor["data_type"].removeprefix("TYPE_").replace("STRING", "BYTES")
        data = [_zero(tensor["data_type"])] * math.prod(shape)
        inputs.append({"name": tensor["name"], "datatype": datatype, "shape": shape, "data": data})
    parameters: dict[str, Any] = {PING: True}
    if "sequence_batching" in config:
        parameters |= {"sequence_id": _PING_SEQUENCE, "sequence_start": True, "sequence_end": True}
    return f"/v2/models/{model}/infer", {"inputs": inputs, "parameters": parameters}


def _zero(data_type: str) -> Any:
    return {"TYPE_STRING": "", "TYPE_BOOL": False}.get(data_type, 0)
