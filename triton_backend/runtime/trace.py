# SPDX-License-Identifier: Apache-2.0
"""The OpenTelemetry trace of a request, if Triton records one (--trace-config=mode=opentelemetry)."""

from __future__ import annotations

import json
from typing import Any


def trace_id(request: Any) -> str | None:
    """The id of the trace that a request belongs to, 32 hexadecimal digits; None without one.

    A client chooses it with the header `traceparent` of W3C; else Triton does.
    """
    context = request.trace().get_context() if hasattr(request, "trace") else None  # Triton before 24.05 has none
    if not context:
        return None
    parts = str(json.loads(context).get("traceparent", "")).split("-")
    return parts[1] if len(parts) > 1 else None
