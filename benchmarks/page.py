# SPDX-License-Identifier: Apache-2.0
"""The tables of docs/benchmarks.md."""

from __future__ import annotations

import statistics
from collections.abc import Iterable, Iterator

from benchmarks.figures import Contest, Results, header, line, results
from benchmarks.node_use import GPUS, WORDS
from benchmarks.readme import DECODE, GPU, PROGRAMS, clip_name
from benchmarks.results import FOLDER, Row, best, better


def _beside(contest: Contest | None) -> str:
    if contest is None:
        return "-"
    ours, peer = contest.printed()
    return f"{ours.split()[0]} : {peer} {contest.peer.contender}, {contest.ratio:.2f}x"


def decoding() -> str:
    """For one core and for two a line for each task, with a column for each clip."""
    decode = results("decode")
    clips = decode.names("input")
    text = f"{decode.where}:\n"
    for cores in (1, 2):
        rows = (
            [words, *(_beside(decode.contest(task=task, input=clip, cores=cores)) for clip in clips)]
            for task, (words, _) in DECODE.items()
        )
        title = f"{cores} core{'s' * (cores > 1)}"
        text += "\n" + header([title, *map(clip_name, clips)]) + "".join(map(line, rows))
    return text


def programs() -> str:
    """A line for each task of a user's program."""
    found = results("programs")
    rows: list[list[str]] = []
    for task, (words, _) in PROGRAMS.items():
        cells = [words]
        for package in ("torchcodec", "decord"):
            contest = found.contest(task=task, setting=package)
            cells += [*contest.printed()[::-1], f"{contest.ratio:.2f}x"] if contest else ["-"] * 3
        rows.append(cells)
    head = header(["", "torchcodec", "tricodec", "ratio", "decord", "tricodec", "ratio"])
    return f"{found.where}, {found.names('input')[0]}:\n\n{head}{''.join(map(line, rows))}"


def decoding_on_a_gpu() -> str:
    """A line for each task, with both codecs."""
    gpu = results("gpu")
    names = {"tricodec": "tricodec", "tricodec-dali": "tricodec in DALI", "pynvvideocodec": "PyNvVideoCodec"}
    rows = []
    for task, (words, _) in GPU.items():
        cells = [words]
        for name in (*names, "dali"):
            of = [row for row in gpu.rows if (row.task, row.contender) == (task, name)]
            speeds = (_speed(best(row for row in of if row.input == codec)) for codec in ("h264", "hevc"))
            cells.append(" / ".join(speeds) if of else "-")
        rows.append(cells)
    head = header(["", *names.values(), "DALI"])
    return f"{gpu.where}, frames/s of H.264 / HEVC:\n\n{head}{''.join(map(line, rows))}"


def _speed(row: Row | None) -> str:
    return f"{row.value:,.0f}" if row and row.value is not None else ""


def encoding() -> str:
    """A line for each encoder, with a column for each preset."""
    encode = results("encode")
    rows = []
    for task in encode.names("task"):
        for source in [name for name in encode.names("input") if encode.contest(task=task, input=name)]:
            of = Results(encode.facts, [row for row in encode.rows if (row.task, row.input) == (task, source)])
            presets = (f"{preset}: {_beside(of.contest(setting=preset))}" for preset in of.names("setting"))
            rows.append([f"{task} {source}", *presets])
    return f"{encode.where}:\n\n{header(['', 'slow', 'faster', 'fastest'])}{''.join(map(line, rows))}"


def _compressed(found: Results, setting: str) -> Iterator[tuple[str, list[str]]]:
    """A format's name, and for both directions the median speed and the ratios to the best peer over the data."""
    for name in dict.fromkeys(task.partition(" ")[2] for task in found.names("task")):
        cells = []
        for way in ("compress", "decompress"):
            of = (found.contest(task=f"{way} {name}", input=data, setting=setting) for data in found.names("input"))
            contests = [contest for contest in of if contest]
            speed = statistics.median(contest.ours.value or 0.0 for contest in contests)
            cells.append(f"{speed:.2f} GB/s, {_spread(contest.exact_ratio for contest in contests)}")
        yield name, cells


def _spread(ratios: Iterable[float]) -> str:
    low, *_, high = ordered = sorted(ratios)
    return f"{statistics.median(ordered):.2f}x ({low:.2f} to {high:.2f})"


def compression() -> str:
    """A line for each format."""
    found = results("compress")
    rows = ([name, *cells] for name, cells in _compressed(found, "64 KiB"))
    return f"{found.where}:\n\n{header(['', 'compress', 'decompress'])}{''.join(map(line, rows))}"


def compression_on_a_gpu() -> str:
    """A line for each format, as one array and as many."""
    found = results("compress_gpu")
    one, many = (dict(_compressed(found, setting)) for setting in found.names("setting"))
    rows = ([name, *one[name], *many[name]] for name in one)
    ways = [f"{way}, {setting}" for setting in found.names("setting") for way in ("compress", "decompress")]
    return f"{found.where}:\n\n{header(['', *ways])}{''.join(map(line, rows))}"


def node() -> str:
    """A table for each machine, with a line for each task and a column for each kind of workers."""
    tables = []
    for found in (results("node"), results("node_gpu")):
        rows = []
        for task in found.names("task"):
            of = {row.contender: row for row in found.rows if row.task == task}
            ways = [of.get(f"tricodec, {way}") for way in ("threads", "processes", "node")]
            rows.append([task, *(f"{row.value:,.4g} {row.unit}" if row and row.value else "-" for row in ways)])
        workers = f"{found.rows[0].threads} workers"
        tables.append(
            f"{found.where}, {workers}:\n\n{header(['', 'threads', 'processes', 'node'])}{''.join(map(line, rows))}"
        )
    return "\n".join(tables) + _node_use()


def _node_use() -> str:
    """A line for each way to do each task, for each machine that has results; nothing before one has."""
    text = ""
    for name in ("node_use", "node_use_gpu"):
        if not (FOLDER / f"{name}.csv").is_file():
            continue
        found = results(name)
        lines: dict[tuple[str, ...], list[str]] = {}
        for row in found.rows:
            way = row.contender.removeprefix("tricodec, ") + "".join(row.setting.partition(", ")[1:])
            lines.setdefault((row.task, row.input, way, str(row.threads)), []).append(_figure(row))
        words = {task: f"{task} ({clip}): {WORDS[task]}" for task, clip, *_ in lines}
        rows = ([words.pop(task, ""), *way, ", ".join(figures)] for (task, _, *way), figures in lines.items())
        text += f"\nPrograms, {found.where}:\n\n{header(['', 'by', 'workers', ''])}{''.join(map(line, rows))}"
        one, two = (
            best(row for row in found.rows if row.task == GPUS and row.setting.endswith(gpus))
            for gpus in ("1 GPU", "2 GPUs")
        )
        if one and two:
            text += f"\nTwo GPUs decode {better(two, one.value or 0.0):.2f} times as much as one.\n"
    return text


def _figure(row: Row) -> str:
    if row.value is None:
        return "-"
    step = f" ({1e3 / row.value:,.0f} ms)" if row.unit == "steps/s" else ""
    return (f"{row.value:,.0f}" if row.value >= 100 else f"{row.value:.3g}") + f" {row.unit}{step}"
