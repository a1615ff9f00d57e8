# SPDX-License-Identifier: Apache-2.0
"""`tricodec node`: the service by which the processes of a machine share decoders, memory and frames."""

from __future__ import annotations

import argparse
import contextlib
import dataclasses
from typing import Any

from tricodec.cli import shared
from tricodec.node import NodeLostError, RunsAlreadyError, Settings, connect, parse_bytes, start


def add_parser(commands: Any, common: argparse.ArgumentParser) -> None:
    """Adds the sub-command."""
    parser = shared.add_command(
        commands, [common], "node", run,
        "Start, show or stop the node of this machine. Programs decode in it together if the environment variable "
        "TRICODEC_NODE is auto, or by tricodec.node.connect().",
        ("tricodec node start", "tricodec node status", "tricodec node stop"), "howto/share_a_gpu.md",
    )  # fmt: skip
    parser.add_argument("action", choices=("start", "status", "stop"), help="what is done")
    parser.add_argument("--socket", default="", metavar="PATH", help="the node's socket (default: the user's own)")
    add = parser.add_argument_group("of start").add_argument
    add("--gpus", type=shared.list_of(int), metavar="N,...", help="the GPUs (default: all that can be used)")
    add(
        "--memory", type=parse_bytes, metavar="SIZE",
        help="memory of the host for results and kept frames, such as 8GiB (default: that, at most half of all)",
    )  # fmt: skip
    add("--gpu-memory", type=parse_bytes, metavar="SIZE", help="what the node takes of each GPU (default: 4GiB)")
    add("--workers", type=int, metavar="N", help="processes that decode on the CPU (default: one for each core)")
    add("--timeout-s", type=float, metavar="SECONDS", help="the longest time of one request (default: 120)")


def run(options: argparse.Namespace) -> int:
    """Does it, and prints what there is now."""
    try:
        node = connect(options.socket or None)
    except NodeLostError:
        if options.action == "status":
            raise
        if options.action == "stop":
            shared.report(options, "no node runs", {"running": False})
            return 0
        names = [field.name for field in dataclasses.fields(Settings)]
        given = {name: value for name in names if (value := getattr(options, name, None)) is not None}
        settings = Settings(**{**given, "gpus": None if options.gpus is None else tuple(options.gpus)})
        with contextlib.suppress(RunsAlreadyError):  # another command has started it just now
            start(settings)
        node = connect(options.socket or None, start=True)
    if options.action == "stop":
        node.stop()
        shared.report(options, f"the node at {node.path} ends", {"running": False})
        return 0
    status = node.status()
    shared.report(options, "\n".join(_lines(status)), status)
    return 0


def _lines(status: dict[str, Any]) -> list[str]:
    lines = [f"node {status['version']} at {status['socket']}, process {status['process']}"]
    for name, device in status["devices"].items():
        lines.append(
            f"{name}: {_mib(device['leased_bytes'])} of {_mib(device['memory_bytes'])} MiB in use by results, "
            f"{_mib(device['kept_bytes'])} MiB of kept frames, {device['running']} requests run, "
            f"{device['waiting']} wait"
        )
    lines.append(
        f"{shared.counted(len(status['clients']) - 1, 'other client')}, "
        f"{shared.counted(status['requests'], 'request')}, "
        f"{status['failures']} failed, {status['frames']} frames, {status['shared_frames']} of them decoded before"
    )
    return lines


def _mib(size: int) -> int:
    return size >> 20
