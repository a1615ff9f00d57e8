# SPDX-License-Identifier: Apache-2.0
"""fn.tricodec.read_video(index=...) reads the clips of tricodec.data.Dataset under the same numbers."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tricodec
from media import generated
from range_server import range_server

pytestmark = pytest.mark.needs_dali

VIDEOS = {"run/a.mp4": "h264_bframes.mp4", "run/b.mkv": "h264_vfr.mkv", "jump/c.webm": "vp9.webm"}
SIZE = (24, 32)


@pytest.fixture(scope="module")
def index(tmp_path_factory: pytest.TempPathFactory) -> tricodec.data.DatasetIndex:
    folder = tmp_path_factory.mktemp("videos")
    for name, clip in VIDEOS.items():
        (folder / name).parent.mkdir(exist_ok=True)
        shutil.copy(generated(clip), folder / name)
    (folder / "broken.mp4").write_bytes(b"broken")
    tricodec.data.DatasetIndex.build([folder], folder / "index.parquet")
    return tricodec.data.DatasetIndex(folder / "index.parquet")


def read(num_clips: int, **arguments: Any) -> list[list[np.ndarray[Any, Any]]]:
    """The outputs of a reader for each of the first clips."""
    import tricodec.dali  # noqa: F401  # registers the operator
    from nvidia.dali import fn, pipeline_def

    @pipeline_def(batch_size=1, num_threads=2, device_id=None)
    def pipeline() -> Any:
        return tuple(fn.tricodec.read_video(name="reader", size=SIZE, **arguments))

    pipe = pipeline()
    pipe.build()
    assert pipe.reader_meta("reader")["epoch_size"] == num_clips
    return [[np.array(output.at(0)) for output in pipe.run()] for _ in range(num_clips)]


@pytest.mark.parametrize("as_path", [False, True])
def test_sequences_are_the_clips_of_a_dataset_with_their_labels(
    index: tricodec.data.DatasetIndex, as_path: bool
) -> None:
    clips = tricodec.data.Dataset(index, clip_length=4, stride=2, step=7, size=SIZE)
    labels = [10 * row for row in range(len(index))]
    given = Path(index.path) if as_path else index
    found = read(len(clips), index=given, labels=labels, sequence_length=4, stride=2, step=7)
    for number, (frames, pts, label) in enumerate(found):
        clip = clips[number]
        np.testing.assert_array_equal(frames, clip["frames"])
        np.testing.assert_array_equal(pts, clip["pts_seconds"])
        assert label.tolist() == [labels[clip["video"]]]


def test_a_video_with_a_url_is_refused_by_name(tmp_path: Path) -> None:
    import tricodec.dali

    pytest.importorskip("fsspec")
    with range_server() as server:
        url = server.put("a.mp4", generated("h264_bframes.mp4").read_bytes())
        tricodec.data.DatasetIndex.build([url], tmp_path / "index.parquet")
        with pytest.raises(ValueError, match=r"/a\.mp4' is a URL, and read_video reads files"):
            tricodec.dali.index_arguments(tmp_path / "index.parquet")
