# SPDX-License-Identifier: Apache-2.0
"""The memory of a node and of its worker does not grow with the number of requests."""

from __future__ import annotations

import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from media import generated
from tricodec import node as nodes

REQUESTS = int(os.environ.get("TRICODEC_NODE_REQUESTS", "100000"))
CLIPS = ("h264_16x16.mp4", "h264_bframes.mp4", "h264_open_gop.mkv")


def resident(process: int) -> int:
    return int(Path(f"/proc/{process}/statm").read_text().split()[1])


@pytest.mark.slow
def test_memory_is_flat_over_100000_requests(start: Callable[..., nodes.Node]) -> None:
    node = start(memory=64 << 20)
    processes = [node.status()["process"], *node.status()["devices"]["cpu"]["processes"]]
    data = generated(CLIPS[0]).read_bytes()

    def ask(number: int) -> None:
        source = data if number % 10 == 0 else generated(CLIPS[number % 3])
        node.decode_video(source, indices=[number % 25], size=(16, 16))

    pages = []
    with ThreadPoolExecutor(4) as threads:
        for first in range(0, REQUESTS, REQUESTS // 20):
            list(threads.map(ask, range(first, first + REQUESTS // 20)))
            pages.append([resident(process) for process in processes])
    late = pages[len(pages) // 5 :]
    for process in range(len(processes)):
        sizes = [each[process] for each in late]
        assert max(sizes) <= 1.1 * min(sizes), pages
    assert node.status()["leases"] == 0
    assert node.status()["failures"] == 0
