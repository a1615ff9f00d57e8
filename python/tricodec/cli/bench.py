# SPDX-License-Identifier: Apache-2.0
"""`tricodec bench`: throughput and latency of decoding, encoding, compression and serving on this machine."""

from __future__ import annotations

import argparse
import contextlib
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import tricodec
from tricodec._tricodec import OutputFile
from tricodec.cli import shared
from tricodec.cli.bench_report import print_report, print_settings
from tricodec.cli.inputs import refuse_existing
from tricodec.measure import bench
from tricodec.options import TRANSFORM_OPTIONS
from tricodec.show import Progress

EXIT_UNSTABLE = 3

_PAGE = "explanation/performance.md"
#: The tensor of `transform` and `pipeline`; `serve` leaves it to the model.
_TENSOR = {"size": (224, 224), "dtype": "float32", "layout": "CHW"}
_OPTIONS: dict[str, dict[str, Any]] = {
    "--no-data-transfers": {
        "dest": "transfers", "action": "store_false",
        "help": "leave results on the GPU, as this option of trtexec does",
    },
    "--dtype": {"choices": TRANSFORM_OPTIONS["dtype"].accepted, "help": "of the tensor"},
    "--layout": {"choices": TRANSFORM_OPTIONS["layout"].accepted, "help": "of the tensor"},
    "--algorithm": {"default": "LZ4", "help": "an algorithm of tricodec.Codec (default LZ4)"},
    "--direction": {"choices": bench.DIRECTIONS, "default": "compress", "help": "default: compress"},
    "--array-bytes": {"type": int, "default": 1 << 22, "metavar": "N", "help": "bytes of an array (default 4 MiB)"},
    "--front-end": {"choices": bench.PIPELINES, "default": "python", "help": "default: python"},
    "--url": {"metavar": "HOST:PORT", "help": "gRPC port of a running server (default: starts a server)"},
    "--model": {"choices": bench.MODELS, "default": "video_decode", "help": "default: video_decode"},
}  # fmt: skip


class _Kind(NamedTuple):
    """A kind of work that is measured."""

    text: str
    open_engine: Callable[[argparse.Namespace, contextlib.ExitStack], bench.Engine]
    options: str
    example: str


def add_parser(commands: Any, common: argparse.ArgumentParser, as_json: argparse.ArgumentParser) -> None:
    command = shared.add_command(
        commands, [common], "bench", run,
        "Measure this machine. Throughput and latency are measured until three windows agree. The exit status is "
        f"{EXIT_UNSTABLE} if they do not.",
        [f"tricodec bench {name} {kind.example}" for name, kind in _KINDS.items()], _PAGE,
    )  # fmt: skip
    kinds = command.add_subparsers(dest="kind", required=True, metavar="WHAT", prog=command.prog)
    for name, kind in _KINDS.items():
        parser = shared.add_command(
            kinds, [as_json], name, run, f"Measure {kind.text}.", [f"tricodec bench {name} {kind.example}"], _PAGE
        )
        what = "data to compress" if name == "compress" else "a video"
        parser.add_argument("file", metavar="FILE", nargs="?", type=Path, help=f"{what} (default: test pictures)")
        shared.add_options(parser, *kind.options.split(), table={**shared.OPTIONS, **_OPTIONS})
        _add_load(parser, threads=name not in ("transform", "serve"))
        _add_rules(parser)
        report = parser.add_argument_group("report")
        report.add_argument("--csv", type=Path, metavar="FILE", help="a line for each case")
        report.add_argument("-f", "--force", action="store_true", help="replace a file that is there")
        parser.set_defaults(open_engine=kind.open_engine)


def _range_of(kind: Callable[[str], Any]) -> dict[str, Any]:
    def parse(text: str) -> list[Any]:
        try:
            return bench.parse_range(text, kind)
        except ValueError as error:
            raise argparse.ArgumentTypeError(str(error)) from error

    return {"type": parse, "metavar": "RANGE"}


def _add_load(parser: argparse.ArgumentParser, *, threads: bool) -> None:
    group = parser.add_argument_group(
        "load", "RANGE is a number, a list (1,2,8) or FIRST:LAST:STEP (1:8, 1:8:2; 1:64:x2 doubles)"
    )
    group.add_argument("--batch", **_range_of(int), default=[0], help="frames or arrays of a query")
    if threads:
        text = "threads of each codec; for reading a file, its decoders (default: chosen by the codec)"
        group.add_argument("--threads", **_range_of(int), default=[0], help=text)
    loads = group.add_mutually_exclusive_group()
    text = "queries in flight at a time, each in a thread and context of its own (default 1)"
    loads.add_argument("--concurrency", "--streams", **_range_of(int), default=[1], help=text)
    text = "queries per second, started at scheduled times whether others have ended or not"
    loads.add_argument("--request-rate", **_range_of(float), default=[], help=text)
    text = "queries in flight at most, with a rate (default 16)"
    group.add_argument("--max-threads", type=int, default=16, metavar="N", help=text)
    text = "find the highest load of the range with the percentile of the latency within this bound, by bisection"
    group.add_argument("--latency-threshold", type=float, metavar="MS", help=text)
    text = "percentile of the threshold (default 99)"
    group.add_argument("--percentile", type=float, default=99.0, metavar="P", help=text)


def _add_rules(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("duration", "three windows are measured, and more until the last three agree")
    for name, kind, default, metavar, text in (
        ("--duration", float, bench.Rules.duration, "SECONDS", "time of three windows"),
        ("--warm-up", float, bench.Rules.warm_up * 1000, "MS", "time before them"),
        ("--iterations", int, bench.Rules.iterations, "N", "least queries in them"),
        ("--stability-percentage", float, bench.Rules.stability * 100, "P", "how far the speed may differ"),
        ("--max-trials", int, bench.Rules.max_trials, "N", "windows at most"),
    ):
        group.add_argument(name, type=kind, default=default, metavar=metavar, help=f"{text} (default {default:g})")


def _compress(options: argparse.Namespace, _: contextlib.ExitStack) -> bench.Engine:
    return bench.compress_engine(
        options.file, options.device, options.direction, options.array_bytes,
        transfers=options.transfers, **_chosen(options, "algorithm", "level"),
    )  # fmt: skip


def _serve(options: argparse.Namespace, stack: contextlib.ExitStack) -> bench.Engine:
    path, url = _clip(options, stack), options.url
    if url is None:
        from tricodec.triton.serve import Server

        url = stack.enter_context(Server(models=[options.model])).grpc_url
    return bench.serve_engine(path, url, options.model, _chosen(options, *_TENSOR))


_KINDS = {
    "decode": _Kind(
        "a file to frames", lambda o, s: bench.decode_engine(_clip(o, s), o.device, transfers=o.transfers),
        "--device --no-data-transfers", "video.mp4 --threads 1,2",
    ),
    "transform": _Kind(
        "decoded frames to a tensor (of 224x224 float32 CHW)",
        lambda o, s: bench.transform_engine(_clip(o, s), o.device, _tensor(o), transfers=o.transfers),
        "--device --no-data-transfers --size --dtype --layout", "video.mp4 --batch 1:8:x2",
    ),
    "encode": _Kind(
        "frames to a file in memory",
        lambda o, s: bench.encode_engine(_clip(o, s), o.device, dict(o.options), codec=o.codec),
        "--device --codec --option", "video.mp4 --batch 10 --option preset=ultrafast",
    ),
    "transcode": _Kind(
        "a file to a file in memory",
        lambda o, s: bench.transcode_engine(_clip(o, s), o.device, dict(o.options), codec=o.codec, size=o.size),
        "--device --codec --option --size", "video.mp4 --batch 10 --size 320x-2",
    ),
    "compress": _Kind(
        "arrays to compressed arrays, or back", _compress,
        "--device --no-data-transfers --algorithm --level --direction --array-bytes", "weights.npy --algorithm zstd",
    ),
    "pipeline": _Kind(
        "a file to a tensor (of 224x224 float32 CHW)",
        lambda o, s: bench.pipeline_engine(
            _clip(o, s), o.device, _tensor(o), transfers=o.transfers, front_end=o.front_end
        ),
        "--device --no-data-transfers --size --dtype --layout --front-end", "video.mp4 --batch 16 --csv pipeline.csv",
    ),
    "serve": _Kind(
        "requests to a Triton server", _serve, "--size --dtype --layout --url --model",
        "video.mp4 --size 224x224 --concurrency 1,2",
    ),
}  # fmt: skip


def _chosen(options: argparse.Namespace, *names: str) -> dict[str, Any]:
    """The options of these names that have a value."""
    return {name: value for name in names if (value := getattr(options, name)) is not None}


def _tensor(options: argparse.Namespace) -> dict[str, Any]:
    return _TENSOR | _chosen(options, *_TENSOR)


def _clip(options: argparse.Namespace, stack: contextlib.ExitStack) -> Path:
    """The video; afterwards `options.size` is complete."""
    path = stack.enter_context(bench.clip_or(options.file))
    size = getattr(options, "size", None)
    if size is not None and min(size) < 0:
        with tricodec.FrameReader(path, device="cpu") as reader:
            options.size = shared.full_size(size, reader.width, reader.height)
    return path


def run(options: argparse.Namespace) -> int:
    """Measures, prints the report and writes the files; EXIT_UNSTABLE if the figures are not stable."""
    rules = bench.Rules(
        options.warm_up / 1000, options.duration, options.iterations, options.stability_percentage / 100,
        options.max_trials,
    )  # fmt: skip
    threads = getattr(options, "threads", [0])
    loads = (options.concurrency, options.request_rate, options.max_threads)
    cases = bench.cases_of(threads, options.batch, *loads)
    if options.csv:
        refuse_existing(options.csv, options.force)
    with contextlib.ExitStack() as stack:
        engine = options.open_engine(options, stack)
        environment = bench.environment()
        if not options.json:
            print_settings(engine, environment, rules, cases)
        total = None if options.latency_threshold is not None else len(cases)
        with Progress("measuring", total) as progress:
            session = bench.Session(engine, rules, lambda _: progress.advance())
            if options.latency_threshold is not None:
                session.search(cases, options.latency_threshold, options.percentile)
            else:
                for case in cases:
                    session.measure(case)
    if not options.json:
        print_report(session)
    if options.csv:
        with OutputFile(options.csv) as file:
            file.write(bench.session_csv(session).encode())
        shared.say(options, str(options.csv))
    shared.print_facts(options, bench.session_json(engine, session, environment))
    return 0 if session.stable else EXIT_UNSTABLE
