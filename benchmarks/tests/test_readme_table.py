# SPDX-License-Identifier: Apache-2.0
"""README's table has the figures of the results files, on each machine."""

from __future__ import annotations

import re

from benchmarks import readme_table


def test_each_ratio_is_the_quotient_of_the_figures_beside_it() -> None:
    rows = [[cell.strip() for cell in line.split("|")[1:-1]] for line in readme_table.summary().splitlines()[2:]]

    assert {row[0].split(",")[0] for row in rows} == {"1 of 2 cores", "2 cores", "16 cores", "H200"}
    for row in rows:
        ours, theirs = (float(re.match(r"[\d,.]+", cell)[0].replace(",", "")) for cell in row[2:4])
        assert row[4] == f"{theirs / ours if row[2].endswith(' ms') else ours / theirs:.2f}x", row
    assert [row for row in rows if row[4] < "1"], "rows in which a peer is faster are shown"


def test_the_chinese_table_has_the_same_figures() -> None:
    def figures(table: str) -> list[str]:
        return re.findall(r"[\d,.]+ (?:fps|ms|clips/s)|[\d.]+x", table)

    assert figures(readme_table.summary(1)) == figures(readme_table.summary(0)) != []
