# SPDX-License-Identifier: Apache-2.0
"""DALI's operators refuse fractions of whole numbers, which DALI would cut off; damage is logged once for each file."""

from __future__ import annotations

from typing import Any

import pytest

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
