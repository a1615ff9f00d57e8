# SPDX-License-Identifier: Apache-2.0
"""The tasks that a worker process knows, by their kinds."""

from __future__ import annotations

from tricodec.triton_backend.compress_task import CompressTask
from tricodec.triton_backend.dali_task import DaliTask
from tricodec.triton_backend.decode_task import DecodeTask
from tricodec.triton_backend.decompress_task import DecompressTask
from tricodec.triton_backend.encode_task import EncodeTask
from tricodec.triton_backend.stream_task import StreamTask
from tricodec.triton_backend.task import Task
from tricodec.triton_backend.transcode_task import TranscodeTask

TASKS: dict[str, type[Task]] = {
    task.KIND: task
    for task in (DecodeTask, StreamTask, EncodeTask, TranscodeTask, CompressTask, DecompressTask, DaliTask)
}
