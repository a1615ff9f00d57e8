# SPDX-License-Identifier: Apache-2.0
"""The logger "tricodec", which receives the messages of the core."""

from __future__ import annotations

import logging
import os

_LEVELS = {
    "debug": logging.DEBUG,
    "info": logging.INFO,
    "warning": logging.WARNING,
    "error": logging.ERROR,
    "off": logging.CRITICAL + 1,
}


def configure() -> None:
    """Apply TRICODEC_LOG. Without this variable the logger stays unchanged."""
    level = _LEVELS.get(os.environ.get("TRICODEC_LOG", ""))
    if level is None:
        return
    logger = logging.getLogger("tricodec")
    logger.setLevel(level)
    # Python's handler of last resort prints warnings only, but the variable may request more.
    if not logger.handlers and not logging.getLogger().handlers:
        handler = logging.StreamHandler()
        handler.setFormatter(logging.Formatter("tricodec %(levelname)s: %(message)s"))
        logger.addHandler(handler)
