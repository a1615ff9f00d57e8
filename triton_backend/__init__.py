# SPDX-License-Identifier: Apache-2.0
"""The models that NVIDIA Triton's Python backend runs (docs/reference/triton.md).

A model's `1/model.py` imports its class from `models`. `runtime` is what they all run on. Bytes that clients send are
decoded in processes of a node: a crash or a hang there costs one request. In the stub it would cost the model.
"""
