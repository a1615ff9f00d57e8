# SPDX-License-Identifier: Apache-2.0
"""decord.base: decord's exceptions."""

from __future__ import annotations

__all__ = ["ALL", "DECORDError", "DECORDLimitReachedError"]

ALL = "__ALL__"


class DECORDError(Exception):
    """A file or a request that cannot be read."""


class DECORDLimitReachedError(Exception):
    """More damaged frames than `fault_tol` allows."""


for _class in (DECORDError, DECORDLimitReachedError):
    _class.__module__ = "tricodec_compat.decord"
