# SPDX-License-Identifier: Apache-2.0
"""`tricodec serve`: a server in the foreground."""

from __future__ import annotations

import argparse
import signal
import sys
from collections.abc import Sequence
from types import FrameType

from tricodec.serve.server import Server


def build_parser() -> argparse.ArgumentParser:
    """The options of `tricodec serve`."""
    parser = argparse.ArgumentParser(
        prog="tricodec serve",
        description="Serve tricodec's models with a Triton Inference Server on 127.0.0.1 until Ctrl-C.",
    )
    for interface, port in (("http", 8000), ("grpc", 8001), ("metrics", 8002)):
        parser.add_argument(
            f"--{interface}-port",
            type=int,
            default=port,
            metavar="N",
            help=f"port of {interface} (default {port}); 0 takes a free one",
        )
    parser.add_argument("--model-repository", metavar="DIR", help="models to serve (default: those of tricodec)")
    parser.add_argument(
        "--model",
        action="append",
        metavar="NAME",
        help="serve only this model, or this ensemble with its steps; may be repeated (default: all)",
    )
    parser.add_argument(
        "--parameter",
        action="append",
        default=[],
        metavar="MODEL.KEY=VALUE",
        help="set a parameter of a model, such as video_decode.timeout_ms=5000; may be repeated",
    )
    parser.add_argument(
        "--tritonserver", metavar="PATH", help="the executable (default: searched for, see docs/triton.md)"
    )
    parser.add_argument(
        "--ready-timeout", type=float, default=60.0, metavar="SECONDS", help="time for the models to load (default 60)"
    )
    parser.add_argument("arguments", nargs="*", metavar="-- ARGS", help="more arguments for tritonserver, after --")
    return parser


def main(argv: Sequence[str] | None = None) -> int:
    """Serves in the foreground until SIGINT, SIGTERM or the server's own end.

    Args:
        argv: arguments without the program's name; None takes sys.argv's.

    Returns:
        The exit status: 0 after Ctrl-C or SIGTERM, 1 if the server could not start or ended by itself.
    """
    parser = build_parser()
    options = parser.parse_args(argv)
    parameters = _parse_parameters(parser, options.parameter)
    server = Server(
        options.model_repository, options.model, tritonserver=options.tritonserver, http_port=options.http_port,
        grpc_port=options.grpc_port, metrics_port=options.metrics_port, parameters=parameters,
        extra_args=options.arguments, ready_timeout_seconds=options.ready_timeout, forward_log=True,
    )  # fmt: skip
    previous = signal.signal(signal.SIGTERM, _interrupt)
    try:
        with server:
            for model, reason in server.left_out.items():
                print(f"left out: {model}: {reason}", flush=True)
            print(
                f"serving {', '.join(server.models)}: http {server.http_url}, grpc {server.grpc_url}, "
                f"metrics http://{server.metrics_url}/metrics; Ctrl-C ends",
                flush=True,
            )
            status = server.wait()
            print(f"tritonserver ended by itself with status {status}", file=sys.stderr)
            return 1
    except KeyboardInterrupt:
        return 0
    except (OSError, RuntimeError, ValueError) as error:
        print(f"tricodec serve: {error}", file=sys.stderr)
        return 1
    finally:
        signal.signal(signal.SIGTERM, previous)


def _interrupt(_signal: int, _frame: FrameType | None) -> None:
    raise KeyboardInterrupt


def _parse_parameters(parser: argparse.ArgumentParser, entries: Sequence[str]) -> dict[str, dict[str, str]]:
    parameters: dict[str, dict[str, str]] = {}
    for entry in entries:
        name, equals, value = entry.partition("=")
        model, dot, key = name.partition(".")
        if not (equals and dot and model and key):
            parser.error(f"--parameter {entry!r}: expected MODEL.KEY=VALUE, such as video_decode.timeout_ms=5000")
        parameters.setdefault(model, {})[key] = value
    return parameters
