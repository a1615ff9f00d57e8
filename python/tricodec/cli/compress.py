# SPDX-License-Identifier: Apache-2.0
"""`tricodec compress` and `tricodec decompress`: files, in pieces of nvCOMP's container."""

from __future__ import annotations

import argparse
import mmap
from collections.abc import Iterator
from pathlib import Path
from typing import Any, BinaryIO

from tricodec.cli.compress_choice import Choice, choose, element_type
from tricodec.cli.files import new_file, require_regular
from tricodec.cli.progress import Progress
from tricodec.compress import ChecksumPolicy, Codec, compression_algorithms
from tricodec.errors import CorruptDataError

SUFFIX = ".tcz"
PIECE_BYTES = 64 << 20  # what is in memory at a time; a piece is a container of its own
_MIB = 1 << 20


def add_parser(commands: Any, common: argparse.ArgumentParser) -> None:
    """Adds the sub-commands."""
    names = [name for name, reason in compression_algorithms().items() if not reason]
    pack = commands.add_parser(
        "compress", parents=[common], help="compress a file",
        description="Compress a file, with checksums; the type of a .npy's elements is used if it helps.",
    )  # fmt: skip
    pack.add_argument("file", metavar="FILE", type=Path)
    pack.add_argument("-o", "--output", metavar="FILE", type=Path, help=f"default: FILE{SUFFIX}")
    pack.add_argument(
        "--algorithm", default="auto", type=str.lower, choices=["auto", *map(str.lower, names)], metavar="NAME",
        help="auto (default: tries a sample and reports its choice), or one of " + ", ".join(names),
    )  # fmt: skip
    pack.add_argument("--level", type=int, help="level of LZ4 (3 to 12) and Zstd (-7 to 22)")
    pack.add_argument("--strength", type=int, help="algorithm_type of Deflate, Gzip, GDeflate: 0 fastest, 5 smallest")
    pack.add_argument("--chunk-size", type=int, default=65536, metavar="BYTES", help="default: 65536")
    pack.add_argument("-f", "--force", action="store_true", help="overwrite the output")
    pack.set_defaults(run=run_compress)

    unpack = commands.add_parser(
        "decompress", parents=[common], help="decompress a file of `tricodec compress`",
        description="Decompress a file and verify its checksums.",
    )  # fmt: skip
    unpack.add_argument("file", metavar="FILE", type=Path)
    unpack.add_argument("-o", "--output", metavar="FILE", type=Path, help=f"default: FILE without {SUFFIX}")
    unpack.add_argument("-f", "--force", action="store_true", help="overwrite the output")
    unpack.set_defaults(run=run_decompress)


def run_compress(options: argparse.Namespace) -> int:
    """Compresses the file and prints its sizes."""
    source: Path = options.file
    target: Path = options.output or source.with_name(source.name + SUFFIX)
    require_regular(source)
    total = source.stat().st_size
    with source.open("rb") as reading:
        data = _mapped(reading, total)
        data_type = element_type(data) if source.suffix == ".npy" else None
        choice = Choice(options.algorithm, data_type)
        if options.algorithm == "auto":
            choice = choose(data, data_type)
            print(f"chose {choice.text}")
        codec = _codec(choice, options)
        written = 0
        with new_file(target, options.force) as writing, Progress("compressing MiB", -(-total // _MIB)) as progress:
            for start in range(0, max(1, total), PIECE_BYTES):
                piece = data[start : start + PIECE_BYTES]
                # The pieces follow each other on multiples of 8, as their readers want them.
                packed = bytes(codec.encode(piece))
                written += writing.write(packed + bytes(-len(packed) % 8))
                progress.advance(-(-len(piece) // _MIB))
    ratio = total / max(1, written)
    print(f"{target}: {written} bytes from {total} (ratio {ratio:.2f})")
    return 0


def run_decompress(options: argparse.Namespace) -> int:
    """Decompresses the file."""
    source: Path = options.file
    if options.output is None and source.suffix != SUFFIX:
        raise ValueError(f"{source} does not end in {SUFFIX}; name the output with --output")
    target: Path = options.output or source.with_suffix("")
    require_regular(source)
    total = source.stat().st_size
    written = 0
    codec = Codec(checksum_policy=ChecksumPolicy.COMPUTE_AND_VERIFY, trusted=False, device="cpu")
    with source.open("rb") as reading:
        data = _mapped(reading, total)
        with new_file(target, options.force) as writing, Progress("decompressing MiB", -(-total // _MIB)) as progress:
            for piece in _pieces(codec, data):
                written += writing.write(codec.decode(piece))
                progress.advance(-(-len(piece) // _MIB))
    print(f"{target}: {written} bytes")
    return 0


def _codec(choice: Choice, options: argparse.Namespace) -> Codec:
    typed = choice.algorithm in ("bitcomp", "cascaded")
    return Codec(
        algorithm=choice.algorithm,
        data_type=(choice.data_type or "|u1") if typed else None,
        uncomp_chunk_size=options.chunk_size,
        level=options.level,
        algorithm_type=options.strength,
        checksum_policy=ChecksumPolicy.COMPUTE_AND_NO_VERIFY,
        device="cpu",
    )


def _mapped(file: BinaryIO, size: int) -> memoryview:
    if size == 0:  # nothing to map
        return memoryview(b"")
    return memoryview(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ))


def _pieces(codec: Codec, data: memoryview) -> Iterator[memoryview]:
    """The containers that follow each other in a file."""
    position = 0
    while position < len(data) or position == 0:
        try:
            size = codec.inspect(data[position:]).compressed_bytes
        except CorruptDataError as error:
            raise CorruptDataError(f"at byte {position}: {error}") from error
        yield data[position : position + size]
        position += size + -size % 8
