# SPDX-License-Identifier: Apache-2.0
"""`tricodec compress` and `tricodec decompress`: files, in pieces of nvCOMP's container."""

from __future__ import annotations

import argparse
import contextlib
import os
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterator
from typing import Any

from tricodec.cli.inputs import Input, check_target, inputs_of, output_of, run_each
from tricodec.cli.shared import STDIO, add_force, say, shown_target, to_source
from tricodec.compress import FILE_SUFFIX, compress_file, compression_algorithms, decompress_file
from tricodec.show.progress import Progress

_MIB = 1 << 20


def add_parser(commands: Any, common: argparse.ArgumentParser) -> None:
    """Adds the sub-commands."""
    names = [name for name, reason in compression_algorithms().items() if not reason]
    pack = commands.add_parser(
        "compress", parents=[common], help="compress files",
        description="Compress files, with checksums. For a .npy file the element type is used, if it helps.",
    )  # fmt: skip
    pack.add_argument("files", metavar="FILE", nargs="+", help="a file, a folder of files, or - for standard input")
    pack.add_argument(
        "-o", "--output", metavar="PATH",
        help=f"the compressed file (default: FILE{FILE_SUFFIX}), a folder for several, or - for standard output",
    )  # fmt: skip
    pack.add_argument(
        "--algorithm", default="auto", type=str.lower, choices=["auto", *map(str.lower, names)], metavar="NAME",
        help="auto (default: tries a sample and reports its choice), or one of " + ", ".join(names),
    )  # fmt: skip
    pack.add_argument("--level", type=int, help="level of LZ4 (3 to 12) and Zstd (-7 to 22)")
    pack.add_argument("--strength", type=int, help="algorithm_type of Deflate, Gzip, GDeflate: 0 fastest, 5 smallest")
    pack.add_argument("--chunk-size", type=int, default=65536, metavar="BYTES", help="bytes of a chunk (default 65536)")
    add_force(pack, can_resume=True)
    pack.set_defaults(run=run_compress)

    unpack = commands.add_parser(
        "decompress", parents=[common], help="decompress files of `tricodec compress`",
        description="Decompress files and verify their checksums.",
    )  # fmt: skip
    unpack.add_argument(
        "files", metavar="FILE", nargs="+", help=f"a file, a folder with files {FILE_SUFFIX}, or - for standard input"
    )
    unpack.add_argument(
        "-o", "--output", metavar="PATH",
        help=f"the decompressed file (default: FILE without {FILE_SUFFIX}), a folder for several, or - for standard "
        "output",
    )  # fmt: skip
    add_force(unpack, can_resume=True)
    unpack.set_defaults(run=run_decompress)


def run_compress(options: argparse.Namespace) -> int:
    """Compresses the files and prints their sizes."""
    inputs = inputs_of(options.files, lambda name: not name.endswith(FILE_SUFFIX))
    return run_each(options, inputs, lambda each: _compress(each, inputs, options), unit="compressed_bytes")


def _compress(each: Input, inputs: list[Input], options: argparse.Namespace) -> dict[str, Any]:
    named = each.relative.with_name(each.relative.name + FILE_SUFFIX)
    beside = STDIO if each.name == STDIO else each.name + FILE_SUFFIX
    target = output_of(each, inputs, options.output, named) or beside
    if each.name == STDIO and target == STDIO:
        options.output = STDIO
    with _source(each) as source, _bytes_bar(f"{each.label}: MiB") as show:
        done = compress_file(
            source, _target(target, options), algorithm=options.algorithm, level=options.level,
            strength=options.strength, chunk_bytes=options.chunk_size,
            on_choice=lambda text: say(options, f"chose {text}"), on_progress=show,
        )  # fmt: skip
    ratio = done.bytes_read / max(1, done.bytes_written)
    say(options, f"{shown_target(target)}: {done.bytes_written} bytes from {done.bytes_read} (ratio {ratio:.2f})")
    return {
        "file": each.name, "output": target, "algorithm": done.algorithm, "bytes": done.bytes_read,
        "compressed_bytes": done.bytes_written, "ratio": ratio,
    }  # fmt: skip


def run_decompress(options: argparse.Namespace) -> int:
    """Decompresses the files."""
    inputs = inputs_of(options.files, lambda name: name.endswith(FILE_SUFFIX))
    return run_each(options, inputs, lambda each: _decompress(each, inputs, options), unit="bytes")


def _decompress(each: Input, inputs: list[Input], options: argparse.Namespace) -> dict[str, Any]:
    stem = each.relative.with_suffix("") if each.relative.suffix == FILE_SUFFIX else each.relative
    target = output_of(each, inputs, options.output, stem)
    if target is None and each.name == STDIO:
        target = options.output = STDIO
    if target is None and not each.name.endswith(FILE_SUFFIX):
        raise ValueError(f"{each.name} does not end in {FILE_SUFFIX}; name the output with --output")
    target = target or each.name.removesuffix(FILE_SUFFIX)
    with _source(each) as source, _bytes_bar(f"{each.label}: MiB") as show:
        done = decompress_file(source, _target(target, options), on_progress=show)
    say(options, f"{shown_target(target)}: {done.bytes_written} bytes")
    return {"file": each.name, "output": target, "bytes": done.bytes_written}


@contextlib.contextmanager
def _bytes_bar(label: str) -> Iterator[Callable[[int, int], None]]:
    with Progress(label) as progress:

        def show(done: int, total: int) -> None:
            progress.show(done // _MIB, -(-total // _MIB))

        yield show


@contextlib.contextmanager
def _source(each: Input) -> Iterator[Any]:
    """What is read. Of a pipe a temporary file with all that it gives, since samples are from all over it."""
    if each.name != STDIO:
        yield each.name
        return
    with tempfile.TemporaryFile(buffering=0) as file:
        shutil.copyfileobj(to_source(STDIO), file)
        yield os.fdopen(os.dup(file.fileno()), "rb", buffering=0)


def _target(name: str, options: argparse.Namespace) -> Any:
    if name == STDIO:
        return sys.stdout.buffer
    check_target(name, options)
    return name
