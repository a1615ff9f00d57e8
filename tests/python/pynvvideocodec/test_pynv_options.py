# SPDX-License-Identifier: Apache-2.0
"""Options of CreateEncoder and Encode by the document's names, at the ends of their ranges, and in other forms."""

from __future__ import annotations

from typing import Any

import numpy as np
import PyNvVideoCodec as nvc
import pytest


@pytest.mark.parametrize(
    ("options", "missing"),
    [
        ({"slice": {"mode": 3}}, "data"),
        ({"slice::mode": 3}, "slice_data"),
        ({"timingInfo::num_unit_in_ticks": 1}, "timescale"),
    ],
)
def test_options_with_a_part_missing_name_it(options: dict[str, object], missing: str) -> None:
    with pytest.raises(ValueError, match=missing):
        nvc.CreateEncoder(64, 64, "NV12", True, **options)


@pytest.mark.parametrize("codec", ["h264", "hevc"])
@pytest.mark.parametrize("options", [{"lookahead": 251}, {"lookahead": 255}, {"bitrate": 1}, {"vbvbufsize": 999}])
def test_documented_values_that_an_encoder_lacks_become_the_nearest(
    codec: str, options: dict[str, int], caplog: pytest.LogCaptureFixture
) -> None:
    encoder = nvc.CreateEncoder(64, 64, "NV12", True, codec=codec, **options)

    assert bytes(encoder.Encode(np.zeros((96, 64), np.uint8))) + bytes(encoder.EndEncode())
    (name, value) = next(iter(options.items()))
    assert f"{name} is {250 if name == 'lookahead' else 1000} with libx26" in caplog.text
    assert f"not {value}: it accepts" in caplog.text


@pytest.mark.parametrize(
    "sei",
    [
        [{"sei_type": 5, "payload": [1]}],
        [({"sei_type": 5}, 3)],
        [({"sei_type": 5}, [256])],
        [({"sei_type": 300}, [1])],
        [None],
    ],
    ids=str,
)
def test_sei_messages_of_another_form_are_one_error(sei: Any) -> None:
    encoder = nvc.CreateEncoder(64, 64, "NV12", True)
    with pytest.raises(ValueError, match=r"an SEI message is .*it must be a pair of a dict with 'sei_type'"):
        encoder.Encode(np.zeros((96, 64), np.uint8), 0, sei)
