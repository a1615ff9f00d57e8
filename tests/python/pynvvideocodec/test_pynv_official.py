# SPDX-License-Identifier: Apache-2.0
"""The surface of tricodec's PyNvVideoCodec against that of NVIDIA's package, which is imported without a GPU."""

from __future__ import annotations

import json
from pathlib import Path

import PyNvVideoCodec as nvc
from pynv_helpers import differences, official, surface


def test_surface_differs_from_the_official_one_only_as_the_table_says(tmp_path: Path) -> None:
    theirs = json.loads(official.run_with_module(Path(surface.__file__).read_text(), tmp_path))
    ours = json.loads(json.dumps(surface.surface(nvc)))

    found = differences.differences(theirs, ours)

    assert found == {name: what for name, (what, _) in differences.KNOWN.items()}
    assert len(theirs) > 60  # the whole of it was read


def test_comparison_finds_what_differs() -> None:
    ours = json.loads(json.dumps(surface.surface(nvc)))
    theirs = json.loads(json.dumps(ours))
    del theirs["NVENC_VER_12"]
    theirs["cudaVideoCodec"]["enum"]["AV1"] = 12
    theirs["GetEncoderCaps"]["function"] = [[["gpuid", "1"], ["codec", "'h264'"]], [["codec", "'h264'"]]]
    theirs["PyNvDecoder"]["class"]["Decode"] = [[["", ""], ["", ""]]]
    theirs["PyNvDecoder"]["class"]["Encode"] = [[]]

    found = differences.differences(theirs, ours)

    assert found.pop("cudaVideoCodec")
    assert found == {
        "NVENC_VER_12": "only here",
        "GetEncoderCaps": "gpuid=0; codec is argument 2",
        "PyNvDecoder.Decode": "takes 1 arguments",
        "PyNvDecoder.Encode": "only in the original",
    }


def test_page_of_differences_has_the_table() -> None:
    page = differences.PAGE.read_text()

    assert differences.render(page) == page, "run python tests/python/helpers/pynv_helpers/differences.py"
    assert all(f"| `{name}` |" in page for name in differences.KNOWN)
