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
        ({"slice": {"mode": 3}}, "data"), ({"slice::mode": 3}, "slice_data"), ({"timescale": 60}, "num_unit_in_ticks"),
        ({"timingInfo": {"timescale": 60}}, "num_unit_in_ticks"), ({"timingInfo::num_unit_in_ticks": 1}, "timescale"),
    ],
)  # fmt: skip
def test_options_with_a_part_missing_name_it(options: dict[str, object], missing: str) -> None:
    with pytest.raises(ValueError, match=missing):
        nvc.CreateEncoder(64, 64, "NV12", True, **options)


@pytest.mark.parametrize("codec", ["h264", "hevc"])
def test_table_1s_own_names_mean_the_nested_ones(codec: str) -> None:
    nested = {"slice": {"mode": 3, "data": 2}, "timinginfo": {"num_unit_in_ticks": 1, "timescale": 60}}
    named = {
        "slice::mode": 3, "slice::data": 2, "timingInfo::num_unit_in_ticks": 1, "timingInfo :: timescale": "60",
    }  # fmt: skip
    pictures = np.random.default_rng(1).integers(0, 256, (4, 384, 256), np.uint8)

    def encoded(options: dict[str, object]) -> bytes:
        encoder = nvc.CreateEncoder(256, 256, "NV12", True, codec=codec, num_threads=1, **options)
        return b"".join(bytes(encoder.Encode(picture)) for picture in pictures) + bytes(encoder.EndEncode())

    assert encoded(named) == encoded(nested) != encoded({})


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


@pytest.mark.parametrize("codec", ["h264", "hevc", "av1"])
def test_one_thread_encodes_the_same_bytes_each_time(codec: str) -> None:
    pictures = np.random.default_rng(2).integers(0, 256, (12, 288, 256), np.uint8)
    runs = set()
    for _ in range(5):
        encoder = nvc.CreateEncoder(256, 192, "NV12", True, codec=codec, preset="P1", bitrate=300000, num_threads=1)
        packets = [bytes(encoder.Encode(picture)) for picture in pictures]
        runs.add(b"".join([*packets, bytes(encoder.EndEncode())]))
    assert len(runs) == 1


@pytest.mark.parametrize(
    "sei",
    [
        [{"sei_type": 5, "payload": [1]}], [{"sei_type": 5}], {"sei_type": 5}, [({"sei_type": 5}, 3)],
        [({"sei_type": 5}, "ab")], [({"sei_type": 5}, [256])], [({"sei_type": 300}, [1])], [(5, [1])],
        [({"sei_type": 5}, [1], 2)], [None],
    ],
    ids=str,
)  # fmt: skip
def test_sei_messages_of_another_form_are_one_error(sei: Any) -> None:
    encoder = nvc.CreateEncoder(64, 64, "NV12", True)
    with pytest.raises(ValueError, match=r"an SEI message is .*it must be a pair of a dict with 'sei_type'"):
        encoder.Encode(np.zeros((96, 64), np.uint8), 0, sei)
