# SPDX-License-Identifier: Apache-2.0
"""Processes that share a node: programs under TRICODEC_NODE, forked and spawned children, and arrays that they pass."""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import tricodec
from forked import PRELUDE
from media import generated
from patience import until
from programs import run_python
from tricodec import node as nodes

CLIP = str(generated("h264_bframes.mp4"))
Start = Callable[..., nodes.Node]

PROGRAM = """
import sys, tricodec
videos = [tricodec.decode_video(sys.argv[1], count=3, size=(32, 48)), *tricodec.read_many(sys.argv[1:] * 2, count=2)]
here = tricodec.decode_video(sys.argv[1], count=3, size=(32, 48), pinned=True).frames
assert (videos[0].frames == here).all()
status = tricodec.node.active().status()
print(status["process"], *(type(each.frames).__name__ for each in videos))
"""


def printed(code: str, *arguments: str, **environment: str) -> str:
    result = run_python(code, *arguments, **environment)
    assert result.returncode == 0, result.stderr
    return result.stdout


def test_programs_ask_the_node_that_the_environment_names(node: nodes.Node) -> None:
    output = printed(PROGRAM, CLIP, TRICODEC_NODE=node.path)

    status = node.status()
    assert output.split() == [str(status["process"]), *["NodeArray"] * 3]
    assert (status["requests"], status["frames"]) == (3, 7)


def test_programs_that_begin_at_once_share_the_node_that_one_of_them_starts(folder: str) -> None:
    environment = {**os.environ, "TRICODEC_NODE": "auto", "XDG_RUNTIME_DIR": folder}
    command = [sys.executable, "-c", PROGRAM, CLIP]
    programs = [subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True) for _ in range(4)]
    outputs = {each.communicate(timeout=60)[0] for each in programs}

    assert [each.returncode for each in programs] == [0] * 4
    assert outputs == {
        f"{nodes.connect(f'{folder}/tricodec-node.sock').status()['process']} {'NodeArray ' * 3}".strip() + "\n"
    }


def test_a_node_ends_when_it_had_no_client_for_a_while(start: Start) -> None:
    node = start(idle_s=0.5)
    process = node.status()["process"]
    time.sleep(1.5)
    assert node.status()["process"] == process
    node.close()

    until(lambda: not Path(f"/proc/{process}").exists(), "the node has ended")
    with pytest.raises(nodes.NodeLostError, match=r"no node answers at .* start one with `tricodec node start`"):
        nodes.connect(node.path)


def test_a_process_uses_a_node_until_it_says_otherwise(node: nodes.Node) -> None:
    nodes.use(node)
    try:
        assert nodes.active() is node
        assert isinstance(tricodec.decode_video(CLIP, count=1).frames, nodes.NodeArray)
        out = np.empty((1, 180, 320, 3), np.uint8)
        assert tricodec.decode_video(CLIP, count=1, out=out).frames is out
    finally:
        nodes.use(None)
    assert nodes.active() is None
    assert not isinstance(tricodec.decode_video(CLIP, count=1).frames, nodes.NodeArray)


def test_the_path_of_a_socket_may_be_relative(folder: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(folder)
    nodes.start(nodes.Settings(socket="n", gpus=(), memory=64 << 20, workers=1))

    assert nodes.connect("n").status()["socket"] == f"{folder}/n"
    with pytest.raises(ValueError, match="is longer than 107 bytes"):
        nodes.connect(f"{folder}/{'n' * 107}")


def test_forked_children_decode_at_once_and_leave_what_the_parent_has(node: nodes.Node) -> None:
    printed(
        PRELUDE + """
node = tricodec.node.connect(sys.argv[1])
video = node.decode_video(sys.argv[2], count=9)
reader = node.open(sys.argv[2])
def work():
    assert (node.decode_video(sys.argv[2], count=9).frames == video.frames).all()
    assert (reader.batch(range(9)) == video.frames).all()
in_children(work, 3)
while len(node.status()["clients"]) > 2:
    time.sleep(0.01)
assert node.status()["leases"] == 1
assert (node.decode_video(sys.argv[2], count=9).frames == video.frames).all()
""",
        node.path, CLIP,
    )  # fmt: skip


SHARING = """
import multiprocessing, sys
from tricodec import node

def work(path, clip, pipe):
    array = node.connect(path).decode_video(clip, count=4).frames
    pipe.send(array)
    pipe.recv()
    pipe.send(int(array[0, 0, 0, 0]))

if __name__ == "__main__":
    node.connect(sys.argv[1]).decode_video(sys.argv[2], count=4)
    for method in ("fork", "spawn"):
        context = multiprocessing.get_context(method)
        ours, theirs = context.Pipe()
        child = context.Process(target=work, args=(*sys.argv[1:], theirs))
        child.start()
        array = ours.recv()
        kept = array.copy()
        array[0, 0, 0, 0] = before = 255 - int(array[0, 0, 0, 0])
        ours.send(None)
        assert ours.recv() == before, method
        child.join()
        assert child.exitcode == 0 and (array[1:] == kept[1:]).all(), method
"""


def test_children_pass_arrays_of_which_both_processes_have_the_memory(node: nodes.Node, tmp_path: Path) -> None:
    program = tmp_path / "program.py"
    program.write_text(SHARING)

    subprocess.run([sys.executable, str(program), node.path, CLIP], check=True, timeout=60)
    assert node.status()["leases"] == 0


def test_an_array_is_pickled_without_a_copy_once_and_its_views_as_numpy_does(node: nodes.Node) -> None:
    frames = node.decode_video(CLIP, count=4).frames
    data = pickle.dumps(frames)
    received = pickle.loads(data)
    view = pickle.loads(pickle.dumps(frames[1:3]))

    assert len(data) < 300
    frames[0, 0, 0] = frames[1, 0, 0] = (1, 2, 3)
    assert received[0, 0, 0].tolist() == [1, 2, 3]
    assert view[0, 0, 0].tolist() != [1, 2, 3]
    assert np.array_equal(view[0, 1:], frames[1, 1:])
    with pytest.raises(ValueError, match="read before"):
        pickle.loads(data)


def test_memory_is_free_when_the_array_and_its_views_are_gone(node: nodes.Node) -> None:
    frames = node.decode_video(CLIP, count=4).frames
    view = frames[2, 5:]
    kept = view.copy()
    del frames
    assert node.status()["leases"] == 1
    node.decode_video(CLIP, count=4, color="bgr")
    assert np.array_equal(view, kept)
    del view
    assert node.status()["leases"] == 0


@pytest.mark.skipif(os.getuid() != 0, reason="needs the rights to become another user")
@pytest.mark.parametrize("is_open_to_all", [False, True])
def test_another_user_is_refused(node: nodes.Node, folder: str, is_open_to_all: bool) -> None:
    Path(folder).chmod(0o755)
    if is_open_to_all:
        Path(node.path).chmod(0o666)
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
    printed(code, node.path, "ended" if is_open_to_all else "Permission denied")
    assert node.status()["clients"] == [os.getpid()]
