# SPDX-License-Identifier: Apache-2.0
"""AudioReader in forked children and threads, and Ctrl-C while it decodes."""

from __future__ import annotations

import pytest
from forked import PRELUDE
from media import generated
from preloaded import with_tricodec


def run(program: str) -> str:
    result = with_tricodec().run_code(PRELUDE + program)
    assert result.returncode == 0, result.stdout + result.stderr
    return result.stdout


@pytest.mark.parametrize("name", ["aac.mp4", "s16.wav"])
def test_readers_made_before_a_fork_give_the_same_samples_in_children(name: str) -> None:
    path = str(generated(name))
    run(f"""
whole = tricodec.AudioReader({path!r})[:]
reader = tricodec.AudioReader({path!r})
first = reader[:20000]
def work():
    assert np.array_equal(reader[20000:90000], whole[:, 20000:90000])
    assert np.array_equal(reader[:], whole)
in_children(work, 3)
assert np.array_equal(reader[:], whole)
""")


def test_ctrl_c_ends_a_read_in_time() -> None:
    path = str(generated("long.mp4"))
    seconds = run(f"""
reader = tricodec.AudioReader({path!r}, sample_rate=192000)
interrupted = []
def interrupt():
    interrupted.append(time.process_time())
    os.kill(os.getpid(), signal.SIGINT)
timer = threading.Timer(0.3, interrupt)
timer.start()
try:
    while True:
        len(tricodec.AudioReader({path!r}, sample_rate=192000))
except KeyboardInterrupt:
    print(time.process_time() - interrupted[0])
""")
    assert float(seconds) < 5  # of processors; 0.2 is usual
