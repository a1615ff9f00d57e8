# SPDX-License-Identifier: Apache-2.0
"""What every model runs on: requests and their answers, the node that does their tasks, settings, counters."""
