# SPDX-License-Identifier: Apache-2.0
"""tools/check_cycles.py finds parts that include each other, and layers that are too deep."""

from __future__ import annotations

import sys

import media

sys.path.insert(0, str(media.REPOSITORY / "tools"))

import check_cycles


def chain(count: int) -> dict[str, set[str]]:
    """Parts of core/video that include the next one each."""
    names = [f"core/video/p{i}" for i in range(count)]
    return {name: set(names[i + 1 : i + 2]) for i, name in enumerate(names)}


def test_parts_that_include_each_other_are_found_with_what_is_between_them() -> None:
    edges = {"core/video/a": {"core/video/b"}, "core/video/b": {"core/video/c"}, "core/video/c": {"core/video/a"}}

    assert list(check_cycles.cycles(edges)) == [["core/video/a", "core/video/b", "core/video/c"]]


def test_a_layer_may_have_six_levels_and_not_seven() -> None:
    assert list(check_cycles.too_deep(chain(6))) == []
    assert list(check_cycles.too_deep(chain(7))) == [
        "core/video has 7 levels of includes; at most 6 are allowed: p0 -> p1 -> p2 -> p3 -> p4 -> p5 -> p6"
    ]


def test_a_layer_may_have_twenty_parts_and_not_more() -> None:
    parts: dict[str, set[str]] = {f"core/index/p{i}": set() for i in range(20)}

    assert list(check_cycles.too_deep(parts)) == []
    assert list(check_cycles.too_deep(parts | {"core/index/p20": set()})) == [
        "core/index has 21 parts; at most 20 are allowed"
    ]


def test_what_a_layer_includes_of_others_is_no_level() -> None:
    edges = chain(6) | {"core/video/p5": {"core/index/a"}, "core/index/a": set()}

    assert list(check_cycles.too_deep(edges)) == []


def test_the_tree_has_none_of_that() -> None:
    assert check_cycles.main() == 0
