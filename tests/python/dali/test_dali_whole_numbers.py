# SPDX-License-Identifier: Apache-2.0
"""DALI's operators refuse fractions of whole numbers, which DALI would cut off; damage is logged once for each file."""

from __future__ import annotations

from typing import Any

import pytest
from media import generated
from programs import run_python

dali = pytest.importorskip("nvidia.dali")


@pytest.mark.parametrize(
    ("operator", "arguments"),
    [
        ("DecodeVideo", {"start": 1.5}), ("DecodeVideo", {"count": 2.5}), ("DecodeVideo", {"indices": [1, 2.5]}),
        ("ReadVideo", {"filenames": ["a.mp4"], "sequence_length": 2.5}), ("EncodeVideo", {"gop_size": 0.5}),
        ("ReadVideo", {"filenames": ["a.mp4"], "sequence_length": 2, "stride": float("nan")}),
    ],
)  # fmt: skip
def test_a_fraction_is_refused_by_name(operator: str, arguments: dict[str, Any]) -> None:
    import tricodec.dali  # noqa: F401
    from nvidia.dali import ops

    name = list(arguments)[-1]
    with pytest.raises(
        ValueError, match=rf"{operator}: {name} is .*; it takes whole numbers: use int\(\) or round\(\)"
    ):
        getattr(ops.tricodec, operator)(**arguments)


def test_whole_numbers_of_any_type_are_taken() -> None:
    import numpy as np
    import tricodec.dali  # noqa: F401
    from nvidia.dali import ops

    ops.tricodec.DecodeVideo(start=2.0, count=np.int64(3), fps=2.5)


def test_a_damaged_file_that_is_read_in_sequences_is_logged_once(tmp_path: Any) -> None:
    data = bytearray(generated("h264_bframes.mp4").read_bytes())
    for start in range(len(data) // 3, len(data) - 500, len(data) // 12):
        data[start : start + 100] = bytes(100)
    (tmp_path / "damaged.mp4").write_bytes(data)
    program = """
    import sys, tricodec.dali
    from nvidia.dali import fn, pipeline_def
    @pipeline_def(batch_size=2, num_threads=2, device_id=None)
    def sequences():
        return tuple(fn.tricodec.read_video(filenames=[sys.argv[1]], sequence_length=4))
    pipeline = sequences()
    pipeline.build()
    for _ in range(12):
        pipeline.run()
    """
    result = run_python(program, tmp_path / "damaged.mp4")
    assert result.returncode == 0, result.stderr
    assert result.stderr.count("is damaged") == 1, (result.stderr, result.stdout)
