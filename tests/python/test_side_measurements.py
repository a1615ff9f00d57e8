# SPDX-License-Identifier: Apache-2.0
"""Figures that documents quote from measurements by hand stand in benchmarks/results/side.json, word for word."""

from __future__ import annotations

import json
from typing import Any

import media
import pytest

SIDE = json.loads((media.REPOSITORY / "benchmarks" / "results" / "side.json").read_text())
MEASUREMENTS = SIDE["measurements"]


def numbers(value: Any) -> list[float]:
    if isinstance(value, dict):
        return [number for each in value.values() for number in numbers(each)]
    if isinstance(value, list):
        return [number for each in value for number in numbers(each)]
    return [float(value)]


@pytest.mark.parametrize("measurement", MEASUREMENTS, ids=lambda measurement: measurement["name"])
def test_a_measurement_says_when_and_how_and_is_quoted(measurement: dict[str, Any]) -> None:
    assert set(measurement) == {"name", "date", "document", "what", "how", "figures", "quoted"}
    assert all(measurement.values())
    text = " ".join((media.REPOSITORY / measurement["document"]).read_text().split())

    assert [quote for quote in measurement["quoted"] if quote not in text] == []
    assert "side.json" in text
    told = " ".join(measurement["quoted"]).replace(",", "").split()
    values = {float(word.strip("().;%")) for word in told if word.strip("().;%").replace(".", "", 1).isdigit()}
    known = set(numbers(measurement["figures"]))
    # Names of versions and sizes stand in the quotes, too.
    assert values - known <= {264.0, 5.1, 720.0, 1080.0}
    assert values & known


def test_names_are_unique() -> None:
    names = [measurement["name"] for measurement in MEASUREMENTS]

    assert len(names) == len(set(names))
