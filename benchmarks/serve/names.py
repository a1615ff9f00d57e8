# SPDX-License-Identifier: Apache-2.0
"""Ways to get the frames of a video, and what measures them, as results name them."""

from __future__ import annotations

IN_PROCESS = "in process"
SHARED_MEMORY = "server, shared memory"
GRPC = "server, gRPC"
EMPTY = "in process, then a request to an empty model"
BENCH, PERF_ANALYZER = "tricodec bench", "perf_analyzer"
