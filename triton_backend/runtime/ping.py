# SPDX-License-Identifier: Apache-2.0
"""Requests that only ask whether the process of a model is alive (`tricodec serve --watch`)."""

from __future__ import annotations

from typing import Any

_PARAMETER = '"tricodec_ping"'


def is_ping(request: Any) -> bool:
    """Whether a request has the parameter that says so; its inputs and outputs then mean nothing."""
    return _PARAMETER in request.parameters()
