# SPDX-License-Identifier: Apache-2.0
"""The programs of the pages about DALI run as the pages have them, and their tables are those of the operators."""

from __future__ import annotations

import os
import re
import signal
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from media import REPOSITORY, generated
from triton_testing import workers

sys.path.insert(0, str(REPOSITORY / "tools"))

from tricodec.serve import Server

pytestmark = pytest.mark.needs_dali

DOCS = REPOSITORY / "docs"
PAGES = [*sorted(DOCS.glob("reference/dali*.md")), DOCS / "howto/train_dali.md", DOCS / "howto/untrusted_data.md"]


@pytest.fixture(scope="module")
def documented() -> dict[str, Any]:
    """The names that the Python blocks of the pages define, one after another."""
    import tricodec.dali  # noqa: F401
    from nvidia.dali import fn, types

    names: dict[str, Any] = {"fn": fn, "types": types}
    for page in PAGES:
        for block in re.findall(r"^```python\n(.*?)^```", page.read_text(), re.MULTILINE | re.DOTALL):
            exec(compile(block, str(page), "exec"), names)
    return names


def test_training_clips_example_reads_an_epoch(documented: dict[str, Any], tmp_path: Path) -> None:
    for directory, clip in (("cats", "h264_bframes.mp4"), ("dogs", "hevc.mp4"), ("dogs", "vp9.webm")):
        (tmp_path / directory).mkdir(exist_ok=True)
        (tmp_path / directory / clip).symlink_to(generated(clip))

    batches = documented["one_epoch"](str(tmp_path))

    # 50 frames hold three sequences of 15; 9 of them are two batches of 4 and one that is filled up.
    assert [batch[0].as_array().shape for batch in batches] == [(4, 8, 3, 112, 112)] * 3
    assert sorted(int(label) for batch in batches for label in batch[1].as_array().ravel())[:3] == [0, 0, 0]


@pytest.mark.needs_triton
def test_clips_of_strangers_example_survives_the_death_of_the_process_that_decodes(
    documented: dict[str, Any], tmp_path: Path
) -> None:
    import tricodec
    from tricodec.client import Client

    no_video = tmp_path / "no_video.mp4"
    no_video.write_bytes(b"no video")
    good = str(generated("h264_bframes.mp4"))
    expected = tricodec.decode_video(good, count=8, size=(112, 112), device="cpu").frames
    with Server(models=["video_decode"]) as server, Client(server.grpc_url, retries=1) as client:
        pipe = documented["clips_of_strangers"](client, [good, str(no_video)])
        pipe.build()
        for number in range(8):
            (frames,) = pipe.run()
            assert not frames.at(1).any()
            if number < 3:
                for worker in workers(server.pid, "video_decode"):
                    os.kill(worker, signal.SIGKILL)  # a request that it has gets an error
            else:
                is_same = np.array_equal(frames.at(0), expected)

    assert is_same


def test_check_of_a_file_example_survives_what_the_file_does(
    documented: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "no_video.mp4").write_bytes(b"no video")
    (tmp_path / "sitecustomize.py").write_text(
        "import os, sys, time\n"
        "if sys.orig_argv[-1] == 'crash.mp4': os.abort()\n"
        "if sys.orig_argv[-1] == 'hang.mp4': time.sleep(600)\n"
    )
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    decodes = documented["decodes"]

    assert decodes(str(generated("h264_bframes.mp4")))
    assert not decodes(str(tmp_path / "no_video.mp4"))
    assert not decodes("crash.mp4")
    assert not decodes("hang.mp4", seconds=2)
