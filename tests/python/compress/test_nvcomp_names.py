# SPDX-License-Identifier: Apache-2.0
"""nvCOMP's public names, values and arguments: NVIDIA's packages of 5.3 and 6.0 beside tricodec.nvcomp."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import nvcomp_surface
import pytest
import tricodec
from compress_data import corpus
from nvcomp_differences import DIFFERENCES, table
from nvcomp_wheels import RELEASES, wheel_site
from programs import printed_by
from tricodec import nvcomp

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
    assert found == {name for name, (releases, _) in DIFFERENCES.items() if release in releases}


def test_the_document_has_the_table_of_differences() -> None:
    document = Path(__file__).parents[3] / "docs" / "migration" / "nvcomp.md"
    assert table() in document.read_text(), "run tests/python/helpers/nvcomp_differences.py"


def test_the_comparison_sees_other_names_defaults_and_values() -> None:
    theirs: dict[str, Any] = {
        "f": {"overloads": [[["a", None], ["b", "0"]]]},
        "Kind": {"members": {"ONE": 1}},
        "C": {"attributes": {"size": "property", "g": [[["x", None]]], "keywords": ["level"]}},
        "missing": {"overloads": [[]]},
    }
    ours: dict[str, Any] = {
        "f": {"overloads": [[["a", None], ["b", "1"]], [["b", None], ["a", "0"]], [["a", None]]]},
        "Kind": {"members": {"ONE": 2}},
        "C": {"attributes": {"size": [[]], "g": [[["y", None]]], "keywords": []}},
    }
    assert nvcomp_surface.differences(theirs, ours) == {
        "f(a, b=0)", "Kind", "C.size", "C.g(x)", "C(level=)", "missing",
    }  # fmt: skip
    assert nvcomp_surface.differences(ours, ours) == set()


def test_dir_shows_the_public_names() -> None:
    public = {"__cuda_version__", "__doc__", "__name__", "__version__", *nvcomp.__all__}
    assert set(dir(nvcomp)) == public
    code = "import tricodec.nvcomp as ours\nfrom nvidia import nvcomp\nprint(dir(nvcomp) == dir(ours))"
    assert printed_by(code, TRICODEC_NVIDIA_NVCOMP="1") == "True\n"


def test_arguments_have_their_documented_names() -> None:
    codec = nvcomp.Codec(**LZ4)
    datas = [b"a" * 1000, b"b" * 10]
    one = codec.encode(array=datas[0], out=None, compression_config=codec.compression_config(uncompressed_size=1000))
    both = codec.encode(srcs=datas, compression_config=codec.compression_config(uncompressed_sizes=[1000, 10]))

    assert bytes(codec.encode(array_s=datas[0])) == bytes(one) == bytes(both[0])
    for config in (codec.decompression_config(src=one), None):
        assert bytes(codec.decode(src=one, data_type="|u1", decompression_config=config)) == datas[0]
    sizes = codec.compression_config([1000, 10])
    for config in (codec.decompression_config(srcs=both), codec.decompression_config(compression_config=sizes)):
        assert [bytes(x) for x in codec.decode(srcs=both, decompression_config=config)] == datas
    assert codec.get_uncomp_buffer_size(source=one) == 1000 < codec.get_max_comp_buffer_size(source=datas[0])
    assert bytes(nvcomp.as_array(source=b"a", cuda_stream=0)) == b"a"
    assert bytes(nvcomp.as_arrays(sources=[b"a"], cuda_stream=0)[0]) == b"a"


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


@pytest.mark.parametrize(
    ("offsets", "sizes", "why"),
    [
        ([390], [20], "20 bytes at offset 390 do not lie within the 400 of the buffer"),
        ([-4], [4], "offset -4"),
        ([0], [3], "3 bytes are no number of elements of 4 bytes"),
        ([0, 4], [4], "2 offsets for 1 sizes"),
    ],
)
def test_parts_outside_of_a_buffer_are_refused(offsets: list[int], sizes: list[int], why: str) -> None:
    with pytest.raises(ValueError, match=why):
        nvcomp.as_arrays(np.arange(100, dtype="<i4"), offsets, sizes)


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


def test_options_of_nvcomp_6_that_change_nothing_are_accepted() -> None:
    plain = nvcomp.Codec(**LZ4).encode(b"abc")
    more = {"execution_policy": nvcomp.ExecutionPolicy.LATENCY, "skip_validate": True, "mode": nvcomp.BITCOMP_LOSSLESS}
    zeros = {"delta": 0.5, "states_per_lane": 0, "histogram_reduction_log2": 0, "max_sub_chunk_count": 0}
    assert bytes(nvcomp.Codec(**LZ4, **more, **zeros).encode(b"abc")) == bytes(plain)
    with pytest.raises(TypeError, match="execution_policy must be of type ExecutionPolicy, not 1"):
        nvcomp.Codec(execution_policy=1)


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
