# SPDX-License-Identifier: Apache-2.0
"""Damaged packets through NVDEC: no crash, no hang, and good streams beside them are exact. TRICODEC_GPU_FUZZ_STREAMS
says how many of them; each hundred is a process of its own."""

from __future__ import annotations

import os
from pathlib import Path

import hostile_packets
import isolated
import pytest

pytestmark = pytest.mark.needs_gpu

DRIVER = Path(hostile_packets.__file__)
STREAMS = int(os.environ.get("TRICODEC_GPU_FUZZ_STREAMS", "2000"))


def test_damaged_packets_leave_the_context_alive_and_good_streams_exact(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TRICODEC_FUZZ_DEVICE", "cuda:0")

    assert isolated.faults(DRIVER, 0, STREAMS) == []
