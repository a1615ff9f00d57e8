# SPDX-License-Identifier: Apache-2.0
"""The model is part of the installed package; see docs/reference/triton.md."""

from tricodec.triton_backend.models.text_detector import DetectorModel as TritonPythonModel  # noqa: F401
