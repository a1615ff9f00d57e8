# SPDX-License-Identifier: Apache-2.0
"""Requests to a Triton server beside the same work without one."""
