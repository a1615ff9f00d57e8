# SPDX-License-Identifier: Apache-2.0
"""The tables of options: what tools/options.py reads in the sources is what the library has."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
import tricodec
from tricodec.options import SELECTION_OPTIONS, TRANSFORM_OPTIONS

TOOLS = Path(__file__).resolve().parents[3] / "tools"


@pytest.mark.parametrize(("name", "known"), [("selection", SELECTION_OPTIONS), ("transform", TRANSFORM_OPTIONS)])
def test_the_tables_in_the_sources_are_those_of_the_library(
    name: str, known: dict[str, tricodec.options.Option], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(str(TOOLS))
    sys.modules.pop("options", None)
    import options

    read = {option.name: (eval(option.default), option.accepted, option.meaning) for option in options.table(name)}
    assert read == {option: (known[option].default, known[option].accepted, known[option].meaning) for option in known}


def test_an_option_takes_each_value_that_its_table_lists() -> None:
    for name, option in TRANSFORM_OPTIONS.items():
        for value in option.accepted if option.type == "text" else ():
            assert tricodec.Transform(**{name: value}).options[name] == value
