# SPDX-License-Identifier: Apache-2.0
"""Memory that a client shares with a Triton server on the same machine, on the host or on a GPU."""

from __future__ import annotations

import mmap
import os
import secrets
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
import tritonclient.grpc as triton_grpc

from tricodec._tricodec import DeviceArray, FrameReader
from tricodec.errors import Error, OutOfMemoryError
from tricodec.options import request_of

if TYPE_CHECKING:
    from typing_extensions import Self

_DTYPES = {"UINT8": "uint8", "FP16": "float16", "BF16": "bfloat16", "FP32": "float32"}
_ITEM_BYTES = {"uint8": 1, "float16": 2, "bfloat16": 2, "float32": 4}
_IN_USE_SECONDS = 1.0
E = TypeVar("E", bound=Exception)


def unanswered(error: E) -> E:
    """Marks the error of a request that the server may still work on, and write the answer of into a region."""
    error.is_unanswered = True  # type: ignore[attr-defined]
    return error


def may_still_run(error: BaseException | None) -> bool:
    if error is None:
        return False
    return not isinstance(error, Exception) or getattr(error, "is_unanswered", False)


def item_bytes(datatype: str) -> int:
    """The size of an element of frames, by Triton's name of its type."""
    return _ITEM_BYTES[_DTYPES[datatype]]


def element_dtype(datatype: str) -> np.dtype[Any]:
    """NumPy's dtype of frames, by Triton's name of their type. Raises as numpy_dtype()."""
    return numpy_dtype(_DTYPES[datatype])


def numpy_dtype(name: str) -> np.dtype[Any]:
    """NumPy's dtype by name, with ml_dtypes also "bfloat16".

    Raises:
        ImportError: bfloat16 needs ml_dtypes, which is not installed.
        TypeError: the name is no dtype.
    """
    if name != "bfloat16":
        return np.dtype(name)
    try:
        import ml_dtypes
    except ImportError as error:
        message = (
            "numpy has no bfloat16, and the package ml_dtypes, which adds it, is not installed; pip install ml_dtypes, "
            "or request float16 or float32"
        )
        raise ImportError(message) from error
    dtype: np.dtype[Any] = np.dtype(ml_dtypes.bfloat16)
    return dtype


def predict_size(data: bytes, options: dict[str, Any], *, stream_index: int) -> int | None:
    """The number of bytes of an answer's frames; the size of the memory in which the server will put them.

    Returns:
        None for a video or for options that the server will refuse.
    """
    try:
        selection, transform = request_of("decode_video", options)
        with FrameReader(data, device="cpu", stream_index=stream_index) as reader:
            num_frames = len(reader.select(**selection))
            shape = reader.output_shape(transform)
    except (Error, ValueError, TypeError, IndexError):
        return None
    return num_frames * int(np.prod(shape)) * _ITEM_BYTES[transform.options["dtype"]] or None


class _SharedInput(triton_grpc.InferInput):  # type: ignore[misc]  # tritonclient has no type hints
    """A tensor in a region, with its array for the case that the server loses the region."""

    def __init__(self, name: str, array: Any, datatype: str, region: str) -> None:
        super().__init__(name, list(array.shape), datatype)
        self._array = array
        self.set_shared_memory(region, array.nbytes)

    def leave(self) -> None:
        """Puts the array into the request."""
        self.set_data_from_numpy(self._array)


class _SharedRequest(triton_grpc.InferRequestedOutput):  # type: ignore[misc]
    """A request for an output in a region.

    Attributes:
        left: the output comes in the answer after all.
    """

    def __init__(self, name: str, region: str, size: int) -> None:
        super().__init__(name)
        self.left = False
        self.set_shared_memory(region, size)

    def leave(self) -> None:
        """Asks for the output in the answer."""
        self.unset_shared_memory()
        self.left = True


def leave_shared_memory(tensors: Iterable[Any]) -> None:
    """Makes the inputs and outputs of a request travel in its messages."""
    for tensor in tensors:
        if isinstance(tensor, (_SharedInput, _SharedRequest)):
            tensor.leave()


class _Region(ABC):
    """Memory that a server writes an output to.

    Attributes:
        name: the region's name on the server.
        size: size in bytes.
    """

    def __init__(self, client: Any, size: int) -> None:
        """Choose a name."""
        self.name, self.size = f"tricodec_client_{os.getpid()}_{secrets.token_hex(8)}", size
        self._client = client

    @abstractmethod
    def array(self, shape: tuple[int, ...], datatype: str) -> Any:
        """The data that the server wrote."""

    def request(self, output: str) -> _SharedRequest:
        """A request for an output in this region."""
        return _SharedRequest(output, self.name, self.size)

    def output(self, result: Any, output: str) -> Any:
        """The output of a result, without its batch axis."""
        described = result.get_output(output)
        return self.array(tuple(described.shape)[1:], described.datatype)

    def __enter__(self) -> Self:
        """Return the region."""
        return self


class SharedOutput(_Region):
    """A region of shared memory for one output or one input of one request; a context manager."""

    def __init__(self, client: Any, size: int) -> None:
        """Create a region and register it with the server.

        Args:
            client: a tritonclient.grpc.InferenceServerClient.
            size: size of the region in bytes.

        Raises:
            OSError: /dev/shm has no room.
            tritonclient.utils.InferenceServerException: the server cannot open the region.
        """
        super().__init__(client, size)
        self._path = Path("/dev/shm") / self.name
        file = os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
        try:
            os.posix_fallocate(file, 0, size)  # reserves the memory now; else the server could end by SIGBUS
            self.memory = mmap.mmap(file, size)
            client.register_system_shared_memory(self.name, f"/{self.name}", size)
        except BaseException:
            self._unlink()
            raise
        finally:
            os.close(file)

    def forget_name(self) -> None:
        """Removes the name of the region before its end: server and client have mapped it."""
        self._unlink()

    def input(self, name: str, array: Any, datatype: str) -> Any:
        """A tensor of a request with the data of a C-contiguous array, which are copied into the region."""
        self.memory[: array.nbytes] = memoryview(array).cast("B")
        return _SharedInput(name, array, datatype, self.name)

    def array(self, shape: tuple[int, ...], datatype: str) -> Any:
        """The data that the server wrote, without a copy. The array keeps the memory alive."""
        return np.ndarray(shape, element_dtype(datatype), self.memory)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        """Unregister the region and remove its name.

        If the request may still run, the server keeps its mapping: it would crash on writing to unmapped memory.
        """
        self._unlink()
        if not may_still_run(error):
            _unregister(self._client.unregister_system_shared_memory, self.name)

    def _unlink(self) -> None:
        self._path.unlink(missing_ok=True)


def _unregister(unregister: Callable[[str], object], name: str) -> None:
    """Ends the server's mapping of a region. Triton refuses this for a moment after the answer that used the region."""
    deadline = time.monotonic() + _IN_USE_SECONDS
    while time.monotonic() < deadline:
        try:
            unregister(name)
        except Exception as error:
            if "in use" not in str(error):
                return
            time.sleep(0.005)
        else:
            return


class CudaOutput(_Region):
    """GPU memory for one output of one request to a server on this machine; a context manager."""

    def __init__(self, client: Any, size: int, device: int) -> None:
        """Create a region and register it with the server.

        Args:
            client: a tritonclient.grpc.InferenceServerClient.
            size: size of the region in bytes.
            device: number of the GPU, here and on the server.

        Raises:
            ImportError: tritonclient's CUDA part or cuda-python is not installed.
            tricodec.OutOfMemoryError: the GPU has no room.
            tritonclient.utils.InferenceServerException: the server cannot open the region.
        """
        try:
            import tritonclient.utils.cuda_shared_memory as cuda_memory
        except ImportError as error:
            message = f"CUDA shared memory needs `pip install 'tritonclient[cuda]'`: {error}"
            raise ImportError(message) from error
        super().__init__(client, size)
        self._memory = cuda_memory
        try:
            self._region = cuda_memory.create_shared_memory_region(self.name, size, device)
        except cuda_memory.CudaSharedMemoryException as error:
            message = f"cuda:{device} has no {size} bytes to share: {error}"
            raise OutOfMemoryError(message) from error
        try:
            client.register_cuda_shared_memory(self.name, cuda_memory.get_raw_handle(self._region), device, size)
        except BaseException:
            cuda_memory.destroy_shared_memory_region(self._region)
            raise

    def array(self, shape: tuple[int, ...], datatype: str) -> DeviceArray:
        """A copy of the data that the server wrote; the region itself ends with the request."""
        return DeviceArray.copy_of(self._memory.as_shared_memory_tensor(self._region, datatype, list(shape)))

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        """Unregister the region and free it; leave it if the request may still run and write to it."""
        if may_still_run(error):
            return
        _unregister(self._client.unregister_cuda_shared_memory, self.name)
        self._memory.destroy_shared_memory_region(self._region)
