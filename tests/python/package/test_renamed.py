# SPDX-License-Identifier: Apache-2.0
"""Old names of modules and attributes, which still work and give a DeprecationWarning."""

from __future__ import annotations

import importlib
import subprocess
import sys

import pytest
from tricodec import _renamed, encode


@pytest.mark.parametrize("old", _renamed.MODULES)
def test_an_old_module_gives_the_names_of_the_new_one_with_a_warning(old: str) -> None:
    new = importlib.import_module(_renamed.MODULES[old])
    module = importlib.import_module(old)

    with pytest.warns(DeprecationWarning, match=rf"{old} is deprecated; use {new.__name__}$"):
        settings = module.Settings

    assert settings is encode.Settings


def test_the_warning_names_the_line_of_the_program() -> None:
    program = "import warnings\nwarnings.simplefilter('always')\nfrom tricodec.encode_parameters import build\n"

    result = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)

    assert result.stderr.startswith("<string>:3: DeprecationWarning: tricodec.encode_parameters is deprecated")


def test_an_old_module_refuses_unknown_names() -> None:
    module = importlib.import_module("tricodec.encode_table")

    with pytest.warns(DeprecationWarning, match="deprecated"), pytest.raises(AttributeError, match="nothing"):
        module.nothing  # noqa: B018


def test_words_of_a_plan_are_its_keywords() -> None:
    plan = encode.build(encode.Settings(), "libx264")

    with pytest.warns(DeprecationWarning, match=r"Plan\.words is deprecated; use Plan\.keywords"):
        words = plan.words

    assert words is plan.keywords
