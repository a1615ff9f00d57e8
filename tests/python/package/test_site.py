# SPDX-License-Identifier: Apache-2.0
"""The site that `make docs` has built in build/site: its search answers, and it stays small."""

from __future__ import annotations

import importlib.util
import json
import os
from collections.abc import Callable
from typing import Any

import media
import pytest

SITE = media.REPOSITORY / "build" / "site"
INDEX = SITE / "search" / "search_index.json"
MOST_PAGES = 45  # in English

if os.environ.get("TRICODEC_REQUIRE_SITE", "0") == "0":
    if not INDEX.exists():
        pytest.skip("make docs has not built the site", allow_module_level=True)
    if importlib.util.find_spec("py_mini_racer") is None:
        pytest.skip("mini-racer is not installed", allow_module_level=True)


@pytest.fixture(scope="module")
def first_page() -> Callable[[str], str]:
    """The page on the first line of the answers to a question: the page's own worker answers, as in a browser."""
    from py_mini_racer import MiniRacer

    (worker,) = (SITE / "assets" / "javascripts" / "workers").glob("search.*.js")
    browser = MiniRacer()
    browser.eval("var handler, answer, self = this, console = {warn() {}};")
    browser.eval("function addEventListener(_, each) { handler = each } function postMessage(said) { answer = said }")
    browser.eval(worker.read_text())

    def send(kind: int, data: Any) -> Any:
        browser.eval(f"handler({{data: {{type: {kind}, data: {json.dumps(data)}}}}})")
        return json.loads(str(browser.eval("JSON.stringify(answer)")))

    assert send(0, {"options": {"suggest": True}, **json.loads(INDEX.read_text())}) == {"type": 1}  # ready
    return lambda question: str(send(2, question)["data"]["items"][0][0]["location"]).split("#")[0]


@pytest.mark.parametrize(
    ("question", "page"),
    [
        ("install", "start/install.html"),
        ("pip", "start/install.html"),
        ("batch", "reference/frame_reader.html"),
        ("keyframes", "reference/frame_reader.html"),
        ("read video into torch tensor", "index.html"),
        ("DataLoader", "howto/train_pytorch.html"),
        ("S3", "howto/remote.html"),
        ("first look", "notebooks/first_look.html"),
        ("安装", "zh/start/install.html"),
        ("训练", "zh/howto/train_pytorch.html"),
    ],
)
def test_search_answers_with_the_right_page_first(question: str, page: str, first_page: Callable[[str], str]) -> None:
    assert first_page(question) == page


def test_the_site_has_few_pages_in_english() -> None:
    places = {entry["location"].split("#")[0] for entry in json.loads(INDEX.read_text())["docs"]}

    english = {place for place in places if not place.startswith("zh/")}

    assert len(english) <= MOST_PAGES, sorted(english)
