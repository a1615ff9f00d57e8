# SPDX-License-Identifier: Apache-2.0
"""`tricodec compress` and `tricodec decompress`: files, in pieces of nvCOMP's container."""

from __future__ import annotations

import argparse
import contextlib
import os
import shutil
import sys
import tempfile
from collections.abc import Iterator
from typing import Any

from tricodec.cli import shared
from tricodec.cli.inputs import Input, check_target, output_of, run_each
from tricodec.compress import FILE_SUFFIX, compress_file, compression_algorithms, decompress_file
from tricodec.show import Progress

_MIB = 1 << 20


def add_parser(commands: Any, common: argparse.ArgumentParser) -> None:
    names = [name for name, reason in compression_algorithms().items() if not reason]
    pack = shared.add_command(
        commands, [common], "compress", run,
        "Compress files without loss. They have checksums. For a .npy file the element type is used, if it helps.",
        ("tricodec compress weights.npy", "tricodec compress videos/ -o packed/ --algorithm zstd --level 3"),
    )  # fmt: skip
    unpack = shared.add_command(
        commands, [common], "decompress", run,
        "Decompress files of `tricodec compress`. Their checksums are verified.",
        ("tricodec compress weights.npy -o - | tricodec decompress - -o again.npy",),
    )  # fmt: skip
    for parser, name in ((pack, f"FILE{FILE_SUFFIX}"), (unpack, f"FILE without {FILE_SUFFIX}")):
        parser.add_argument("files", metavar="FILE", nargs="+", help="a file, a folder, or - for standard input")
        help = f"the result (default: {name}), a folder for several, or - for standard output"
        parser.add_argument("-o", "--output", metavar="PATH", help=help)
        shared.add_force(parser)
    pack.add_argument(
        "--algorithm", default="auto", type=str.lower, choices=["auto", *map(str.lower, names)], metavar="NAME",
        help="auto (default: tries a sample and reports its choice), or one of " + ", ".join(names),
    )  # fmt: skip
    shared.add_options(pack, "--level")
    pack.add_argument("--strength", type=int, help="algorithm_type of Deflate, Gzip, GDeflate: 0 fastest, 5 smallest")
    pack.add_argument("--chunk-size", type=int, default=65536, metavar="BYTES", help="bytes of a chunk (default 65536)")


def run(options: argparse.Namespace) -> int:
    """Compresses or decompresses the files, and prints their sizes."""
    if options.files == [shared.STDIO]:
        options.output = options.output or shared.STDIO
    packs = options.command == "compress"
    work, unit = (_compress, "compressed_bytes") if packs else (_decompress, "bytes")
    return run_each(options, work, unit, lambda name: name.endswith(FILE_SUFFIX) != packs)


def _compress(each: Input, options: argparse.Namespace) -> dict[str, Any]:
    named = each.relative.with_name(each.relative.name + FILE_SUFFIX)
    target = output_of(each, options.output, named) or each.name + FILE_SUFFIX
    with _files(each, target, options) as (source, result, on_progress):
        done = compress_file(
            source, result, algorithm=options.algorithm, level=options.level, strength=options.strength,
            chunk_bytes=options.chunk_size, on_choice=lambda text: shared.say(options, f"chose {text}"),
            on_progress=on_progress,
        )  # fmt: skip
    ratio = done.bytes_read / max(1, done.bytes_written)
    text = f"{done.bytes_written} bytes from {done.bytes_read} (ratio {ratio:.2f})"
    shared.say(options, f"{shared.shown_target(target)}: {text}")
    return {
        "file": each.name, "output": target, "algorithm": done.algorithm, "bytes": done.bytes_read,
        "compressed_bytes": done.bytes_written, "ratio": ratio,
    }  # fmt: skip


def _decompress(each: Input, options: argparse.Namespace) -> dict[str, Any]:
    stem = each.relative.with_suffix("") if each.relative.suffix == FILE_SUFFIX else each.relative
    target = output_of(each, options.output, stem)
    if target is None and not each.name.endswith(FILE_SUFFIX):
        raise ValueError(f"{each.name} does not end in {FILE_SUFFIX}; name the output with -o")
    target = target or each.name.removesuffix(FILE_SUFFIX)
    with _files(each, target, options) as (source, result, on_progress):
        done = decompress_file(source, result, on_progress=on_progress)
    shared.say(options, f"{shared.shown_target(target)}: {done.bytes_written} bytes")
    return {"file": each.name, "output": target, "bytes": done.bytes_written}


@contextlib.contextmanager
def _files(each: Input, target: str, options: argparse.Namespace) -> Iterator[tuple[Any, Any, Any]]:
    """What is read, what is written, and a function for the progress.

    Of a pipe a temporary file with all that it gives is read, since samples are from all over it.
    """
    result: Any = sys.stdout.buffer
    if target != shared.STDIO:
        check_target(target, options)
        result = target
    with contextlib.ExitStack() as stack:
        source: Any = each.name
        if source == shared.STDIO:
            file = stack.enter_context(tempfile.TemporaryFile(buffering=0))
            shutil.copyfileobj(shared.to_source(shared.STDIO), file)
            source = os.fdopen(os.dup(file.fileno()), "rb", buffering=0)
        progress = stack.enter_context(Progress(f"{each.label}: MiB"))
        yield source, result, lambda done, total: progress.show(done // _MIB, -(-total // _MIB))
