# SPDX-License-Identifier: Apache-2.0
"""`tricodec serve`: a server in the foreground, and the other things that its options ask for."""

from __future__ import annotations

import argparse
import collections
import contextlib
import json
import logging
import signal
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from types import FrameType

from tricodec.triton.serve import log, perf_data
from tricodec.triton.serve.ports import INTERFACES
from tricodec.triton.serve.repository import EVERY_MODEL, describe_models, installed_repository, write_repository
from tricodec.triton.serve.secret import read_headers
from tricodec.triton.serve.server import Server
from tricodec.triton.serve.sidecar import Sidecar, parse_address

_HANG_SECONDS = 60.0
"""A server that answers nothing for so long is killed: Triton may hang where it should crash."""
_MOST_ENDS, _ENDS_SECONDS = 4, 120.0
"""A server that crashes so often within this time is not started again."""
_EPILOG = """examples:
  tricodec serve --model video_decode
  tricodec serve --host 0.0.0.0 --parameter video_decode.timeout_ms=5000

documentation: https://github.com/tricodec/tricodec/blob/main/docs/reference/triton.md"""


def build_parser(kind: type[argparse.ArgumentParser] = argparse.ArgumentParser) -> argparse.ArgumentParser:
    """The options of `tricodec serve`, in a parser of this kind."""
    parser = kind(
        prog="tricodec serve",
        description="Serve tricodec's models with a Triton Inference Server until Ctrl-C.",
        epilog=_EPILOG,
    )
    for interface, port in zip(INTERFACES, (8000, 8001, 8002), strict=True):
        parser.add_argument(
            f"--{interface}-port",
            type=int,
            default=port,
            metavar="N",
            help=f"port of {interface} (default {port}); 0 takes a free one",
        )
    parser.add_argument(
        "--host", default="127.0.0.1", metavar="ADDRESS",
        help="address to listen on (default 127.0.0.1); 0.0.0.0 lets every machine of the network send requests",
    )  # fmt: skip
    parser.add_argument("--tls-cert", metavar="FILE", help="the server's certificate (PEM): gRPC uses TLS")
    parser.add_argument("--tls-key", metavar="FILE", help="the key of that certificate (PEM)")
    parser.add_argument(
        "--tls-client-ca", metavar="FILE", help="accept only clients with certificates of this authority"
    )
    parser.add_argument("--model-repository", metavar="DIR", help="folder of models to serve (default: tricodec's)")
    parser.add_argument(
        "--model", action="append", metavar="NAME",
        help="serve only this model, or this ensemble with its steps; may be repeated (default: all)",
    )  # fmt: skip
    parser.add_argument(
        "--parameter", action="append", default=[], metavar="MODEL.KEY=VALUE",
        help="set a parameter of a model, such as video_decode.timeout_ms=5000; may be repeated",
    )  # fmt: skip
    parser.add_argument(
        "--allow-remote", action="append", default=[], metavar="PREFIX",
        help="let requests name videos by URLs below this one, such as https://host/videos/ or s3://bucket/; may be "
        "repeated (default: none). Credentials come from this server's environment",
    )  # fmt: skip
    parser.add_argument(
        "--gpus", type=_gpu_numbers, default=[], metavar="N,N",
        help="decode and compress on these GPUs, such as 0 or 0,1 (default: on the CPU)",
    )  # fmt: skip
    parser.add_argument("--environment", metavar="DIR", help="virtual environment of the models (default: a new one)")
    parser.add_argument("--tritonserver", metavar="PATH", help="the executable (default: searched for)")
    parser.add_argument(
        "--ready-timeout", type=float, default=60.0, metavar="SECONDS", help="time for the models to load (default 60)"
    )
    parser.add_argument(
        "--stop-timeout", type=float, default=6.0, metavar="SECONDS",
        help="time for requests in flight after Ctrl-C or SIGTERM (default 6); a second Ctrl-C ends at once",
    )  # fmt: skip
    parser.add_argument("--no-watch", action="store_true", help="do not start a model or a server again when it dies")
    parser.add_argument(
        "--verbose", action="store_true", help="show Triton's whole log, not only its warnings and errors"
    )
    parser.add_argument("--json", action="store_true", help="print what is served, or the configuration, as JSON")
    instead = parser.add_argument_group("instead of serving").add_mutually_exclusive_group()
    instead.add_argument("--print-config", action="store_true", help="print the configuration of the models")
    instead.add_argument("--models-only", metavar="DIR", help="write a model repository for any tritonserver to DIR")
    instead.add_argument(
        "--watch", metavar="URL",
        help="load models of a running tritonserver again when their process dies; URL is its HTTP address",
    )  # fmt: skip
    instead.add_argument(
        "--perf-data", metavar="FILE", help="write requests for perf_analyzer to FILE and print the command"
    )
    parser.add_argument(
        "--header", metavar="@FILE",
        help="with --watch: a file, with mode 0600, of the headers that the server demands (--http-restricted-api), a "
        "line KEY=VALUE each",
    )  # fmt: skip
    parser.add_argument(
        "--perf-video", action="append", default=[], metavar="VIDEO",
        help="with --perf-data: a video to send; may be repeated (default: a generated clip)",
    )  # fmt: skip
    parser.add_argument("-f", "--force", action="store_true", help="with --perf-data: replace FILE if it is there")
    parser.add_argument(
        "--perf-input", action="append", default=[], metavar="NAME=VALUES",
        help="with --perf-data: an input of the model, such as SIZE=224,224; may be repeated",
    )  # fmt: skip
    parser.add_argument("arguments", nargs="*", metavar="-- ARGS", help="more arguments for tritonserver, after --")
    return parser


def main(argv: Sequence[str] | None = None, kind: type[argparse.ArgumentParser] = argparse.ArgumentParser) -> int:
    """Serves in the foreground until SIGINT, SIGTERM or the server's own end, or does what an option asks instead.

    Args:
        argv: arguments without the program's name; None takes sys.argv's.
        kind: of the parser.

    Returns:
        The exit status: 0 after Ctrl-C or SIGTERM, 1 after a failure, which is one line on standard error.
    """
    parser = build_parser(kind)
    options = parser.parse_args(argv)
    options.parameters = _parse_parameters(parser, options.parameter)
    if options.allow_remote:
        options.parameters.setdefault(EVERY_MODEL, {})["allow_remote"] = " ".join(options.allow_remote)
    if options.header and not options.header.startswith("@"):
        parser.error(
            "--header: every user of the machine can read the command line; write KEY=VALUE to a file with mode 0600, "
            "and name it: --header @FILE"
        )
    options.perf_inputs = dict(_pairs(parser, "--perf-input", options.perf_input, "NAME=VALUES, such as SIZE=224,224"))
    action = _serve
    for given, other in (
        (options.print_config, _print_config),
        (options.models_only, _write_models),
        (options.watch, _watch),
        (options.perf_data, _write_perf_data),
    ):
        if given:
            action = other
    previous = signal.signal(signal.SIGTERM, _interrupt)
    try:
        return action(options)
    except KeyboardInterrupt:
        return 0
    except BrokenPipeError:
        raise
    except (ImportError, OSError, RuntimeError, ValueError, IndexError) as error:
        first, _, rest = str(error).partition("\n")
        hint = "; --verbose shows Triton's whole log" if rest and not options.verbose else ""
        print(f"tricodec serve: {first or type(error).__name__}{hint}", file=sys.stderr)
        return 1
    finally:
        signal.signal(signal.SIGTERM, previous)


def _serve(options: argparse.Namespace) -> int:
    server = Server(
        options.model_repository, options.model, tritonserver=options.tritonserver, http_port=options.http_port,
        grpc_port=options.grpc_port, metrics_port=options.metrics_port, parameters=options.parameters,
        execution_environment=options.environment, extra_args=options.arguments,
        ready_timeout_seconds=options.ready_timeout, forward_log=options.verbose, watch=not options.no_watch,
        host=options.host, tls_certificate=options.tls_cert, tls_key=options.tls_key,
        tls_client_ca=options.tls_client_ca, gpus=options.gpus, stop_timeout_seconds=options.stop_timeout,
        report=lambda line: print(line, file=sys.stderr, flush=True),
    )  # fmt: skip
    logging.basicConfig(format="%(message)s", stream=sys.stderr)
    ends: collections.deque[float] = collections.deque(maxlen=_MOST_ENDS)
    with server:
        while True:
            status = _serve_once(server, with_tls=options.tls_cert is not None, as_json=options.json)
            print(f"tritonserver ended by itself with status {status}", file=sys.stderr, flush=True)
            ends.append(time.monotonic())
            is_often = len(ends) == _MOST_ENDS and ends[-1] - ends[0] < _ENDS_SECONDS
            if options.no_watch or status >= 0 or is_often:  # below 0 a signal ended it, which is a crash
                return 1
            server.restart()


def _serve_once(server: Server, *, with_tls: bool, as_json: bool) -> int:
    """Tells what is served, and waits for the server's own end; returns its status."""
    with contextlib.ExitStack() as stack:
        if server.log_path is not None:
            stack.enter_context(contextlib.closing(log.Follower(server.log_path, sys.stderr)))
        if as_json:
            facts = {
                "models": server.models, "left_out": server.left_out, "http": server.http_url,
                "grpc": server.grpc_url, "metrics": f"http://{server.metrics_url}/metrics", "tls": with_tls,
            }  # fmt: skip
            print(json.dumps(facts), flush=True)
            return server.wait(_HANG_SECONDS)
        for model, reason in server.left_out.items():
            print(f"left out: {model}: {reason}", flush=True)
        print(
            f"serving {', '.join(server.models)}: http {server.http_url}, grpc {server.grpc_url}"
            f"{' with TLS' if with_tls else ''}, metrics http://{server.metrics_url}/metrics; Ctrl-C ends",
            flush=True,
        )
        return server.wait(_HANG_SECONDS)


def _print_config(options: argparse.Namespace) -> int:
    repository = Path(options.model_repository or installed_repository())
    configs = describe_models(repository, options.model, options.environment, options.parameters, options.gpus)
    if options.json:
        print(json.dumps(configs, indent=2))
        return 0
    for name, config in configs.items():
        print(f"# {name}/config.pbtxt\n{config}")
    return 0


def _write_models(options: argparse.Namespace) -> int:
    target = Path(options.models_only)
    repository = Path(options.model_repository or installed_repository())
    names = write_repository(repository, options.model, target, options.environment, options.parameters, options.gpus)
    print(
        f"wrote {', '.join(names)} to {target}; serve them with tritonserver --model-repository={target} "
        "--disable-auto-complete-config"
    )
    if options.environment is None:
        print("The python3 of its Python backend must import tricodec; or name an environment with --environment.")
    return 0


def _watch(options: argparse.Namespace) -> int:
    def report(line: str) -> None:
        print(line, flush=True)

    headers = read_headers(options.header[1:]) if options.header else {}
    Sidecar(parse_address(options.watch), headers, options.model, report).run()
    return 0


def _write_perf_data(options: argparse.Namespace) -> int:
    models = options.model or ["video_decode"]
    if len(models) > 1:
        raise ValueError(f"--perf-data is for one model, got --model {', '.join(models)}")
    if not options.force and Path(options.perf_data).is_file():
        raise FileExistsError(f"'{options.perf_data}' exists; replace it with --force, or name another output")
    url = f"{options.host}:{options.grpc_port}"
    print(perf_data.write(Path(options.perf_data), models[0], options.perf_video, options.perf_inputs, url))
    return 0


def _gpu_numbers(text: str) -> list[int]:
    parts = text.split(",")
    if not all(part.isdecimal() for part in parts):
        raise argparse.ArgumentTypeError(f"{text!r} is no list of GPUs; expected numbers, such as 0 or 0,1")
    return sorted({int(part) for part in parts})


def _interrupt(_signal: int, _frame: FrameType | None) -> None:
    raise KeyboardInterrupt


def _pairs(
    parser: argparse.ArgumentParser, option: str, entries: Sequence[str], expected: str
) -> list[tuple[str, str]]:
    pairs = []
    for entry in entries:
        name, equals, value = entry.partition("=")
        if not (equals and name):
            parser.error(f"{option} {entry!r}: expected {expected}")
        pairs.append((name, value))
    return pairs


def _parse_parameters(parser: argparse.ArgumentParser, entries: Sequence[str]) -> dict[str, dict[str, str]]:
    expected = "MODEL.KEY=VALUE, such as video_decode.timeout_ms=5000"
    parameters: dict[str, dict[str, str]] = {}
    for entry, (name, value) in zip(entries, _pairs(parser, "--parameter", entries, expected), strict=True):
        model, dot, key = name.partition(".")
        if not (dot and model and key):
            parser.error(f"--parameter {entry!r}: expected {expected}")
        parameters.setdefault(model, {})[key] = value
    return parameters
