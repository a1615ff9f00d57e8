# SPDX-License-Identifier: Apache-2.0
"""Work that clients describe: its parts, what it keeps between requests, and the memory that it waits for."""

from __future__ import annotations

import dataclasses
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tricodec
from media import generated
from patience import until
from tricodec import node as nodes
from tricodec.triton_backend.models.decode_task import DecodeTask, StreamTask
from tricodec.triton_backend.models.session_task import PullTask
from tricodec.triton_backend.runtime.settings import Settings

CLIP = generated("h264_bframes.mp4").read_bytes()
SETTINGS = Settings(device="cpu")
MIB = 1 << 20


def cpu(node: nodes.Node, name: str) -> Any:
    return node.status()["devices"]["cpu"][name]


def ask(node: nodes.Node, task: Any, **options: Any) -> Any:
    return node.submit(task, SETTINGS, CLIP, device="cpu", **options)


def said(asked: Any) -> Any:
    answer = asked.get(30)
    assert answer is not None
    return answer


@dataclasses.dataclass
class Foreign:
    """A task that is none of tricodec's."""


def test_a_task_of_another_package_is_refused(shared_node: nodes.Node) -> None:
    answer = said(ask(shared_node, Foreign()))
    assert answer.is_last
    assert answer.failure["kind"] == "ValueError"
    assert "none of tricodec's" in answer.failure["text"]


def test_a_slow_client_gets_two_parts_ahead_and_may_stop(shared_node: nodes.Node) -> None:
    whole = tricodec.decode_video(CLIP, device="cpu").frames
    asked = ask(shared_node, StreamTask(chunk=5))
    parts = [said(asked), said(asked)]
    assert asked.get(0.5) is None
    asked.tell("next")
    parts.append(said(asked))
    np.testing.assert_array_equal(np.concatenate([part.outcome.arrays[0] for part in parts]), whole[:15])
    assert not any(part.is_last for part in parts)
    del parts
    asked.tell("enough")
    while not (last := said(asked)).is_last:
        pass
    assert last.outcome is None
    assert last.failure is None
    assert shared_node.status()["why"]["cancel"] == 0


def test_a_cancelled_task_ends_its_process_and_not_those_of_sessions(node: nodes.Node) -> None:
    assert said(ask(node, PullTask(opens=True, chunk=4), pin="one")).outcome.arrays[0].shape[0] == 4
    stream = ask(node, StreamTask(chunk=1))
    said(stream)
    stream.tell("cancel")
    while not (last := said(stream)).is_last:
        pass
    assert last.failure["why"] == "cancel"

    second = said(ask(node, PullTask(chunk=4), pin="one")).outcome
    np.testing.assert_array_equal(second.arrays[0], tricodec.decode_video(CLIP, device="cpu", start=4, count=4).frames)
    node.forget("one")
    assert "UnavailableError" in said(ask(node, PullTask(chunk=4), pin="one")).failure["names"]


@pytest.mark.parametrize("node", [{"memory": 64 * MIB, "wait_s": 0.5}], indirect=True)
def test_a_task_waits_for_memory_with_its_process(node: nodes.Node) -> None:
    held = [said(ask(node, DecodeTask())).outcome]
    waiting = ask(node, DecodeTask())
    if (late := waiting.get(30)).failure is None:  # there was room for two
        held.append(late.outcome)
        late = said(ask(node, DecodeTask()))
    assert late.failure["kind"] == "TimeoutError"
    assert "no room on cpu" in late.failure["text"]

    waiting = ask(node, DecodeTask())
    assert waiting.get(0.1) is None
    del late
    held.clear()
    assert len(said(waiting).outcome.arrays[0]) == 50


def test_a_result_may_be_larger_than_the_one_before(shared_node: nodes.Node) -> None:
    for count in (1, 1, 50, 1):  # after a small one the node gives a task as much memory at once
        found = said(ask(shared_node, DecodeTask({"count": count}))).outcome.arrays[0]
        np.testing.assert_array_equal(found, tricodec.decode_video(CLIP, device="cpu", count=count).frames)


PROGRAM = """
import sys, time, tricodec
from tricodec.triton_backend.models.decode_task import StreamTask
from tricodec.triton_backend.models.session_task import PullTask
from tricodec.triton_backend.runtime.settings import Settings
node = tricodec.node.connect(sys.argv[1])
data = open(sys.argv[2], "rb").read()
session = node.submit(PullTask(opens=True, chunk=4), Settings(), data, device="cpu", pin="one").get(30)
stream = node.submit(StreamTask(chunk=1), Settings(), data, device="cpu")
parts = [stream.get(30), stream.get(30)]
print("ready", flush=True)
time.sleep(60)
"""


def test_a_client_that_is_killed_leaves_no_task_session_or_memory(node: nodes.Node) -> None:
    command = [sys.executable, "-c", PROGRAM, node.path, str(generated("h264_bframes.mp4"))]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        assert node.status()["leases"] == 3
        process.kill()
    until(lambda: node.status()["leases"] == 0 and cpu(node, "running") == 0, "nothing of the client is left")

    (keeper,) = cpu(node, "keepers")
    maps = Path(f"/proc/{keeper}/maps")
    until(lambda: "tricodec-source" not in maps.read_text(), "its session is closed")
