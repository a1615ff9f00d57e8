# SPDX-License-Identifier: Apache-2.0
"""Readers of requests that many threads make at once: as many decode as the machine can, or a node does it."""

from __future__ import annotations

import contextlib
import io
import os
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tricodec import FrameReader
from tricodec.node import active
from tricodec.video.cores import num_cores

_IN_MEMORY = (bytes, bytearray, memoryview, io.BytesIO)


_AT_ONCE_ON_A_GPU = 8
"""As many fill the decoders of an H200."""

# By device. The last ones count. In a forked child new ones do: the threads with the parent's turns do not exist there.
_turns = [{"cpu": threading.Semaphore(num_cores())}]
os.register_at_fork(after_in_child=lambda: _turns.append({"cpu": threading.Semaphore(num_cores())}))


@contextlib.contextmanager
def opened(source: Any, *, only_gpu: bool = False, output_device: str = "auto", **options: Any) -> Iterator[Any]:
    """A reader of a video that waits for its turn, or one of the node that this process asks.

    Args:
        source, **options: of `FrameReader`.
        only_gpu: a node is for what it decodes on a GPU.
        output_device: of `tricodec.node.Node.open`.
    """
    is_of_process = options.keys() & {"num_workers", "context", "stream"} or (only_gpu and options["device"] == "cpu")
    node = None if is_of_process else active()
    if node is not None:
        with node.open(source, output_device=output_device, **options) as video:
            if not only_gpu or video.device != "cpu":
                yield video
                return
    with FrameReader(source, **options) as reader, turn_to_decode(source, reader.device):
        yield reader


def turn_to_decode(source: Any, device: str) -> contextlib.AbstractContextManager[Any]:
    """What a request of `source` waits for before it decodes on `device`, where many threads make requests.

    As many requests of files and of bytes decode on the CPU at once as there are cores, and 8 on a GPU. More decoders
    would evict each other's pictures from the caches, and all would hold the memory of their frames. Requests of other
    sources begin at once, because they may wait for a network. Thread safe.
    """
    local = isinstance(source, _IN_MEMORY) or (isinstance(source, str | Path) and Path(source).is_file())
    if not local:
        return contextlib.nullcontext()
    return _turns[-1].setdefault(device, threading.Semaphore(_AT_ONCE_ON_A_GPU))
