# SPDX-License-Identifier: Apache-2.0
"""`tricodec bench`: throughput and latency of decoding, encoding, compression and serving on this machine."""

from __future__ import annotations

import argparse
import contextlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import tricodec
from tricodec._tricodec import OutputFile
from tricodec.cli.bench_options import add_load, add_output, add_rules, chosen, rules_of, sweep_of
from tricodec.cli.bench_report import print_report, print_settings
from tricodec.cli.output_files import refuse_existing
from tricodec.cli.shared import SIZE, SIZE_HELP, full_size, pairs_of, parse_size, print_facts, say
from tricodec.measure import bench
from tricodec.show.progress import Progress

EXIT_UNSTABLE = 2
EXIT_USAGE = 3
"""Wrong usage of `tricodec bench`, since 2 means unstable; perf_analyzer has the same numbers."""

_DTYPES = ("uint8", "float16", "float32")
_LAYOUTS = ("HWC", "CHW", "CHW2", "HWC8")


def add_parser(commands: Any, common: argparse.ArgumentParser, as_json: argparse.ArgumentParser) -> None:
    """Adds the sub-command."""
    parser = commands.add_parser(
        "bench",
        help="measure this machine",
        parents=[common],
        description="Measure throughput and latency until three windows agree. The exit status is 2 if they do not.",
    )
    kinds = parser.add_subparsers(dest="kind", required=True, metavar="WHAT")

    decode = _add(kinds, as_json, "decode", "a file to frames", open_decode)
    transform = _add(kinds, as_json, "transform", "decoded frames to a tensor", open_transform, threads=False)
    encode = _add(kinds, as_json, "encode", "frames to a file in memory", open_encode)
    transcode = _add(kinds, as_json, "transcode", "a file to a file in memory", open_transcode)
    compress = _add(kinds, as_json, "compress", "arrays to compressed arrays, or back", open_compress)
    pipeline = _add(kinds, as_json, "pipeline", "a file to a tensor: decode, transform, batch", open_pipeline)
    serve = _add(kinds, as_json, "serve", "requests to a Triton server", open_serve, threads=False, device=False)

    for each in (decode, transform, compress, pipeline):
        each.add_argument("--no-data-transfers", action="store_true", help="leave results on the GPU (trtexec's word)")
    for each in (transform, pipeline):
        _add_transform(each, size="224x224", dtype="float32", layout="CHW")
    _add_transform(serve, size=None, dtype=None, layout=None)
    for each in (encode, transcode):
        each.add_argument("--codec", default="h264", help="h264 (default), hevc, av1, or a libavcodec encoder")
        each.add_argument(
            "--option",
            action="append",
            default=[],
            metavar="NAME=VALUE",
            help="option of the encoder: preset=fast",
        )
    transcode.add_argument("--size", type=parse_size, metavar=SIZE, help=SIZE_HELP)
    compress.add_argument("--algorithm", default="LZ4", help="an algorithm of tricodec.Codec (default LZ4)")
    compress.add_argument("--level", type=int, help="level of LZ4 (3 to 12) and Zstd (-7 to 22)")
    compress.add_argument("--direction", choices=bench.DIRECTIONS, default="compress", help="default: compress")
    compress.add_argument(
        "--array-bytes", type=int, default=1 << 22, metavar="N", help="bytes of an array (default 4 MiB)"
    )
    pipeline.add_argument("--front-end", choices=bench.PIPELINES, default="python", help="default: python")
    serve.add_argument("--url", metavar="HOST:PORT", help="gRPC port of a running server (default: starts a server)")
    serve.add_argument("--model", choices=bench.MODELS, default="video_decode", help="default: video_decode")


def _add(
    kinds: Any,
    common: argparse.ArgumentParser,
    name: str,
    text: str,
    open_engine: Callable[..., Any],
    *,
    threads: bool = True,
    device: bool = True,
) -> argparse.ArgumentParser:
    parser: argparse.ArgumentParser = kinds.add_parser(
        name,
        parents=[common],
        help=text,
        description=f"Measure {text}. docs/explanation/performance.md describes the report.",
    )
    what = "data to compress" if name == "compress" else "a video"
    parser.add_argument("file", metavar="FILE", nargs="?", type=Path, help=f"{what} (default: test pictures)")
    if device:
        parser.add_argument("--device", default="auto", help="auto (default), cpu, cuda, cuda:N")
    add_load(parser, threads=threads)
    add_rules(parser)
    add_output(parser)
    parser.set_defaults(run=run, open_engine=open_engine)
    return parser


def _add_transform(parser: argparse.ArgumentParser, *, size: str | None, dtype: str | None, layout: str | None) -> None:
    def default(value: str | None) -> str:
        return f" (default {value})" if value else ""

    parser.add_argument(
        "--size",
        type=_size_or_source,
        default=size,
        metavar=SIZE,
        help=f'width and height, or "source"{default(size)}',
    )
    parser.add_argument("--dtype", choices=_DTYPES, default=dtype, help=f"of the tensor{default(dtype)}")
    parser.add_argument("--layout", choices=_LAYOUTS, default=layout, help=f"of the tensor{default(layout)}")


def _size_or_source(text: str) -> tuple[int, int] | None:
    return None if text == "source" else parse_size(text)


def open_decode(options: argparse.Namespace, stack: contextlib.ExitStack) -> bench.Engine:
    """The engine of `tricodec bench decode`."""
    return bench.DecodeEngine(_clip(options, stack), options.device, transfers=not options.no_data_transfers)


def open_transform(options: argparse.Namespace, stack: contextlib.ExitStack) -> bench.Engine:
    """The engine of `tricodec bench transform`."""
    clip, transfers = _clip(options, stack), not options.no_data_transfers
    asked = chosen(options, "size", "dtype", "layout")
    return bench.TransformEngine(clip, options.device, asked, transfers=transfers)


def open_encode(options: argparse.Namespace, stack: contextlib.ExitStack) -> bench.Engine:
    """The engine of `tricodec bench encode`."""
    return bench.EncodeEngine(_clip(options, stack), options.device, options.codec, _encoder_options(options))


def open_transcode(options: argparse.Namespace, stack: contextlib.ExitStack) -> bench.Engine:
    """The engine of `tricodec bench transcode`."""
    clip, asked = _clip(options, stack), _encoder_options(options)
    return bench.TranscodeEngine(clip, options.device, options.codec, asked, options.size)


def open_compress(options: argparse.Namespace, _: contextlib.ExitStack) -> bench.Engine:
    """The engine of `tricodec bench compress`."""
    return bench.CompressEngine(
        options.file, options.device, options.direction, options.array_bytes,
        transfers=not options.no_data_transfers, **chosen(options, "algorithm", "level"),
    )  # fmt: skip


def open_pipeline(options: argparse.Namespace, stack: contextlib.ExitStack) -> bench.Engine:
    """The engine of `tricodec bench pipeline`."""
    clip, transfers = _clip(options, stack), not options.no_data_transfers
    asked = chosen(options, "size", "dtype", "layout")
    return bench.PipelineEngine(clip, options.device, asked, options.front_end, transfers=transfers)


def open_serve(options: argparse.Namespace, stack: contextlib.ExitStack) -> bench.Engine:
    """The engine of `tricodec bench serve`; without a URL also the server."""
    path = _clip(options, stack)
    url = options.url
    if url is None:
        from tricodec.triton.serve import Server

        url = stack.enter_context(Server(models=[options.model])).grpc_url
    return bench.ServeEngine(path, url, options.model, chosen(options, "size", "dtype", "layout"))


def _clip(options: argparse.Namespace, stack: contextlib.ExitStack) -> Path:
    path = stack.enter_context(bench.clip_or(options.file))
    size = getattr(options, "size", None)
    if size is not None and min(size) < 0:
        with tricodec.FrameReader(path, device="cpu") as reader:
            options.size = full_size(size, reader.width, reader.height)
    return path


def _encoder_options(options: argparse.Namespace) -> dict[str, str]:
    return pairs_of("--option", options.option)


def run(options: argparse.Namespace) -> int:
    """Measures, prints the report and writes the files; 2 if the figures are not stable."""
    rules, sweep = rules_of(options), sweep_of(options)
    if options.csv:
        refuse_existing(options.csv, options.force)
    with contextlib.ExitStack() as stack:
        engine = options.open_engine(options, stack)
        environment = bench.environment()
        if not options.json:
            print_settings(engine, environment, rules, sweep)
        total = None if options.latency_threshold else len(sweep.cases())
        with Progress("measuring", total) as progress:
            session = bench.Session(engine, rules, lambda _: progress.advance())
            if options.latency_threshold:
                session.search(sweep, options.latency_threshold, options.percentile)
            else:
                session.sweep(sweep)
    if not options.json:
        print_report(engine, session)
    if options.csv:
        with OutputFile(options.csv) as file:
            file.write(bench.session_csv(session).encode())
        say(options, str(options.csv))
    print_facts(options, bench.session_json(engine, session, environment))
    return 0 if session.stable else EXIT_UNSTABLE
