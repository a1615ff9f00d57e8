# SPDX-License-Identifier: Apache-2.0
"""Suites that compare tricodec with its peers; tricodec.measure.bench measures them (docs/benchmarks.md)."""
