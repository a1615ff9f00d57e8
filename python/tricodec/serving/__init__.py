# SPDX-License-Identifier: Apache-2.0
"""Many requests at a time: `Plan`, a request compiled for this machine, `WorkerPool` and `Batcher`."""

from tricodec.serving._batcher import Batcher
from tricodec.serving._plan import Plan
from tricodec.serving._plan_context import PlanContext
from tricodec.serving._worker_pool import WorkerPool

__all__ = ["Batcher", "Plan", "PlanContext", "WorkerPool"]
