# SPDX-License-Identifier: Apache-2.0
"""Triton's client library, or what to do where it is missing."""

from __future__ import annotations

try:
    import tritonclient.grpc as triton_grpc
    from tritonclient.utils import InferenceServerException, np_to_triton_dtype
except ImportError as _error:
    raise ImportError(
        f"tricodec.client needs Triton's client library ({_error}); install it with `pip install 'tritonclient[grpc]'`"
    ) from _error

__all__ = ["InferenceServerException", "np_to_triton_dtype", "triton_grpc"]
