# SPDX-License-Identifier: Apache-2.0
"""Processes that share a node: commands, programs under TRICODEC_NODE, children, and arrays that they pass on."""

from __future__ import annotations

import json
import os
import pickle
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from forked import PRELUDE
from media import generated
from patience import until
from programs import printed_by, run_python
from tricodec import node as nodes

CLIP = str(generated("h264_bframes.mp4"))
Run = Callable[..., tuple[int, str, str]]

PROGRAM = """
import sys, tricodec
videos = [tricodec.decode_video(sys.argv[1], count=3, size=(32, 48)), *tricodec.read_many(sys.argv[1:] * 2, count=2)]
process = tricodec.node.active().status()["process"]
tricodec.node.use(None)
videos.append(tricodec.decode_video(sys.argv[1], count=3, size=(32, 48)))
assert (videos[0].frames == videos[-1].frames).all()
print(process, *(type(each.frames).__name__ for each in videos))
"""


def test_programs_ask_the_node_that_the_environment_names(node: nodes.Node) -> None:
    output = printed_by(PROGRAM, CLIP, TRICODEC_NODE=node.path)

    status = node.status()
    assert output.split() == [str(status["process"]), "NodeArray", "NodeArray", "NodeArray", "ndarray"]
    assert (status["requests"], status["frames"]) == (3, 7)


def test_programs_that_begin_at_once_share_the_node_that_one_of_them_starts(folder: str) -> None:
    environment = {**os.environ, "TRICODEC_NODE": "auto", "XDG_RUNTIME_DIR": folder}
    command = [sys.executable, "-c", PROGRAM, CLIP]
    programs = [subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True) for _ in range(4)]
    outputs = {each.communicate(timeout=60)[0] for each in programs}

    process = nodes.connect(f"{folder}/tricodec-node.sock").status()["process"]
    assert outputs == {f"{process} NodeArray NodeArray NodeArray ndarray\n"}


@pytest.mark.parametrize("node", [{"idle_s": 0.5}], indirect=True)
def test_a_node_ends_when_it_had_no_client_for_a_while(node: nodes.Node) -> None:
    process = node.status()["process"]
    node.close()
    until(lambda: not Path(f"/proc/{process}").exists(), "the node has ended")
    with pytest.raises(nodes.NodeLostError, match=r"no node answers at .* start one with `tricodec node start`"):
        nodes.connect(node.path)


SHARING = """
import multiprocessing, sys
from tricodec import node

def work(path, clip, pipe):
    array = node.connect(path).decode_video(clip, count=4).frames
    pipe.send(array)
    pipe.recv()
    pipe.send(int(array[0, 0, 0, 0]))

if __name__ == "__main__":
    held = node.connect(sys.argv[1]).decode_video(sys.argv[2], count=4).frames
    for method in ("fork", "spawn"):
        context = multiprocessing.get_context(method)
        ours, theirs = context.Pipe()
        child = context.Process(target=work, args=(*sys.argv[1:], theirs))
        child.start()
        array = ours.recv()
        array[0, 0, 0, 0] = written = 255 - int(array[0, 0, 0, 0])
        ours.send(None)
        assert ours.recv() == written, method
        child.join()
        assert child.exitcode == 0 and (array[1:] == held[1:]).all(), method
    assert node.connect(sys.argv[1]).status()["leases"] == 2  # held and array
"""


def test_children_decode_at_once_and_pass_arrays_of_which_both_have_the_memory(
    node: nodes.Node, tmp_path: Path
) -> None:
    program = tmp_path / "program.py"
    program.write_text(SHARING)

    subprocess.run([sys.executable, str(program), node.path, CLIP], check=True, timeout=60)
    until(lambda: node.status()["leases"] == 0, "the memory is free")


def test_an_array_is_pickled_without_a_copy_once_and_its_views_as_numpy_does(node: nodes.Node) -> None:
    frames = node.decode_video(CLIP, count=4).frames
    data = pickle.dumps(frames)
    received, view = pickle.loads(data), pickle.loads(pickle.dumps(frames[1:3]))

    assert len(data) < 300
    frames[0, 0, 0] = frames[1, 0, 0] = (1, 2, 3)
    assert received[0, 0, 0].tolist() == [1, 2, 3]
    assert view[0, 0, 0].tolist() != [1, 2, 3]
    assert np.array_equal(view[0, 1:], frames[1, 1:])
    with pytest.raises(ValueError, match="read before"):
        pickle.loads(data)
    del frames
    kept = received[2:]
    del received
    assert node.status()["leases"] == 1  # a view has it
    del kept
    assert node.status()["leases"] == 0
    frames = node.decode_video(CLIP, count=4).frames
    for _ in range(2):
        node.stop()  # a queue that could not pickle the array would lose it, and a DataLoader would wait forever
    assert np.array_equal(pickle.loads(pickle.dumps(frames)), frames)


@pytest.mark.skipif(os.getuid() != 0, reason="needs the rights to become another user")
@pytest.mark.parametrize(("mode", "error"), [(0o600, "Permission denied"), (0o666, "ended")])
def test_another_user_is_refused(node: nodes.Node, folder: str, mode: int, error: str) -> None:
    assert Path(node.path).stat().st_mode & 0o777 == 0o600
    Path(node.path).chmod(mode)
    Path(folder).chmod(0o755)
    code = (
        PRELUDE
        + """
import tricodec.node
def work():
    os.setuid(65534)
    raises(tricodec.node.NodeLostError, sys.argv[2], lambda: tricodec.node.connect(sys.argv[1]).status())
in_children(work)
"""
    )
    result = run_python(code, node.path, error)
    assert result.returncode == 0, result.stderr
    assert node.status()["clients"] == [os.getpid()]


def test_a_node_is_started_shown_and_ended_by_commands(run: Run, folder: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def printed(action: str, *options: str) -> dict[str, Any]:
        status, output, _ = run("node", action, "--socket", "n", *options, "--json")
        assert status == 0
        result: dict[str, Any] = json.loads(output)
        return result

    monkeypatch.chdir(folder)
    status, _, error = run("node", "status", "--socket", "n")
    assert (status, "tricodec node start" in error) == (1, True)
    assert printed("stop") == {"running": False}
    assert run("node", "status", "--socket", "other/n")[0] == 1
    assert not (Path(folder) / "other").exists()
    assert "workers is -1; expected 0 or more" in run("node", "start", "--socket", "n", "--workers", "-1")[2]
    assert "leave the GPU 99 out of gpus" in run("node", "start", "--socket", "n", "--gpus", "99")[2]
    started = printed("start", "--memory", "64MiB", "--workers", "3", "--timeout-s", "5")
    assert started["socket"] == f"{folder}/n"
    assert started["devices"]["cpu"]["memory_bytes"] == pytest.approx(32 << 20, abs=3)
    assert printed("start")["process"] == started["process"]  # it runs already
    nodes.connect("n").decode_video(CLIP, count=3)
    assert printed("status")["frames"] == 3
    assert "1 request, 0 failed, 3 frames, 0 of them decoded before" in run("node", "status", "--socket", "n")[1]
    assert printed("stop") == {"running": False}
    until(lambda: not Path(f"/proc/{started['process']}").exists(), "the node has ended")


def test_commands_that_start_a_node_at_once_show_the_same_one(folder: str) -> None:
    command = [sys.executable, "-m", "tricodec", "node", "start", "--socket", f"{folder}/n", "--workers", "1", "--json"]
    started = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True) for _ in range(3)]
    assert len({json.loads(each.communicate(timeout=60)[0])["process"] for each in started}) == 1
