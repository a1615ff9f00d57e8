# SPDX-License-Identifier: Apache-2.0
"""Options of CreateEncoder and Encode at the ends of their ranges and in other forms; `bf` by version."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import bitstreams
import numpy as np
import PyNvVideoCodec as nvc
import pytest
from preloaded import with_tricodec
from pynv_helpers import HEIGHT, WIDTH, encode


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


# A program that encodes eight pictures, and what it says on the way.
_PROGRAM = """
import sys
import numpy as np
import PyNvVideoCodec as nvc
{before}
frames = np.fromfile({raw!r}, np.uint8).reshape(8, -1)
encoder = nvc.CreateEncoder({width}, {height}, "NV12", True, preset="P1", {options})
with open({out!r}, "wb") as file:
    for frame in frames:
        file.write(bytearray(encoder.Encode(frame)))
    file.write(bytearray(encoder.EndEncode()))
print(nvc.__version__)
"""


def run_program(tmp_path: Path, options: str, before: str = "", **environment: str) -> tuple[str, str, str]:
    """The types of the encoded pictures, and what the program writes to its standard output and error."""
    raw, out = tmp_path / "raw.yuv", tmp_path / "out.h264"
    bitstreams.moving(WIDTH, HEIGHT, 8, noise=2).tofile(raw)
    code = _PROGRAM.format(raw=str(raw), out=str(out), width=WIDTH, height=HEIGHT, options=options, before=before)
    result = with_tricodec().run_code(code, **environment)
    assert result.returncode == 0, result.stderr
    return bitstreams.pictures(out)[:7], result.stdout.strip(), result.stderr


@pytest.mark.parametrize(
    ("version", "bf", "pattern"),
    [
        ("1.0", 0, "IIIIIII"),
        ("1.0", 1, "IPPPPPP"),
        ("1.0", 2, "IBPBPBP"),
        ("1.0", 3, "IBBPBBP"),
        ("2.2", 0, "IPPPPPP"),
        ("2.2", 1, "IBPBPBP"),
        ("2.2", "2", "IBBPBBP"),
        ("2.2", 3, "IBBBPBB"),
    ],
)
def test_c76_bf_is_the_pattern_of_version_1_and_the_number_of_b_frames_of_version_2(
    version: str, bf: object, pattern: str, tmp_path: Path
) -> None:
    nvc.set_api_version(version)

    path = encode(bitstreams.moving(WIDTH, HEIGHT, 8, noise=2), tmp_path, codec="h264", bf=bf)

    assert bitstreams.pictures(path)[:7] == pattern


def test_bf_above_its_range_is_refused_with_the_programs_number() -> None:
    nvc.set_api_version("2.2")

    with pytest.raises(ValueError, match="bf is '16'; accepted: an integer from 0 to 15"):
        nvc.CreateEncoder(WIDTH, HEIGHT, "NV12", True, bf=16)


def test_bf_0_is_intra_pictures_with_a_warning_when_a_program_uses_the_names_of_1_only(tmp_path: Path) -> None:
    pictures, version, log = run_program(tmp_path, "bf=0", f"nvc.CreateEncoder({WIDTH}, {HEIGHT}, 'NV12', True, bf=0)")

    assert (pictures, version) == ("IIIIIII", "2.2.4")
    assert log.count("bf=0 gives intra pictures only") == 1
    assert "set_api_version('2.2')" in log


@pytest.mark.parametrize("codec", ["h264", "hevc"])
def test_table_1s_own_names_mean_the_nested_ones(codec: str) -> None:
    nested = {"slice": {"mode": 3, "data": 2}, "timinginfo": {"num_unit_in_ticks": 1, "timescale": 60}}
    named = {
        "slice::mode": 3, "slice::data": 2, "timingInfo::num_unit_in_ticks": 1, "timingInfo :: timescale": "60",
    }  # fmt: skip
    pictures = np.random.default_rng(1).integers(0, 256, (4, 384, 256), np.uint8)

    def encoded(options: dict[str, object]) -> list[bytes]:
        """The headers, and the first byte of each slice: libx265 codes several slices differently each time."""
        encoder = nvc.CreateEncoder(256, 256, "NV12", True, codec=codec, num_threads=1, **options)
        stream = b"".join(bytes(encoder.Encode(picture)) for picture in pictures) + bytes(encoder.EndEncode())
        return [unit if len(unit) < 100 else unit[:1] for unit in stream.split(b"\0\0\1")]

    assert encoded(named) == encoded(nested) != encoded({})


@pytest.mark.parametrize("codec", ["h264", "hevc", "av1"])
def test_one_thread_encodes_the_same_bytes_each_time(codec: str) -> None:
    pictures = np.random.default_rng(2).integers(0, 256, (12, 288, 256), np.uint8)
    runs = set()
    for _ in range(5):
        encoder = nvc.CreateEncoder(256, 192, "NV12", True, codec=codec, preset="P1", bitrate=300000, num_threads=1)
        packets = [bytes(encoder.Encode(picture)) for picture in pictures]
        runs.add(b"".join([*packets, bytes(encoder.EndEncode())]))
    assert len(runs) == 1
