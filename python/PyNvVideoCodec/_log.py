# SPDX-License-Identifier: Apache-2.0
"""The logger that programs know as ``nvc.logger``."""

from __future__ import annotations

import logging

logger = logging.getLogger("PyNvVideoCodec")
