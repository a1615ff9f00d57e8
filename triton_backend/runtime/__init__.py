# SPDX-License-Identifier: Apache-2.0
"""What every model runs on: workers, the memory between worker and stub, requests and their answers, counters."""
