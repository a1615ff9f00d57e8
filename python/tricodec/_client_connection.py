# SPDX-License-Identifier: Apache-2.0
"""A connection to a Triton server: one request and its answer, arrays in memory that both share."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from types import TracebackType
from typing import TYPE_CHECKING, Any, Literal

from tricodec._client_errors import translate
from tricodec._client_memory import SharedOutput
from tricodec._client_requests import input_tensor
from tricodec._client_triton import InferenceServerException, triton_grpc

if TYPE_CHECKING:
    from typing_extensions import Self

# Below this, a plain answer is as fast as one in shared memory.
SHARED_MEMORY_MIN_BYTES = 1 << 20


class Connection:
    """What every request of a client needs."""

    def __init__(
        self,
        url: str = "127.0.0.1:8001",
        *,
        model: str = "video_decode",
        timeout_seconds: float | None = None,
        shared_memory: bool | Literal["auto"] = "auto",
        cuda_device: int | None = None,
        **grpc_options: Any,
    ) -> None:
        """Connects lazily: nothing is sent before the first request.

        Args:
            url: host and port of the server's gRPC door.
            model: name of the model for decode_video() on the server.
            timeout_seconds: how long a request may take in all; None waits.
            shared_memory: frames come back through shared memory, which for large answers is many times faster than
                through gRPC: True demands it, "auto" uses it where the server is on this machine and can.
            cuda_device: frames come back in memory of this GPU, through CUDA shared memory: a server on this machine is
                needed, and tritonclient[cuda].
            **grpc_options: more arguments of tritonclient.grpc.InferenceServerClient: ssl, root_certificates, ...
        """
        if shared_memory not in (True, False, "auto"):
            raise ValueError(f"shared_memory is {shared_memory!r}; accepted: True, False, 'auto'")
        self._url = url
        self._model = model
        self._timeout_seconds = timeout_seconds
        self._grpc_options = grpc_options
        self._client = triton_grpc.InferenceServerClient(url, **grpc_options)
        self._shared_memory = shared_memory
        self._cuda_device = cuda_device
        self._try_shared_memory = shared_memory is True or (shared_memory == "auto" and _is_local(url))

    def is_ready(self) -> bool:
        """Whether the server answers and the model can be used."""
        try:
            return bool(self._client.is_server_ready() and self._client.is_model_ready(self._model))
        except InferenceServerException:
            return False

    def close(self) -> None:
        """Closes the connection."""
        self._client.close()

    def __enter__(self) -> Self:
        """Returns the client itself."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        """Closes the connection."""
        self.close()

    def _call(self, model: str, inputs: list[Any], outputs: list[Any]) -> Any:
        try:
            return self._client.infer(model, inputs, outputs=outputs, client_timeout=self._timeout_seconds)
        except InferenceServerException as error:
            raise translate(error, self._url) from error

    @contextlib.contextmanager
    def _array_input(self, name: str, array: Any, datatype: str) -> Iterator[Any]:
        """A tensor for an array; a large one is in shared memory, where the server can use ours."""
        large = self._try_shared_memory and array.nbytes >= SHARED_MEMORY_MIN_BYTES
        region = self._region(array.nbytes) if large else None
        if region is None:
            yield input_tensor(name, array, datatype)
            return
        with region:
            region.fill(array)
            tensor = triton_grpc.InferInput(name, list(array.shape), datatype)
            tensor.set_shared_memory(region.name, array.nbytes)
            yield tensor

    def _array_output(
        self, model: str, inputs: list[Any], output: str, most_bytes: int | None, others: Sequence[Any] = ()
    ) -> tuple[Any, Any]:
        """The bytes of an output of at most so many, uint8 [N], and the whole result."""
        requested = triton_grpc.InferRequestedOutput(output)
        size = most_bytes if most_bytes is not None and self._try_shared_memory else 0
        large = size >= SHARED_MEMORY_MIN_BYTES or (size > 0 and self._shared_memory is True)
        region = self._region(size) if large else None
        if region is not None:
            with region:
                requested.set_shared_memory(region.name, size)
                result = self._call(model, inputs, [requested, *others])
                shape = tuple(result.get_output(output).shape)[1:]
                return region.array(shape, "UINT8"), result
        result = self._call(model, inputs, [requested, *others])
        return result.as_numpy(output)[0], result

    def _region(self, size: int) -> SharedOutput | None:
        """Memory shared with the server, or None where it cannot use ours."""
        try:
            return SharedOutput(self._client, size)
        except (InferenceServerException, OSError) as error:
            if self._shared_memory is True:
                raise ConnectionError(f"{self._url} cannot use shared memory of this process: {error}") from error
            self._try_shared_memory = False  # another container or user: it will not be better next time
            return None


def _is_local(url: str) -> bool:
    host = url.rpartition(":")[0].strip("[]")
    return host in ("127.0.0.1", "localhost", "::1") or url.startswith("unix:")
