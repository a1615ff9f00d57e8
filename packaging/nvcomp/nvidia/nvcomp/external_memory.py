# SPDX-License-Identifier: Apache-2.0
"""ExternalMemory, under the name of its module in NVIDIA's package."""

from tricodec.nvcomp import ExternalMemory  # noqa: F401
