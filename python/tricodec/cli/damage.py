# SPDX-License-Identifier: Apache-2.0
"""Reports of damaged input: the result has all that could be decoded, and the exit status stays 0."""

from __future__ import annotations

import sys


def warn_of_damage(name: str, num_packets: int, first: str = "") -> None:
    """Says on standard error how many packets of `name` could not be decoded whole; nothing if none."""
    if num_packets == 0:
        return
    number = "1 packet" if num_packets == 1 else f"{num_packets} packets"
    print(f"tricodec: warning: {name}: {number} damaged" + (f"; first: {first}" if first else ""), file=sys.stderr)
