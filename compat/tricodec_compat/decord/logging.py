# SPDX-License-Identifier: Apache-2.0
"""decord.logging: how much FFmpeg logs."""

from __future__ import annotations

from tricodec.io.ffmpeg_utils import set_log_level

__all__ = [
    "CRITICAL", "DEBUG", "ERROR", "FATAL", "INFO", "PANIC", "QUIET", "TRACE", "VERBOSE", "WARNING", "set_level",
]  # fmt: skip

QUIET = -8
PANIC = 0
FATAL = 8
CRITICAL = FATAL
ERROR = 16
WARNING = 24
INFO = 32
VERBOSE = 40
DEBUG = 48
TRACE = 56


def set_level(lvl: int = ERROR) -> None:
    """Show FFmpeg's messages up to this level. tricodec reports errors of files by exceptions at every level."""
    set_log_level(lvl)
