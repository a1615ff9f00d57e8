# SPDX-License-Identifier: Apache-2.0
"""A CUDA event for programs that wait for a frame by one: the driver's calls, by ctypes."""

from __future__ import annotations

import ctypes
import functools
from typing import Any

import tricodec

_NO_TIMING = 2


@functools.cache
def _primary_context(gpu: int) -> tuple[Any, ctypes.c_void_p]:
    """The driver's library and the primary context of a GPU, which is kept: frames are in it already."""
    driver, device, context = ctypes.CDLL("libcuda.so.1"), ctypes.c_int(), ctypes.c_void_p()
    _check(driver.cuDeviceGet(ctypes.byref(device), gpu))
    _check(driver.cuDevicePrimaryCtxRetain(ctypes.byref(context), device))
    return driver, context


def _check(result: int) -> None:
    if result != 0:
        message = f"the CUDA driver made no event for the frame: error {result}"
        raise tricodec.DeviceError(message)


class CompletedEvent:
    """An event that has happened: streams that wait for it continue at once.

    Args:
        gpu: number of the GPU.
    """

    def __init__(self, gpu: int) -> None:
        self._driver, context = _primary_context(gpu)
        event = ctypes.c_void_p()
        _check(self._driver.cuCtxPushCurrent_v2(context))
        try:
            _check(self._driver.cuEventCreate(ctypes.byref(event), _NO_TIMING))
        finally:
            self._driver.cuCtxPopCurrent_v2(ctypes.byref(ctypes.c_void_p()))
        self.handle = int(event.value or 0)

    def __del__(self) -> None:
        if getattr(self, "handle", 0):
            self._driver.cuEventDestroy_v2(ctypes.c_void_p(self.handle))
