# SPDX-License-Identifier: Apache-2.0
"""README's table has the figures of the results files, on each machine."""

from __future__ import annotations

import re

from benchmarks import readme_table, results


def test_each_machine_has_rows_with_the_ratios_of_its_results() -> None:
    rows = [[cell.strip() for cell in line.split("|")[1:-1]] for line in readme_table.summary().splitlines()[2:]]
    _, cells = results.read(results.FOLDER / "compat_wall.csv")
    (random,) = [
        row.value for row in cells if (row.task, row.setting, row.against) == ("random", "torchcodec", "torchcodec")
    ]

    assert {row[0].split(",")[0] for row in rows} == {"2 cores", "16 cores", "H200"}
    assert f"{random:.2f}x" in [row[4] for row in rows if row[0].startswith("16 cores") and "32 frames" in row[1]]


def test_the_chinese_table_has_the_same_figures() -> None:
    def figures(table: str) -> list[str]:
        return re.findall(r"[\d,.]+ (?:fps|ms|clips/s)|[\d.]+x", table)

    assert figures(readme_table.summary(1)) == figures(readme_table.summary(0)) != []
