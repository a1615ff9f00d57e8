# SPDX-License-Identifier: Apache-2.0
"""nvCOMP's public names beside NVIDIA's packages of 5.3 and 6.0, and programs as its documents write them."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import nvcomp_surface
import pytest
import tricodec
from compress_data import corpus
from media import REPOSITORY
from tricodec import nvcomp
from wheels import RELEASES, wheel_site

LZ4: dict[str, Any] = {"algorithm": "LZ4", "device": "cpu"}


def names_of(release: str) -> dict[str, Any]:
    """The names of NVIDIA's package, imported in a process of its own. That needs no driver."""
    program = Path(nvcomp_surface.__file__)
    result = subprocess.run(
        [sys.executable, "-S", str(program)], capture_output=True, text=True, check=False,
        env=os.environ | {"PYTHONPATH": str(wheel_site(release))},
    )  # fmt: skip
    assert result.returncode == 0, result.stderr
    answer = json.loads(result.stdout)
    assert answer["version"].startswith(release)
    return dict(answer["names"])


@pytest.mark.skipif(sys.version_info < (3, 11), reason="typing.get_overloads is of Python 3.11")
@pytest.mark.parametrize("release", RELEASES)
def test_names_values_and_arguments_are_nvidias_but_for_the_documented_ones(release: str) -> None:
    theirs = names_of(release)
    ours = json.loads(json.dumps(nvcomp_surface.surface(nvcomp)))

    found = nvcomp_surface.differences(theirs, ours)

    assert len(theirs) >= 30
    page = (REPOSITORY / "docs" / "migration" / "nvcomp.md").read_text()
    table = page.partition("<!-- differences of names")[2].partition("<!-- end of differences")[0]
    documented = re.findall(r"^\| `([^`]+)` \| ([\d., ]+) \|", table, re.MULTILINE)
    assert found == {name for name, releases in documented if release in releases}


@pytest.mark.parametrize("names", [(), ("array", "srcs"), ("array_s", "srcs")])
def test_two_names_of_one_argument_are_refused(names: tuple[str, ...]) -> None:
    given: dict[str, Any] = {name: [b"a"] for name in names}
    with pytest.raises(TypeError, match=rf"encode\(\) takes one of array, srcs, array_s; {len(names)} are given"):
        nvcomp.Codec(**LZ4).encode(**given)


def test_a_batch_is_a_list_with_the_methods_of_nvcomp_6() -> None:
    batch = nvcomp.Codec(**LZ4).encode([b"a" * 1000, b"b" * 10])
    assert isinstance(batch, nvcomp.BatchArray)
    assert isinstance(batch, list)
    assert (len(batch), batch[-1], list(batch)) == (2, batch[1], batch)
    assert batch.buffer_sizes == [array.buffer_size for array in batch]
    assert batch.cpu() is batch
    assert isinstance(nvcomp.as_arrays([b"a"]), nvcomp.BatchArray)


def test_a_buffer_is_carved_by_offsets_and_sizes() -> None:
    numbers = np.arange(100, dtype="<i4")

    batch = nvcomp.as_arrays(numbers, [0, 40, 396], [40, 12, 4])

    assert [np.asarray(part).tolist() for part in batch] == [list(range(10)), [10, 11, 12], [99]]
    assert [(part.dtype, part.shape) for part in batch] == [(np.dtype("<i4"), (n,)) for n in (10, 3, 1)]
    numbers[10] = -1
    assert np.asarray(batch[1])[0] == -1  # the same memory
    again = nvcomp.as_arrays(buffer=numbers, offsets=[40], sizes=[4], cuda_stream=0)[0]
    del batch, numbers
    assert np.asarray(again)[0] == -1  # kept


def test_results_are_written_to_the_parts_of_a_buffer() -> None:
    data = [corpus()["text"][:3000], b"b" * 100]
    codec = nvcomp.Codec(**LZ4)
    room = np.zeros(16384, np.uint8)
    packed = nvcomp.as_arrays(room, [0, 8192], [8192, 8192])

    result = codec.encode(data, out=packed)

    assert result.buffer_sizes == packed.buffer_sizes == [array.size for array in codec.encode(data)]
    assert bytes(room[8192 : 8192 + result.buffer_sizes[1]]) == bytes(codec.encode(data[1]))
    assert [bytes(array) for array in codec.decode(packed)] == [bytes(item) for item in data]
    with pytest.raises(ValueError, match="the result has"):
        codec.encode(data, out=nvcomp.as_arrays(room, [0, 8], [8, 8]))


@pytest.mark.parametrize(
    ("keywords", "why"),
    [
        ({"algorithm": "Bitcomp", "mode": nvcomp.BITCOMP_LOSSY_FP_TO_SIGNED}, "mode is <BitcompMode"),
        ({"algorithm": "ANS", "states_per_lane": 2}, "states_per_lane is 2"),
        ({"algorithm": "Cascaded", "compression_level": 3}, "num_rles, num_deltas and use_bitpack choose"),
        ({"algorithm": "Cascaded", "mode": 1}, "mode is an option of nvCOMP 6's Cascaded"),
    ],
)
def test_options_of_nvcomp_6_that_change_the_stream_are_refused(keywords: dict[str, Any], why: str) -> None:
    with pytest.raises(tricodec.UnsupportedError, match=why):
        nvcomp.Codec(**keywords)
