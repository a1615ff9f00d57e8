# SPDX-License-Identifier: Apache-2.0
"""The logger "tricodec", which the core's messages go to."""

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
    """Apply TRICODEC_LOG, as the core does where there is no Python. Without it the logger is left alone."""
    level = _LEVELS.get(os.environ.get("TRICODEC_LOG", ""))
    if level is None:
        return
    logger = logging.getLogger("tricodec")
    logger.setLevel(level)
    # Python's handler of last resort prints warnings only; who asks for more wants to see it.
    if not logger.handlers and not logging.getLogger().handlers:
        handler = logging.StreamHandler()
        handler.setFormatter(logging.Formatter("tricodec %(levelname)s: %(message)s"))
        logger.addHandler(handler)
