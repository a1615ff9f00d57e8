# SPDX-License-Identifier: Apache-2.0
"""The model is part of the installed package; see docs/howto/triton_ensembles.md."""

from tricodec.triton_backend.models.frame_histograms import TritonPythonModel

__all__ = ["TritonPythonModel"]
