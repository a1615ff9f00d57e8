# SPDX-License-Identifier: Apache-2.0
"""`tricodec demo`: one request through every front end, compared."""

from __future__ import annotations

import argparse
import contextlib
import hashlib
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

import tricodec
from tricodec.cli import shared
from tricodec.measure.bench import open_dali
from tricodec.show import Progress, format_table
from tricodec.show.media import describe

_HEADER = ["front end", "frames", "fps", "SHA-256 of the tensor", "equal"]
# With the mean and standard deviation of ImageNet, which most image models were trained with.
_TENSOR = {
    "size": (224, 224), "dtype": "float32", "layout": "CHW",
    "mean": [0.485, 0.456, 0.406], "std": [0.229, 0.224, 0.225],
}  # fmt: skip


@contextlib.contextmanager
def _open_python(path: Path, request: dict[str, Any]) -> Iterator[Any]:
    data = path.read_bytes()
    yield lambda: tricodec.decode_video(data, pinned=True, **request).frames


@contextlib.contextmanager
def _open_triton(path: Path, request: dict[str, Any]) -> Iterator[Any]:
    from tricodec.triton.client import Client
    from tricodec.triton.serve import Server

    data = path.read_bytes()
    with Server(models=["video_decode"]) as server, Client(server.grpc_url) as client:
        yield lambda: client.decode_video(data, **request).frames


_FRONT_ENDS: dict[str, Callable[..., contextlib.AbstractContextManager[Callable[[], npt.NDArray[Any]]]]] = {
    "python": _open_python, "dali": open_dali, "triton": _open_triton,
}  # fmt: skip
"""Opening one raises ImportError, or FileNotFoundError for Triton's server, if it is not installed."""


def add_parser(commands: Any, common: argparse.ArgumentParser) -> None:
    parser = shared.add_command(
        commands, [common], "demo", run,
        "Send one request through Python, DALI and Triton. It prepares frames for a model; the results are compared.",
        ("tricodec demo", "tricodec demo video.mp4 --front-ends python"),
    )  # fmt: skip
    parser.add_argument("file", nargs="?", metavar="FILE", help="a video (default: the one of tricodec.sample_video)")
    parser.add_argument("--frames", type=int, default=32, metavar="N", help="number of frames (default 32)")
    parser.add_argument("-o", "--output", default="demo_output", metavar="DIR", help="folder for the contact sheet")
    help = f"front ends that must work, of {','.join(_FRONT_ENDS)} (default: all with their packages installed)"
    parser.add_argument("--front-ends", metavar="A,B", help=help)


def run(options: argparse.Namespace) -> int:
    """Prints the comparison; 1 if the front ends disagree or one that was named is missing."""
    wanted = options.front_ends.split(",") if options.front_ends else list(_FRONT_ENDS)
    unknown = [name for name in wanted if name not in _FRONT_ENDS]
    if unknown:
        options.parser.error(f"no front end is called {', '.join(unknown)}; accepted: {', '.join(_FRONT_ENDS)}")
    path = Path(options.file or tricodec.sample_video())

    info = tricodec.probe(path)
    shared.say(options, describe(info))
    sheet = Path(options.output) / "contact_sheet.png"
    with tricodec.FrameReader(path) as reader:
        count = min(options.frames, len(reader))
        request = {"stride": max(1, len(reader) // count), "count": count, **_TENSOR}
        shared.say(options, f"\nengine: {reader.engine}, device: {reader.device}")
        what = f"{count} of {len(reader)} frames (stride {request['stride']}), 224x224 float32 CHW, normalized"
        shared.say(options, f"request: {what}\n")
        sheet.parent.mkdir(parents=True, exist_ok=True)
        reader.show().save(sheet)
    rows, agree = _compare(wanted, path, request, required=bool(options.front_ends))
    shared.say(options, format_table(_HEADER, rows))
    shared.say(options, f"\ncontact sheet: {sheet}")
    names = [name.replace(" ", "_") for name in _HEADER]
    results = [dict(zip(names, row, strict=True)) for row in rows]
    shared.print_facts(options, {"file": info.to_dict(), "front_ends": results, "contact_sheet": str(sheet)})
    return 0 if agree else 1


def _compare(
    wanted: list[str], path: Path, request: dict[str, Any], *, required: bool
) -> tuple[list[list[object]], bool]:
    """A row for each front end, and whether all that ran gave the same bytes as the first."""
    rows: list[list[object]] = []
    first: npt.NDArray[Any] | None = None
    agree = True
    progress = Progress("front ends", len(wanted))
    for name in wanted:
        try:
            with progress, _FRONT_ENDS[name](path, request) as decode:
                progress.advance()
                decode()  # loads libraries and fills caches
                start = time.perf_counter()
                frames = decode()
                seconds = time.perf_counter() - start
        except (ImportError, FileNotFoundError) as error:
            rows.append([name, "", "", str(error), "not run"])
            agree = agree and not required
            continue
        if first is None:
            first = frames
        equal = frames.shape == first.shape and frames.tobytes() == first.tobytes()
        agree = agree and equal
        digest = hashlib.sha256(np.ascontiguousarray(frames).data).hexdigest()
        rows.append([name, len(frames), round(len(frames) / seconds), digest, "yes" if equal else "NO"])
    return rows, agree
