# SPDX-License-Identifier: Apache-2.0
"""The model is part of the installed package; see docs/reference/triton_models.md."""

from tricodec.triton_backend.models.video_decode import StreamModel as TritonPythonModel  # noqa: F401
