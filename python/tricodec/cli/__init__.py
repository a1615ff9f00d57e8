# SPDX-License-Identifier: Apache-2.0
"""The `tricodec` command."""

from __future__ import annotations

from tricodec.cli.command import main

__all__ = ["main"]
