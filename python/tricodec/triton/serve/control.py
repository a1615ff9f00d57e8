# SPDX-License-Identifier: Apache-2.0
"""The model control of a running server: which models it has, and to load one again."""

from __future__ import annotations

import http.client
import json
import secrets
from collections.abc import Mapping
from typing import Any
from urllib.parse import quote

_ANSWER_SECONDS = 5.0
_LOAD_SECONDS = 120.0
_HEADER = "tricodec-key"


class ControlKey:
    """What a caller must send to list, load and unload models: a client that may load models can bring its own code."""

    def __init__(self) -> None:
        """Choose a random key."""
        self._key = secrets.token_hex(16)

    @property
    def headers(self) -> dict[str, str]:
        """Headers of a call by HTTP."""
        return {_HEADER: self._key}

    @property
    def arguments(self) -> list[str]:
        """Options of a tritonserver that loads all models at its start, and obeys the holder of the key only."""
        return [
            "--model-control-mode=explicit",
            "--load-model=*",
            f"--http-restricted-api=model-repository:{_HEADER}={self._key}",
            f"--grpc-restricted-protocol=model-repository:{_HEADER}={self._key}",
        ]


class ControlError(RuntimeError):
    """The server refuses a call, or does not answer it.

    Attributes:
        status: of its answer in HTTP; None without an answer.
    """

    def __init__(self, text: str, status: int | None = None) -> None:
        super().__init__(text)
        self.status = status


class ModelControl:
    """Calls of Triton's HTTP interface. Thread safety: safe, each call has a connection of its own."""

    def __init__(self, address: str, headers: Mapping[str, str] | None = None) -> None:
        """Describe a server.

        Args:
            address: "HOST:PORT" of its HTTP interface.
            headers: sent with each call, for servers that restrict some of them.
        """
        self.address = address
        self._headers = dict(headers or {})

    def is_live(self) -> bool:
        """Whether the server answers at all."""
        try:
            return self._ask("GET", "/v2/health/live")[0] == 200
        except ControlError:
            return False

    def is_ready(self, model: str) -> bool:
        """Whether the server reports a model as ready."""
        return self._ask("GET", f"/v2/models/{quote(model)}/ready")[0] == 200

    def states(self) -> dict[str, str]:
        """The state of each model of the repository: READY, LOADING, UNLOADING, UNAVAILABLE, or "" if never loaded.

        Raises:
            ControlError: the server does not answer, or restricts this call.
        """
        states: dict[str, str] = {}
        for entry in self._json("POST", "/v2/repository/index"):
            if states.get(entry["name"]) != "READY":  # of several versions one is enough
                states[entry["name"]] = entry.get("state", "")
        return states

    def config(self, model: str) -> dict[str, Any]:
        """The configuration of a loaded model.

        Raises:
            ControlError: the model is not loaded, or the server does not answer.
        """
        config: dict[str, Any] = self._json("GET", f"/v2/models/{quote(model)}/config")
        return config

    def unload(self, model: str) -> None:
        """Take a model out of service; the server returns at once.

        Raises:
            ControlError: the server does not control models explicitly, restricts this call, or does not answer.
        """
        self._json("POST", f"/v2/repository/models/{quote(model)}/unload", "{}")

    def load(self, model: str) -> None:
        """Load a model and wait until it is ready.

        Raises:
            ControlError: the model does not load, or as unload().
        """
        self._json("POST", f"/v2/repository/models/{quote(model)}/load", "{}", _LOAD_SECONDS)

    def request(self, path: str, body: Mapping[str, Any], timeout_seconds: float) -> tuple[int, str]:
        """The status and the body of the answer to any request.

        Raises:
            ControlError: no answer comes in time.
        """
        return self._ask("POST", path, json.dumps(body), timeout_seconds)

    def _json(self, method: str, path: str, body: str | None = None, timeout_seconds: float = _ANSWER_SECONDS) -> Any:
        status, text = self._ask(method, path, body, timeout_seconds)
        if status != 200:
            raise ControlError(f"{self.address}{path}: {_message(text) or f'status {status}'}", status)
        return json.loads(text) if text else None

    def _ask(
        self, method: str, path: str, body: str | None = None, timeout_seconds: float = _ANSWER_SECONDS
    ) -> tuple[int, str]:
        connection = http.client.HTTPConnection(self.address, timeout=timeout_seconds)
        try:
            connection.request(method, path, body, self._headers)
            response = connection.getresponse()
            return response.status, response.read().decode(errors="replace")
        except (OSError, http.client.HTTPException) as error:
            raise ControlError(f"{self.address}{path}: {error or type(error).__name__}") from error
        finally:
            connection.close()


def _message(text: str) -> str:
    try:
        return " ".join(str(json.loads(text)["error"]).split())
    except (ValueError, KeyError, TypeError):
        return " ".join(text.split())
