# SPDX-License-Identifier: Apache-2.0
"""Damaged packets through Decoder on the CPU; gpu/test_hostile_packets_gpu.py has the same for NVDEC."""

from __future__ import annotations

from pathlib import Path

import hostile_packets
import isolated


def test_good_streams_are_exact_after_damaged_packets() -> None:
    assert isolated.faults(Path(hostile_packets.__file__), 0, 100) == []
