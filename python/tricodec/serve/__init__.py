# SPDX-License-Identifier: Apache-2.0
"""Serving tricodec's models with NVIDIA Triton Inference Server (docs/reference/triton.md)."""

from __future__ import annotations

from tricodec._public import public_names
from tricodec.serve.command import main
from tricodec.serve.locate import Installation, find_tritonserver
from tricodec.serve.server import Server

__all__ = ["Installation", "Server", "find_tritonserver", "main"]
__dir__ = public_names(globals())
