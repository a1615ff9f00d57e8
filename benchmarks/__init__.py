# SPDX-License-Identifier: Apache-2.0
"""Measurements of tricodec and of what a user could pick instead (docs/reference/benchmarks.md)."""
