# SPDX-License-Identifier: Apache-2.0
"""fn.tricodec.read_video reads tricodec.remote sources, by a process that shares no lock with DALI's threads."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tricodec
from dali_testing import Sequence, read_batches, reading_pipeline, sequences_of
from forked import PRELUDE
from media import generated
from programs import printed_by
from range_server import range_server_process

pytestmark = pytest.mark.needs_dali

pytest.importorskip("obstore")

CLIPS = ["h264_bframes.mp4", "hevc.mp4", "vp9.webm"]
ARGUMENTS: dict[str, Any] = {"batch_size": 4, "sequence_length": 12, "size": (48, 64)}


@pytest.fixture(scope="module")
def url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Of a server in another process: build() of a pipeline holds Python's lock while files are counted."""
    folder = tmp_path_factory.mktemp("served")
    (folder / "bucket").mkdir()
    for name in CLIPS:
        shutil.copy(generated(name), folder / "bucket" / name)
    with range_server_process(folder) as running:
        yield running


def in_bucket(url: str, name: str) -> tricodec.RemoteSource:
    options = {"endpoint": url, "virtual_hosted_style_request": False, "client_options": {"allow_http": True}}
    return tricodec.remote(f"s3://bucket/{name}", skip_signature=True, **options)


def expect_same(found: list[list[Sequence]], expected: list[list[Sequence]]) -> None:
    for batch, other in zip(found, expected, strict=True):
        for one, two in zip(batch, other, strict=True):
            np.testing.assert_array_equal(one.frames, two.frames)
            np.testing.assert_array_equal(one.pts, two.pts)
            assert [each.tolist() for each in one.more] == [each.tolist() for each in two.more]
            assert Path(one.source).name == Path(two.source).name


@pytest.mark.parametrize("lazy_init", [False, True])
def test_remote_sources_are_read_as_files_are(url: str, lazy_init: bool) -> None:
    local = [generated(name) for name in CLIPS]
    mixed = [in_bucket(url, CLIPS[0]), local[1], tricodec.remote(f"{url}/bucket/{CLIPS[2]}")]
    more = {**ARGUMENTS, "labels": [5, 3, 4], "random_shuffle": True, "seed": 7}

    remote = read_batches(3, filenames=mixed, lazy_init=lazy_init, **more)

    expect_same(remote, read_batches(3, filenames=[str(path) for path in local], **more))


def test_a_pipeline_that_reads_ahead_ends_at_once(url: str) -> None:
    for _ in range(3):
        pipe = reading_pipeline(filenames=[in_bucket(url, name) for name in CLIPS], lazy_init=True, **ARGUMENTS)
        pipe.run()
        del pipe


def test_a_missing_object_is_an_error_that_names_it(url: str) -> None:
    with pytest.raises(RuntimeError, match=r"none\.mp4.*(does not exist|no such object|not found)"):
        read_batches(1, filenames=[in_bucket(url, "none.mp4")], **ARGUMENTS)
    names = [in_bucket(url, "none.mp4"), in_bucket(url, CLIPS[0])]
    found = read_batches(1, filenames=names, on_error="empty", **ARGUMENTS)
    expect_same(found, read_batches(1, filenames=[str(generated(CLIPS[0]))], **ARGUMENTS))


def test_an_address_that_is_not_allowed_is_refused(url: str) -> None:
    with pytest.raises(tricodec.RefusedError, match="allowed"):
        read_batches(
            1,
            filenames=[tricodec.remote(f"{url}/bucket/{CLIPS[0]}", allowed_prefixes=["https://other.example/"])],
            **ARGUMENTS,
        )
    with pytest.raises(RuntimeError, match="names the protocol 'http'"):
        read_batches(1, filenames=[f"{url}/bucket/{CLIPS[0]}"], **ARGUMENTS)
    with pytest.raises(RuntimeError, match="is of another process"):
        read_batches(1, filenames=["s3://bucket/a.mp4"], source_keys=["guessed"], **ARGUMENTS)


def test_the_videos_of_an_index_may_have_urls(url: str, tmp_path: Path) -> None:
    urls = [f"{url}/bucket/{name}" for name in CLIPS]
    tricodec.data.DatasetIndex.build(urls, tmp_path / "index.parquet")
    index = tricodec.data.DatasetIndex(tmp_path / "index.parquet")

    found = read_batches(2, index=index, **ARGUMENTS)

    names = [Path(path).name for path in index.table["path"].to_pylist()]
    expect_same(found, read_batches(2, filenames=[str(generated(name)) for name in names], **ARGUMENTS))


def test_a_forked_child_reads_by_the_process_of_its_parent(url: str) -> None:
    printed_by(
        PRELUDE
        + f"""
from dali_testing import read_batches
before = tricodec.remote({f"{url}/bucket/{CLIPS[0]}"!r})
after = tricodec.remote({f"{url}/bucket/{CLIPS[1]}"!r})
def frames(source):
    (batch,) = read_batches(1, filenames=[source], batch_size=1, sequence_length=12, size=(48, 64))
    return md5(batch[0].frames)
expected = [md5(tricodec.decode_video(each, count=12, size=(48, 64)).frames)
            for each in ({str(generated(CLIPS[0]))!r}, {str(generated(CLIPS[1]))!r})]
before.serve()
def work():
    assert [frames(before), frames(after)] == expected
in_children(work, 2)
work()
""",
        PYTHONPATH=str(Path(__file__).parents[1] / "helpers"),
    )


def test_without_its_process_a_pipeline_fails_and_the_next_one_works(url: str) -> None:
    from tricodec._remote._serving import SERVER

    pipe = reading_pipeline(filenames=[in_bucket(url, CLIPS[0])], lazy_init=True, **ARGUMENTS)
    assert SERVER._process is not None
    SERVER._process.kill()
    SERVER._process.wait()
    with pytest.raises(RuntimeError, match=r"has ended|is not there"):
        pipe.run()
    SERVER.close()
    closed = reading_pipeline(filenames=["s3://bucket/a.mp4"], source_keys=["any"], lazy_init=True, **ARGUMENTS)
    with pytest.raises(RuntimeError, match="no process reads them for this one"):
        closed.run()

    again = reading_pipeline(filenames=[in_bucket(url, CLIPS[0])], **ARGUMENTS)
    frames = sequences_of(again.run())[0].frames
    np.testing.assert_array_equal(frames, tricodec.decode_video(generated(CLIPS[0]), count=12, size=(48, 64)).frames)
