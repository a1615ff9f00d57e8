# SPDX-License-Identifier: Apache-2.0
"""Lossless compression against the C libraries, Python packages and NVIDIA's nvCOMP."""
