# SPDX-License-Identifier: Apache-2.0
"""What torchcodec lets a program choose and ask about decoding on a GPU."""

from __future__ import annotations

import contextlib
import contextvars
import dataclasses
from collections.abc import Iterator

_backend: contextvars.ContextVar[str] = contextvars.ContextVar("cuda_backend", default="nvdec")
_capacity = 20


@contextlib.contextmanager
def set_cuda_backend(backend: str) -> Iterator[None]:
    """A context in which new decoders on a GPU have this backend. There is one engine here: both names mean NVDEC.

    Args:
        backend: "nvdec" (also "beta") or "ffmpeg", in any case.

    Raises:
        ValueError: for another name, on entering.
    """
    name = backend.lower()
    if name not in ("nvdec", "beta", "ffmpeg"):
        raise ValueError(f"Invalid CUDA backend ({backend}). Supported values are 'nvdec' and 'ffmpeg'.")
    token = _backend.set("ffmpeg" if name == "ffmpeg" else "nvdec")
    try:
        yield
    finally:
        _backend.reset(token)


def cuda_backend() -> str:
    """The backend of this context."""
    return _backend.get()


def set_nvdec_cache_capacity(capacity: int) -> None:
    """Remember how many decoders a GPU may keep. tricodec keeps them by its own rules.

    Raises:
        RuntimeError: for a negative number.
    """
    global _capacity  # noqa: PLW0603
    if capacity < 0:
        raise RuntimeError(f"the capacity {capacity} must be non-negative")
    _capacity = int(capacity)


def get_nvdec_cache_capacity() -> int:
    """The last capacity that was set; 20 before."""
    return _capacity


@dataclasses.dataclass
class CpuFallbackStatus:
    """Whether the CPU decodes in place of the GPU that was asked for.

    Attributes:
        status_known: always True here: a decoder is chosen when it is made.
    """

    status_known: bool = False
    _backend: str = dataclasses.field(default="", init=False)
    _reason: str = dataclasses.field(default="", init=False)

    def __bool__(self) -> bool:
        return self.status_known and bool(self._reason)

    def __str__(self) -> str:
        if not self.status_known:
            return f"[{self._backend}] Fallback status: Unknown"
        words = f"Falling back due to: {self._reason}" if self._reason else "No fallback required"
        return f"[{self._backend}] Fallback status: {words}"


def fallback_of(device: str, engine_device: str) -> CpuFallbackStatus:
    """The status of a decoder for `device` that decodes on `engine_device`."""
    status = CpuFallbackStatus(status_known=True)
    status._backend = {"nvdec": "CUDA", "ffmpeg": "FFmpeg CUDA"}[cuda_backend()] if device != "cpu" else "CPU"
    if device != "cpu" and engine_device == "cpu":
        status._reason = "Video not supported"
    return status


for _class in (CpuFallbackStatus,):
    _class.__module__ = "tricodec_compat.torchcodec.decoders"
