# SPDX-License-Identifier: Apache-2.0
"""Jobs over many files: what is done to one file, the processes that do it, and the manifest of what is done."""

from __future__ import annotations

from tricodec._jobs._batch import BatchProgress, BatchSummary, batch, load_job

__all__ = ["BatchProgress", "BatchSummary", "batch", "load_job"]
