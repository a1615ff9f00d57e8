# SPDX-License-Identifier: Apache-2.0
"""`tricodec serve`: a server in the foreground, or a model repository for another one."""

from __future__ import annotations

import argparse
import collections
import json
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tricodec.cli import shared
from tricodec.node import Settings, parse_bytes

if TYPE_CHECKING:
    from tricodec.triton.serve import Server

_MOST_ENDS, _ENDS_SECONDS = 4, 120.0
"""A server that ends so often within this time is not started again."""
_EXAMPLES = (
    "tricodec serve --model video_decode",
    "tricodec serve --host 0.0.0.0 --parameter video_decode.timeout_ms=5000",
)


def add_parser(commands: Any, common: argparse.ArgumentParser) -> None:
    parser = shared.add_command(
        commands, [common], "serve", run, "Serve the models with a Triton Inference Server. Ctrl-C ends it.", _EXAMPLES,
        "reference/triton.md",
    )  # fmt: skip
    add = parser.add_argument
    for interface, port in (("http", 8000), ("grpc", 8001), ("metrics", 8002)):
        text = f"port of {interface} (default {port}); 0 takes a free one"
        add(f"--{interface}-port", type=int, default=port, metavar="N", help=text)
    add(
        "--host", default="127.0.0.1", metavar="ADDRESS",
        help="address to listen on (default 127.0.0.1); 0.0.0.0 lets every machine of the network send requests",
    )  # fmt: skip
    add("--model-repository", metavar="DIR", help="folder of models to serve (default: tricodec's)")
    add(
        "--model", action="append", metavar="NAME",
        help="serve only this model, or this ensemble with its steps; may be repeated (default: all)",
    )  # fmt: skip
    add(
        "--parameter", action="append", default=[], metavar="MODEL.KEY=VALUE",
        help="set a parameter of a model, such as video_decode.timeout_ms=5000; may be repeated",
    )  # fmt: skip
    add(
        "--allow-remote", action="append", default=[], metavar="PREFIX",
        help="let requests name videos by URLs below this one, such as https://host/videos/ or s3://bucket/; may be "
        "repeated (default: none). Credentials come from this server's environment",
    )  # fmt: skip
    text = "decode and compress on these GPUs, such as 0 or 0,1 (default: on the CPU)"
    add("--gpus", type=shared.list_of(int), default=[], metavar="N,...", help=text)
    text = "processes that do the work of all models on the CPU (default: one for each core)"
    add("--workers", type=int, default=0, metavar="N", help=text)
    text = "memory of the host for results and kept frames, such as 8GiB (default: that, at most half of all)"
    add("--memory", type=parse_bytes, default=0, metavar="SIZE", help=text)
    text = "what the node of the models takes of each GPU (default: 4GiB)"
    add("--gpu-memory", type=parse_bytes, default=Settings.gpu_memory, metavar="SIZE", help=text)
    add("--environment", metavar="DIR", help="virtual environment of the models (default: a new one)")
    add("--tritonserver", metavar="PATH", help="the executable (default: searched for)")
    text = "time for the models to load (default 60)"
    add("--ready-timeout", type=float, default=60.0, metavar="SECONDS", help=text)
    add(
        "--stop-timeout", type=float, default=6.0, metavar="SECONDS",
        help="time for requests in flight after Ctrl-C or SIGTERM (default 6); a second Ctrl-C ends at once",
    )  # fmt: skip
    add("--verbose", action="store_true", help="show Triton's whole log, not only its warnings and errors")
    add("--models-only", metavar="DIR", help="serve nothing: write a model repository for any tritonserver to DIR")
    add("arguments", nargs="*", metavar="-- ARGS", help="more arguments for tritonserver, after --")


def run(options: argparse.Namespace) -> int:
    """Serves in the foreground until SIGINT or SIGTERM, which is no failure."""
    parameters = _parameters(options)
    try:
        return _write_models(options, parameters) if options.models_only else _serve(options, parameters)
    except KeyboardInterrupt:
        return 0
    except RuntimeError as error:  # in several lines, if it has the end of the server's log
        if getattr(options, "debug", False):
            raise
        print(f"tricodec: error: {error}", file=sys.stderr)
        return 1


def _serve(options: argparse.Namespace, parameters: dict[str, dict[str, str]]) -> int:
    from tricodec.triton.serve import Server

    gpus = tuple(sorted(set(options.gpus)))
    server = Server(
        options.model_repository, options.model, tritonserver=options.tritonserver, host=options.host,
        http_port=options.http_port, grpc_port=options.grpc_port, metrics_port=options.metrics_port,
        parameters=parameters, gpus=gpus, execution_environment=options.environment,
        extra_args=options.arguments, ready_timeout_seconds=options.ready_timeout,
        stop_timeout_seconds=options.stop_timeout, forward_log=True, verbose=options.verbose,
        node=Settings(gpus=gpus, workers=options.workers, memory=options.memory, gpu_memory=options.gpu_memory),
    )  # fmt: skip
    ends: collections.deque[float] = collections.deque(maxlen=_MOST_ENDS)
    with server:
        while True:
            _tell(server, as_json=options.json)
            print(f"tricodec: {server.wait()}", file=sys.stderr, flush=True)
            ends.append(time.monotonic())
            if len(ends) == _MOST_ENDS and ends[-1] - ends[0] < _ENDS_SECONDS:
                return 1
            server.restart()


def _tell(server: Server, *, as_json: bool) -> None:
    """Prints what is served, and where."""
    if as_json:
        facts = {
            "models": server.models, "left_out": server.left_out, "http": server.http_url, "grpc": server.grpc_url,
            "metrics": f"http://{server.metrics_url}/metrics",
        }  # fmt: skip
        print(json.dumps(facts), flush=True)
        return
    for model, reason in server.left_out.items():
        print(f"left out: {model}: {reason}", flush=True)
    print(
        f"serving {', '.join(server.models)}: http {server.http_url}, grpc {server.grpc_url}, "
        f"metrics http://{server.metrics_url}/metrics; Ctrl-C ends",
        flush=True,
    )


def _write_models(options: argparse.Namespace, parameters: dict[str, dict[str, str]]) -> int:
    from tricodec.triton.serve.repository import installed_repository, lay_out_models

    target = Path(options.models_only)
    repository = Path(options.model_repository or installed_repository())
    environment = Path(options.environment) if options.environment else None
    gpus = sorted(set(options.gpus))
    names = lay_out_models(repository, options.model, target, environment, parameters, link=False, gpus=gpus)
    print(
        f"wrote {', '.join(names)} to {target}; serve them with tritonserver --model-repository={target} "
        "--disable-auto-complete-config"
    )
    if options.environment is None:
        print("The python3 of its Python backend must import tricodec; or name an environment with --environment.")
    return 0


def _parameters(options: argparse.Namespace) -> dict[str, dict[str, str]]:
    """The values of --parameter and --allow-remote by model."""
    parameters: dict[str, dict[str, str]] = {}
    for entry in options.parameter:
        name, equals, value = entry.partition("=")
        model, _, key = name.partition(".")
        if not (equals and model and key):
            text = f"--parameter {entry!r}: expected MODEL.KEY=VALUE, such as video_decode.timeout_ms=5000"
            options.parser.error(text)
        parameters.setdefault(model, {})[key] = value
    if options.allow_remote:
        from tricodec.triton.serve.repository import EVERY_MODEL

        parameters.setdefault(EVERY_MODEL, {})["allow_remote"] = " ".join(options.allow_remote)
    return parameters
