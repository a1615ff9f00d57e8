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
