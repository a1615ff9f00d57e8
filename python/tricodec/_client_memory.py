# SPDX-License-Identifier: Apache-2.0
"""Tensors from and to a Triton server on this machine through shared memory."""

from __future__ import annotations

import contextlib
import mmap
import os
import secrets
from pathlib import Path
from types import TracebackType
from typing import Any

import numpy as np

import tricodec

_DTYPES = {"UINT8": "uint8", "FP16": "float16", "BF16": "bfloat16", "FP32": "float32"}
_ITEM_BYTES = {"uint8": 1, "float16": 2, "bfloat16": 2, "float32": 4}
# After these the server may still be at work on the request and write into the region.
_UNFINISHED = (TimeoutError, ConnectionError, KeyboardInterrupt)


def numpy_dtype(name: str) -> np.dtype[Any]:
    """NumPy's dtype of a name, "bfloat16" among them.

    Raises:
        ImportError: for bfloat16 where ml_dtypes is not installed; the text says what to do.
        TypeError: for a name that is none.
    """
    if name != "bfloat16":
        return np.dtype(name)
    try:
        import ml_dtypes
    except ImportError as error:
        message = (
            "numpy has no bfloat16 of its own, and the package ml_dtypes, which adds it, is not installed: pip install "
            "ml_dtypes, or ask for float16 or float32"
        )
        raise ImportError(message) from error
    dtype: np.dtype[Any] = np.dtype(ml_dtypes.bfloat16)
    return dtype


def predict_size(
    data: bytes, transform_options: dict[str, Any], *, start: int, stride: int, count: int, stream_index: int
) -> int | None:
    """How many bytes the frames of an answer will take; the server needs to be told where to put them.

    Returns:
        None if it cannot be told: what is wrong with the video or the options is for the server to say.
    """
    try:
        transform = tricodec.Transform(**transform_options)
        with tricodec.FrameReader(data, device="cpu", stream_index=stream_index) as reader:
            num_frames = len(reader.select(start=start, stride=stride, count=count))
            shape = reader.output_shape(transform)
    except (tricodec.Error, ValueError, TypeError, IndexError):
        return None
    return num_frames * int(np.prod(shape)) * _ITEM_BYTES[transform.options["dtype"]] or None


class SharedOutput:
    """A region of shared memory that a server writes one output to, or reads one input from; a context manager, for one
    request.

    Attributes:
        name: of the region on the server.
    """

    def __init__(self, client: Any, size: int) -> None:
        """Makes a region and registers it with the server.

        Args:
            client: a tritonclient.grpc.InferenceServerClient.
            size: in bytes.

        Raises:
            OSError: if there is no room.
            tritonclient.utils.InferenceServerException: if the server cannot open it.
        """
        self.name = f"tricodec_client_{os.getpid()}_{secrets.token_hex(8)}"
        self._client = client
        self._path = Path("/dev/shm") / self.name
        file = os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
        try:
            os.posix_fallocate(file, 0, size)  # room now, rather than SIGBUS in the server later
            self._memory = mmap.mmap(file, size)
            client.register_system_shared_memory(self.name, f"/{self.name}", size)
        except BaseException:
            self._unlink()
            raise
        finally:
            os.close(file)

    def fill(self, array: Any) -> None:
        """Puts a C-contiguous array there, for the server to read."""
        self._memory[: array.nbytes] = memoryview(array).cast("B")

    def array(self, shape: tuple[int, ...], datatype: str) -> Any:
        """What the server wrote, without a copy: the array keeps the memory, also after the region is gone."""
        return np.ndarray(shape, numpy_dtype(_DTYPES[datatype]), self._memory)

    def __enter__(self) -> SharedOutput:
        """Returns the region itself."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        """Takes the region from the server and removes its name.

        After a request that may still run, the server keeps its mapping until it ends: unmapping memory that it writes
        to would take it down.
        """
        self._unlink()
        if kind is None or not issubclass(kind, _UNFINISHED):
            with contextlib.suppress(Exception):  # a server that is gone has nothing to give back
                self._client.unregister_system_shared_memory(self.name)

    def _unlink(self) -> None:
        self._path.unlink(missing_ok=True)


class CudaOutput:
    """Memory of a GPU that a server on this machine writes one output to; a context manager, for one request.

    Attributes:
        name: of the region on the server.
    """

    def __init__(self, client: Any, size: int, device: int) -> None:
        """Makes a region and registers it with the server.

        Args:
            client: a tritonclient.grpc.InferenceServerClient.
            size: in bytes.
            device: number of the GPU, here and on the server.

        Raises:
            ImportError: if tritonclient's CUDA part or what it needs, cuda-python, is not installed.
            tricodec.OutOfMemoryError: if the GPU has no room.
            tritonclient.utils.InferenceServerException: if the server cannot open it.
        """
        try:
            import tritonclient.utils.cuda_shared_memory as cuda_memory
        except ImportError as error:
            message = f"CUDA shared memory needs `pip install 'tritonclient[cuda]'`: {error}"
            raise ImportError(message) from error
        self.name = f"tricodec_client_{os.getpid()}_{secrets.token_hex(8)}"
        self._client = client
        self._memory = cuda_memory
        try:
            self._region = cuda_memory.create_shared_memory_region(self.name, size, device)
        except cuda_memory.CudaSharedMemoryException as error:
            message = f"cuda:{device} has no {size} bytes to share: {error}"
            raise tricodec.OutOfMemoryError(message) from error
        try:
            client.register_cuda_shared_memory(self.name, cuda_memory.get_raw_handle(self._region), device, size)
        except BaseException:
            cuda_memory.destroy_shared_memory_region(self._region)
            raise

    def array(self, shape: tuple[int, ...], datatype: str) -> tricodec.DeviceArray:
        """A copy of what the server wrote: the region goes with the request, and copies on a GPU cost little."""
        return tricodec.DeviceArray.copy_of(self._memory.as_shared_memory_tensor(self._region, datatype, list(shape)))

    def __enter__(self) -> CudaOutput:
        """Returns the region itself."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        """Takes the region from the server and frees it.

        After a request that may still run the memory is left: the server may write to it until it ends.
        """
        if kind is not None and issubclass(kind, _UNFINISHED):
            return
        with contextlib.suppress(Exception):  # a server that is gone has nothing to give back
            self._client.unregister_cuda_shared_memory(self.name)
        self._memory.destroy_shared_memory_region(self._region)
