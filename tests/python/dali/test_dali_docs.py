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
from dali_testing import write_archive
from media import REPOSITORY, generated
from triton_testing import workers

sys.path.insert(0, str(REPOSITORY / "tools"))

import dali_arguments
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


def test_random_clips_example_runs(documented: dict[str, Any]) -> None:
    from nvidia.dali import Pipeline, fn

    # Long enough and large enough for any start and corner that the example draws.
    data = np.fromfile(generated("h264_1080p.mp4"), np.uint8)
    pipe = Pipeline(batch_size=2, num_threads=2, device_id=None, seed=1)
    with pipe:
        encoded = fn.external_source(source=lambda: [data, data], batch=True)
        pipe.set_outputs(*documented["random_clips"](encoded))
    pipe.build()

    frames, _ = pipe.run()

    assert frames.as_array().shape == (2, 8, 112, 112, 3)
    assert not np.array_equal(frames.at(0), frames.at(1))


def test_training_clips_example_reads_an_epoch(documented: dict[str, Any], tmp_path: Path) -> None:
    for directory, clip in (("cats", "h264_bframes.mp4"), ("dogs", "hevc.mp4"), ("dogs", "vp9.webm")):
        (tmp_path / directory).mkdir(exist_ok=True)
        (tmp_path / directory / clip).symlink_to(generated(clip))

    batches = documented["one_epoch"](str(tmp_path))

    # 50 frames hold three sequences of 15; 9 of them are two batches of 4 and one that is filled up.
    assert [batch[0].as_array().shape for batch in batches] == [(4, 8, 3, 112, 112)] * 3
    assert sorted(int(label) for batch in batches for label in batch[1].as_array().ravel())[:3] == [0, 0, 0]


def test_packets_example_gives_the_frames_of_the_file(documented: dict[str, Any]) -> None:
    import tricodec

    clip = generated("h264_bframes.mp4")
    packets = list(tricodec.Demuxer(clip, annexb=True))
    times = [float(packet.pts * packet.time_base) for packet in packets]
    pipe = documented["of_packets"]([bytes(packet.data) for packet in packets], times)
    pipe.build()

    frames, pts = pipe.run()

    expected = tricodec.decode_video(clip, size=(224, 224), device="cpu")
    np.testing.assert_array_equal(frames.at(0), expected.frames)
    np.testing.assert_allclose(pts.at(0), expected.pts_seconds, atol=1e-9)


def test_middle_frames_example_gives_the_frame_in_the_middle(documented: dict[str, Any]) -> None:
    import tricodec
    from nvidia.dali import Pipeline, fn

    pipe = Pipeline(batch_size=1, num_threads=2, device_id=None)
    with pipe:
        encoded, _ = fn.readers.file(files=[str(generated("hevc.mp4"))])
        pipe.set_outputs(*documented["middle_frames"](encoded))
    pipe.build()

    frames, _ = pipe.run()

    num_frames = len(tricodec.FrameReader(generated("hevc.mp4")))
    expected = tricodec.decode_video(generated("hevc.mp4"), start=num_frames // 2, count=1, device="cpu")
    np.testing.assert_array_equal(frames.at(0), expected.frames)


def test_live_example_gives_a_batch_for_each_segment(documented: dict[str, Any]) -> None:
    segments = [generated(clip).read_bytes() for clip in ("h264_bframes.mp4", "vp9.webm")]

    batches = list(documented["batches"](segments))

    assert [[sample.shape for sample in batch] for batch in batches] == [
        [(16, 112, 112, 3)] * 3 + [(2, 112, 112, 3)]
    ] * 2


def test_clips_of_archives_example_reads_them(documented: dict[str, Any], tmp_path: Path) -> None:
    members = [("0.cls", b"7"), ("0.mp4", generated("hevc.mp4").read_bytes())]
    archive, index = write_archive(tmp_path, "shard-0", members)
    pipe = documented["clips_of_archives"]([archive], [index])
    pipe.build()

    frames, label = pipe.run()

    assert [frames.at(i).shape for i in range(4)] == [(8, 180, 320, 3)] * 4
    assert label.as_array().tolist() == [[7]] * 4


def test_two_views_example_gives_what_it_cuts(documented: dict[str, Any]) -> None:
    import tricodec

    files = [str(generated("h264_bframes.mp4")), str(generated("hevc.mp4"))]
    pipe = documented["two_views"](files)
    pipe.build()

    whole, detail, pts = pipe.run()

    assert whole.as_array().shape == (2, 16, 3, 224, 224)
    assert pts.as_array().shape == (2, 16)
    for i, file in enumerate(files):
        expected = tricodec.decode_video(file, count=16, crop=(40, 60, 96, 96), device="cpu").frames
        np.testing.assert_array_equal(detail.at(i), expected)


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


def test_small_copies_example_gives_files(documented: dict[str, Any]) -> None:
    import tricodec

    pipe = documented["small_copies"]([str(generated("h264_bframes.mp4")), str(generated("hevc.mp4"))])
    pipe.build()

    (files,) = pipe.run()

    assert [tricodec.decode_video(bytes(files.at(i))).frames.shape for i in range(2)] == [(16, 120, 160, 3)] * 2


def test_compression_examples_give_the_arrays_back(documented: dict[str, Any], tmp_path: Path) -> None:
    import tricodec

    arrays = [np.arange(60, dtype=np.int16).reshape(3, 4, 5), np.ones((2, 1, 9), np.int16)]
    pipe = documented["there_and_back"](arrays)
    pipe.build()
    packed, restored = pipe.run()

    assert packed.at(0).dtype == np.uint8
    for i, array in enumerate(arrays):
        np.testing.assert_array_equal(restored.at(i), array)

    codec = tricodec.Codec(algorithm="LZ4", device="cpu")
    files = []
    for rows in (3, 50):
        files.append(str(tmp_path / f"{rows}.bin"))
        Path(files[-1]).write_bytes(bytes(codec.encode(np.full((rows, 16), rows, np.float32))))
    pipe = documented["weights"](files)
    pipe.build()
    (output,) = pipe.run()

    assert [np.array(output.at(i)).shape for i in range(2)] == [(3, 16), (50, 16)]


def test_tables_of_arguments_are_those_of_the_schemas() -> None:
    assert [page for page in dali_arguments.PAGES if "<!-- arguments: " in page.read_text()]
    for page in dali_arguments.PAGES:
        text = page.read_text()
        assert dali_arguments.updated(text) == text, f"{page.name}: run python tools/dali_arguments.py"
