# SPDX-License-Identifier: Apache-2.0
"""Decoding and Transform on a CPU against their peers."""
