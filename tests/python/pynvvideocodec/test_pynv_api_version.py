# SPDX-License-Identifier: Apache-2.0
"""What ``bf`` means: the number of B frames to programs for 2.x, the document's pattern to programs for 1.0."""

from __future__ import annotations

from pathlib import Path

import bitstreams
import PyNvVideoCodec as nvc
import pytest
from preloaded import with_tricodec
from pynv_encoding import HEIGHT, WIDTH, encode

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


@pytest.mark.parametrize(("bf", "pattern"), [(0, "IPPPPPPP"), (1, "IBPBPBPP"), ("2", "IBBPBBPP"), (3, "IBBBPBBB")])
def test_bf_is_the_number_of_b_frames_when_version_2_is_chosen(bf: object, pattern: str, tmp_path: Path) -> None:
    nvc.set_api_version("2.2")

    path = encode(bitstreams.moving(WIDTH, HEIGHT, 8, noise=2), tmp_path, codec="h264", bf=bf)

    assert bitstreams.pictures(path)[:7] == pattern[:7]


def test_bf_above_its_range_is_refused_with_the_programs_number() -> None:
    nvc.set_api_version("2.2")

    with pytest.raises(ValueError, match="bf is '16'; accepted: an integer from 0 to 15"):
        nvc.CreateEncoder(WIDTH, HEIGHT, "NV12", True, bf=16)


def test_bf_0_is_intra_pictures_with_a_warning_when_a_program_uses_the_names_of_1_only(tmp_path: Path) -> None:
    pictures, version, log = run_program(tmp_path, "bf=0", f"nvc.CreateEncoder({WIDTH}, {HEIGHT}, 'NV12', True, bf=0)")

    assert (pictures, version) == ("IIIIIII", "2.2.4")
    assert log.count("bf=0 gives intra pictures only") == 1
    assert "set_api_version('2.2')" in log
