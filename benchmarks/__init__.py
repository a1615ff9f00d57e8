# SPDX-License-Identifier: Apache-2.0
"""Suites that compare tricodec with its peers: cases over tricodec.bench, which measures (docs/benchmarks.md)."""
