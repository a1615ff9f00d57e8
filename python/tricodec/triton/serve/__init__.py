# SPDX-License-Identifier: Apache-2.0
"""Serving tricodec's models with NVIDIA Triton Inference Server (docs/reference/triton.md)."""

from tricodec.triton.serve.locate import Installation, find_tritonserver
from tricodec.triton.serve.server import Server

__all__ = ["Installation", "Server", "find_tritonserver"]
