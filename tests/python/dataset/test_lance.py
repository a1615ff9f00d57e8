# SPDX-License-Identifier: Apache-2.0
"""Videos in a column of a Lance data set: an index has a row for each, and readers read parts of their blobs."""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
import tricodec
from media import generated

# pip install 'tricodec[lance]': its wheel has 85 MB, so the requirements of the tests leave it out.
lance = pytest.importorskip("lance")

NAMES = ("h264_bframes.mp4", "h264_vfr.mkv", "vp9.webm")


def write(path: Path, kind: str, names: tuple[str, ...] = NAMES, **options: Any) -> None:
    """A data set with a row for each video, and an empty one after the first."""
    data = [generated(name).read_bytes() for name in names]
    data.insert(1, None)  # type: ignore[arg-type]
    ids = pa.array(range(len(data)))
    if kind == "blob":
        schema = pa.schema([pa.field("id", pa.int64()), lance.blob_field("video")])
        table = pa.table([ids, lance.blob_array(data)], schema=schema)
        options["data_storage_version"] = "2.2"
    else:
        table = pa.table({"id": ids, "video": pa.array(data, pa.large_binary())})
    lance.write_dataset(table, path, **options)


@pytest.mark.parametrize("kind", ["blob", "bytes"])
def test_videos_in_a_lance_data_set_are_rows(tmp_path: Path, kind: str) -> None:
    write(tmp_path / "videos.lance", kind)
    tricodec.DatasetIndex.build([tmp_path / "videos.lance"], tmp_path / "index.parquet")
    index = pickle.loads(pickle.dumps(tricodec.DatasetIndex(tmp_path / "index.parquet")))

    assert [row["path"] for row in index] == [f"videos.lance/{row}" for row in (0, 2, 3)]
    for row, name in enumerate(NAMES):
        clip = generated(name)
        assert (index[row]["status"], index[row]["size_bytes"]) == ("ok", clip.stat().st_size), index[row]["error"]
        expected = tricodec.decode_video(clip, indices=[20, 3], size=(24, 32), device="cpu").frames
        with index.reader(row, device="cpu") as reader:
            np.testing.assert_array_equal(reader.batch([20, 3], size=(24, 32)), expected)
    clips = tricodec.Dataset(index, clip_length=4, size=(24, 32))
    seen = [number for batch in clips.batches(5) for number in batch["clip"].tolist()]
    assert sorted(seen) == list(range(len(clips)))


def test_rows_are_those_of_the_version_that_was_indexed(tmp_path: Path) -> None:
    write(tmp_path / "videos.lance", "blob")
    tricodec.DatasetIndex.build([tmp_path / "videos.lance"], tmp_path / "index.parquet")
    lance.dataset(tmp_path / "videos.lance").delete("id = 0")
    expected = tricodec.decode_video(generated(NAMES[0]), indices=[5], device="cpu").frames
    with tricodec.DatasetIndex(tmp_path / "index.parquet").reader(0, device="cpu") as reader:
        np.testing.assert_array_equal(reader.batch([5]), expected)

    again = tricodec.DatasetIndex.build([], tmp_path / "index.parquet")
    assert again.statuses == {"ok": 2, "missing": 2}, "rows of the new version, and what is not in it any more"


def test_a_data_set_without_videos_is_a_row_with_the_reason(tmp_path: Path) -> None:
    lance.write_dataset(pa.table({"label": [1]}), tmp_path / "other.lance")
    tricodec.DatasetIndex.build([tmp_path / "other.lance"], tmp_path / "index.parquet")
    assert "has no column of blobs or bytes" in tricodec.DatasetIndex(tmp_path / "index.parquet")[0]["error"]


def test_a_forked_child_gets_an_error_and_a_spawned_one_reads(tmp_path: Path) -> None:
    write(tmp_path / "videos.lance", "blob")
    tricodec.DatasetIndex.build([tmp_path / "videos.lance"], tmp_path / "index.parquet")
    program = """
import os, sys, tricodec
index = tricodec.DatasetIndex(sys.argv[1])
print(len(index.reader(0, device="cpu")), flush=True)
if (child := os.fork()) == 0:
    try:
        tricodec.DatasetIndex(sys.argv[1]).reader(0, device="cpu")
    except tricodec.UnsupportedError as error:
        print("spawn or forkserver" in str(error), flush=True)
    os._exit(0)
os.waitpid(child, 0)
"""
    run = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", program, str(tmp_path / "index.parquet")],
        check=True,
        capture_output=True,
        text=True,
        timeout=120,
        env=os.environ,
    )
    assert run.stdout.split() == [str(len(tricodec.FrameReader(generated(NAMES[0])))), "True"]
