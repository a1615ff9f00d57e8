# SPDX-License-Identifier: Apache-2.0
"""`tricodec node` starts, shows and ends a node."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from media import generated
from tricodec import node as nodes

Run = Callable[..., tuple[int, str, str]]


def test_a_node_is_started_shown_and_ended_by_commands(run: Run, folder: str) -> None:
    def printed(action: str, *options: str) -> dict[str, Any]:
        status, output, _ = run("node", action, "--socket", f"{folder}/n", *options, "--json")
        assert status == 0
        result: dict[str, Any] = json.loads(output)
        return result

    assert printed("stop") == {"running": False}
    started = printed("start", "--memory", "64MiB", "--workers", "3", "--timeout-s", "5")
    assert started["devices"]["cpu"]["memory_bytes"] == pytest.approx(48 << 20, abs=3)
    assert printed("start")["process"] == started["process"]  # it runs already

    nodes.connect(f"{folder}/n").decode_video(generated("h264_bframes.mp4"), count=3)
    status = printed("status")
    assert (status["process"], status["requests"], status["frames"]) == (started["process"], 1, 3)
    assert (
        "1 request, 0 failed, 3 frames, 0 of them decoded before" in run("node", "status", "--socket", f"{folder}/n")[1]
    )
    assert printed("stop") == {"running": False}
    assert not Path(f"/proc/{started['process']}").exists()


def test_commands_without_a_node_say_how_to_start_one(run: Run, folder: str) -> None:
    status, _, error = run("node", "status", "--socket", f"{folder}/n")
    assert status != 0
    assert "no node answers" in error
    assert "tricodec node start" in error
    assert run("node", "stop", "--socket", f"{folder}/n")[1] == "no node runs\n"


def test_a_size_that_is_none_is_refused(run: Run, folder: str) -> None:
    with pytest.raises(SystemExit):
        run("node", "start", "--socket", f"{folder}/n", "--memory", "much")
