# SPDX-License-Identifier: Apache-2.0
"""The model is part of the installed package, and runs the pipeline in dali.py; see docs/howto/triton_ensembles.md."""

from tricodec.triton_backend.models.dali_pipeline import PipelineModel as TritonPythonModel  # noqa: F401
