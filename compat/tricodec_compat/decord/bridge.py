# SPDX-License-Identifier: Apache-2.0
"""decord.bridge: of which library the arrays of readers are. Each thread has its own choice and starts as "native"."""

from __future__ import annotations

import contextlib
import importlib
import threading
from collections.abc import Callable, Iterator
from typing import Any

from tricodec_compat.decord.ndarray import NDArray, from_dlpack

__all__ = [
    "bridge_in", "bridge_out", "from_jax", "from_mxnet", "from_tensorflow", "from_torch", "from_tvm", "reset_bridge",
    "set_bridge", "to_jax", "to_mxnet", "to_numpy", "to_tensorflow", "to_torch", "to_tvm", "use_jax", "use_mxnet",
    "use_numpy", "use_tensorflow", "use_torch", "use_tvm",
]  # fmt: skip


def _library(module: str, package: str) -> Any:
    try:
        return importlib.import_module(module)
    except ImportError as error:
        raise ImportError(f"the bridge needs {package}: pip install {package}") from error


def to_torch(decord_arr: NDArray) -> Any:
    """The array as a tensor of torch, over the same memory."""
    torch = _library("torch", "torch")
    data = decord_arr._data
    return torch.from_numpy(data) if hasattr(data, "ctypes") else torch.from_dlpack(data)


def to_mxnet(decord_arr: NDArray) -> Any:
    """The array as MXNet's."""
    return _library("mxnet", "mxnet").nd.from_dlpack(decord_arr.to_dlpack())


def to_tensorflow(decord_arr: NDArray) -> Any:
    """The array as a tensor of TensorFlow."""
    return _library("tensorflow", "tensorflow").experimental.dlpack.from_dlpack(decord_arr.to_dlpack())


def to_tvm(decord_arr: NDArray) -> Any:
    """The array as TVM's."""
    return _library("tvm", "apache-tvm").nd.from_dlpack(decord_arr.to_dlpack())


def to_jax(decord_arr: NDArray) -> Any:
    """The array as JAX's."""
    return _library("jax", "jax").dlpack.from_dlpack(decord_arr)


def to_numpy(decord_arr: NDArray) -> Any:
    """The array as numpy's."""
    return decord_arr.asnumpy()


def from_torch(tensor: Any) -> NDArray:
    """A tensor of torch as NDArray, over the same memory."""
    return from_dlpack(tensor)


from_mxnet = from_tensorflow = from_tvm = from_jax = from_torch

_BRIDGES: dict[str, Callable[[Any], Any]] = {
    "native": lambda array: array,
    "torch": to_torch,
    "mxnet": to_mxnet,
    "tensorflow": to_tensorflow,
    "tvm": to_tvm,
    "numpy": to_numpy,
    "jax": to_jax,
}
_of_thread = threading.local()


def _current() -> str:
    return getattr(_of_thread, "bridge", "native")


def set_bridge(new_bridge: str) -> None:
    """Choose the library for this thread.

    Args:
        new_bridge: "native" (NDArray), "torch", "mxnet", "tensorflow" or "tvm"; here "numpy" and "jax" too.

    Raises:
        AssertionError: for another name.
    """
    assert isinstance(new_bridge, str), f"New bridge type must be str. Choices: {', '.join(_BRIDGES)}"
    assert new_bridge in _BRIDGES, f"valid bridges: {', '.join(_BRIDGES)}"
    _of_thread.bridge = new_bridge


def reset_bridge() -> None:
    """Choose "native" for this thread."""
    _of_thread.bridge = "native"


def bridge_out(native_arr: NDArray) -> Any:
    """The array in the library of this thread."""
    return _BRIDGES[_current()](native_arr)


def bridge_in(arr: Any) -> NDArray:
    """An array of this thread's library as NDArray."""
    return arr if isinstance(arr, NDArray) else from_dlpack(arr)


@contextlib.contextmanager
def _use(name: str) -> Iterator[None]:
    before = _current()
    set_bridge(name)
    try:
        yield
    finally:
        set_bridge(before)


def use_torch() -> contextlib.AbstractContextManager[None]:
    """A context with torch's tensors."""
    return _use("torch")


def use_mxnet() -> contextlib.AbstractContextManager[None]:
    """A context with MXNet's arrays."""
    return _use("mxnet")


def use_tensorflow() -> contextlib.AbstractContextManager[None]:
    """A context with TensorFlow's tensors."""
    return _use("tensorflow")


def use_tvm() -> contextlib.AbstractContextManager[None]:
    """A context with TVM's arrays."""
    return _use("tvm")


def use_numpy() -> contextlib.AbstractContextManager[None]:
    """A context with numpy's arrays."""
    return _use("numpy")


def use_jax() -> contextlib.AbstractContextManager[None]:
    """A context with JAX's arrays."""
    return _use("jax")
