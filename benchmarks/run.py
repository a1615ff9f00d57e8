# SPDX-License-Identifier: Apache-2.0
"""Runs the CPU benchmarks and writes benchmarks/results/cpu.json. `--once` only proves that each one starts."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests" / "python"))  # the clips are those of the tests

import decode
import media
import schema
import transform
from tricodec.cli.table import format_table

_RESULTS = Path(__file__).resolve().parent / "results" / "cpu.json"


def main() -> int:
    """1 if a goal is not met."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--samples", type=int, default=7, metavar="N", help="repetitions of each (default 7)")
    parser.add_argument("--once", action="store_true", help="one sample each, nothing written but --output")
    parser.add_argument("--output", type=Path, metavar="FILE", help="the results file (default: results/cpu.json)")
    options = parser.parse_args()
    samples = 1 if options.once else options.samples

    clips = {"bigbuckbunny_720p_h264": media.bigbuckbunny(), "testsrc_1080p_h264": media.generated("h264_1080p.mp4")}
    records = []
    for measured in (decode.records(clips, samples), transform.records(clips, samples)):
        for record in measured:
            peers = ", ".join(f"{peer} {median:.0f}" for peer, median in record.peers.items())
            print(f"{record.name}: {record.median:.0f} {record.unit} (peers: {peers})", flush=True)
            records.append(record)
    goals = list(decode.goals(clips))
    rows = [[goal.name, goal.value, goal.goal, "yes" if goal.met else "NO"] for goal in goals]
    print(format_table(["goal", "value", "goal", "met"], rows))

    output = options.output or (None if options.once else _RESULTS)
    if output is not None:
        schema.write(output, schema.document(records, goals))
        print(f"wrote {output}")
    return 0 if all(goal.met for goal in goals) else 1


if __name__ == "__main__":
    sys.exit(main())
