# SPDX-License-Identifier: Apache-2.0
"""The model is part of the installed package; see docs/reference/triton.md."""

from tricodec.triton_backend.models.video_session import SessionModel as TritonPythonModel  # noqa: F401
