# SPDX-License-Identifier: Apache-2.0
"""NVIDIA Triton Inference Server: `tricodec.triton.serve` runs one, and `tricodec.triton.client` sends requests."""
