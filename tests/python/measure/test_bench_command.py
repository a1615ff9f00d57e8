# SPDX-License-Identifier: Apache-2.0
"""`tricodec bench` as a program: each sub-command for a fraction of a second, its report, its exit statuses."""

from __future__ import annotations

import csv
import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from media import generated
from preloaded import with_modules
from tricodec.cli import main

QUICK = ["--duration", "0.03", "--iterations", "3", "--warm-up", "1", "--max-trials", "3"]
ANY = [*QUICK, "--stability-percentage", "1e9"]
CLIP = "h264_bframes.mp4"
NUM_FRAMES = 50


def run_program(*arguments: object) -> subprocess.CompletedProcess[str]:
    programs = with_modules("numpy", "tricodec.cli.command", "tricodec.measure.bench")
    return programs.run_code("import sys\nfrom tricodec.cli import main\nsys.exit(main())", "bench", *arguments)


COMMANDS: dict[str, list[str]] = {
    "decode": ["--device", "cpu", "--threads", "1"],
    "transform": ["--device", "cpu", "--batch", "1:4:x2", "--size", "320x-2"],
    "encode": ["--device", "cpu", "--batch", "5", "--option", "preset=ultrafast"],
    "transcode": ["--device", "cpu", "--batch", "5", "--option", "preset=ultrafast", "--size", "160x-2"],
    "compress": ["--device", "cpu", "--array-bytes", "5000", "--batch", "2"],
    "pipeline": ["--device", "cpu", "--batch", "3", "--concurrency", "1,2"],
}
FRAMES = {"decode": NUM_FRAMES, "encode": 5, "transcode": 5, "pipeline": 3}


@pytest.mark.parametrize("command", COMMANDS)
def test_every_kind_of_work_is_measured_with_the_same_report(command: str, tmp_path: Path) -> None:
    table = tmp_path / "a.csv"

    done = run_program(command, generated(CLIP), *COMMANDS[command], *ANY, "--json", "--csv", table)

    assert done.returncode == 0, done.stderr
    result: dict[str, Any] = json.loads(done.stdout)
    assert {"cpu", "cores", "libraries"} <= set(result["environment"])
    assert result["command"] == command
    assert result["scope"]
    rows = list(csv.DictReader(table.read_text().splitlines()))
    assert len(rows) == len(result["results"])
    rates = [float(row["queries_per_second"]) for row in rows]
    assert rates == sorted(rates)  # as perf_analyzer has them
    for each in result["results"]:
        assert each["queries"] >= 3
        assert each["queries_per_second"] == pytest.approx(each["queries"] / each["seconds"], rel=1e-3)
        assert each["latency_min_ms"] <= each["latency_median_ms"] <= each["latency_max_ms"]
        assert len(each["latencies_ms"]) == each["queries"]
        assert each["latency_p99_ms"] is None or each["queries"] >= 100
        assert each["megabytes_per_second"] > 0
        frames = FRAMES.get(command)
        if frames is not None:
            assert each["frames_per_second"] == pytest.approx(frames * each["queries_per_second"])
        if command in ("encode", "transcode", "compress"):
            assert each["ratio"] > 0.5


@pytest.mark.needs_dali
def test_a_dali_pipeline_is_measured() -> None:
    done = run_program("pipeline", generated(CLIP), "--device", "cpu", "--front-end", "dali", "--batch", 3, *ANY)

    assert done.returncode == 0, done.stderr
    assert "one run of a DALI pipeline" in done.stdout


def test_figures_that_are_not_stable_exit_with_3_and_say_so() -> None:
    done = run_program("compress", generated(CLIP), "--device", "cpu", *QUICK, "--stability-percentage", "1e-9")

    assert done.returncode == 3, done.stdout + done.stderr
    assert re.search(r"unstable \(\d+\.\d%\)", done.stdout)
    assert "unstable: the last three of 3 windows differ" in done.stdout


@pytest.mark.parametrize(
    ("arguments", "status", "text"),
    [
        ("decode CLIP --batch 4:1", 2, "'4:1' is not accepted"),
        ("decode CLIP --concurrency 2 --request-rate 5", 2, "not allowed with argument"),
        ("decode CLIP --bogus", 2, "unrecognized arguments: --bogus"),
        ("decode missing.mp4", 1, "missing.mp4"),
        ("decode CLIP --batch 100000", 1, "a batch of 100000 frames is more than h264_bframes.mp4 has"),
        ("decode CLIP --latency-threshold 9 --percentile 100", 1, "percentile 100 is not accepted"),
        ("decode CLIP --latency-threshold 0", 1, "threshold of 0 ms is not accepted"),
        ("decode CLIP --duration 0", 1, "duration 0 s; accepted: more than 0"),
        ("compress CLIP --array-bytes 0", 1, "arrays of 0 bytes are not accepted"),
        ("compress CLIP --algorithm rar", 1, "rar"),
        pytest.param("serve CLIP --url 127.0.0.1:1", 1, "name a gRPC port with --url", marks=pytest.mark.needs_triton),
    ],
)
def test_wrong_usage_exits_with_2_and_what_cannot_be_measured_with_1(
    arguments: str, status: int, text: str, capsys: pytest.CaptureFixture[str]
) -> None:
    names = [str(generated(CLIP)) if each == "CLIP" else each for each in arguments.split()]

    with pytest.raises(SystemExit) as ended:
        sys.exit(main(["bench", *names]))

    assert ended.value.code == status
    assert text in capsys.readouterr().err


@pytest.mark.parametrize(
    ("threshold", "stability", "status", "text"),
    [
        ("100000", "1e9", 0, "p50 within 100000 ms: up to concurrency 2"),
        ("1e-6", "1e9", 0, "p50 within 1e-06 ms: not even at the lowest load"),
        ("1e-6", "1e-9", 3, "p50 within 1e-06 ms: not known"),
    ],
)
def test_a_latency_threshold_names_the_highest_load_within_it_or_says_why_there_is_none(
    threshold: str, stability: str, status: int, text: str, capsys: pytest.CaptureFixture[str]
) -> None:
    search = ["--concurrency", "1:2", "--latency-threshold", threshold, "--percentile", "50", *QUICK]
    command = ["bench", "compress", str(generated(CLIP)), "--device", "cpu", *search]

    assert main([*command, "--stability-percentage", stability]) == status

    assert text in capsys.readouterr().out


@pytest.mark.needs_triton
def test_a_server_is_started_and_measured_with_its_own_times(capsys: pytest.CaptureFixture[str]) -> None:
    request = ["--size", "32x32", "--batch", "2", "--request-rate", "20,40"]

    assert main(["bench", "serve", str(generated(CLIP)), *request, *ANY, "--json"]) == 0

    result = json.loads(capsys.readouterr().out)
    assert [each["rate"] for each in result["results"]] == [20, 40]
    for each in result["results"]:
        assert each["frames_per_second"] == pytest.approx(2 * each["queries_per_second"])
        assert 0 < each["server_compute_infer_seconds"] < each["latency_max_ms"] / 1000
