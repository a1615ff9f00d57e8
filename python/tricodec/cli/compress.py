# SPDX-License-Identifier: Apache-2.0
"""`tricodec compress` and `tricodec decompress`: files, in pieces of nvCOMP's container."""

from __future__ import annotations

import argparse
import contextlib
import io
import os
import shutil
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.lib import format as npy_format

import tricodec
from tricodec._display.progress import Progress
from tricodec.cli.inputs import Input, inputs_of, output_of, run_each
from tricodec.cli.shared import STDIO, new_file, require_regular, say
from tricodec.compress import ChecksumPolicy, Codec, compression_algorithms
from tricodec.errors import CorruptDataError, MediaIOError

SUFFIX = ".tcz"
PIECE_BYTES = 64 << 20  # in memory at a time; each piece is a separate container
_MIB = 1 << 20


def add_parser(commands: Any, common: argparse.ArgumentParser) -> None:
    """Adds the sub-commands."""
    names = [name for name, reason in compression_algorithms().items() if not reason]
    pack = commands.add_parser(
        "compress", parents=[common], help="compress files",
        description="Compress files, with checksums. Of a .npy file it uses the element type, if that helps.",
    )  # fmt: skip
    pack.add_argument("files", metavar="FILE", nargs="+", help="a file, a folder of files, or - for standard input")
    pack.add_argument(
        "-o", "--output", metavar="PATH",
        help=f"the compressed file (default: FILE{SUFFIX}), a folder for several, or - for standard output",
    )  # fmt: skip
    pack.add_argument(
        "--algorithm", default="auto", type=str.lower, choices=["auto", *map(str.lower, names)], metavar="NAME",
        help="auto (default: tries a sample and reports its choice), or one of " + ", ".join(names),
    )  # fmt: skip
    pack.add_argument("--level", type=int, help="level of LZ4 (3 to 12) and Zstd (-7 to 22)")
    pack.add_argument("--strength", type=int, help="algorithm_type of Deflate, Gzip, GDeflate: 0 fastest, 5 smallest")
    pack.add_argument("--chunk-size", type=int, default=65536, metavar="BYTES", help="bytes of a chunk (default 65536)")
    pack.add_argument("-f", "--force", action="store_true", help="overwrite the output")
    pack.set_defaults(run=run_compress)

    unpack = commands.add_parser(
        "decompress", parents=[common], help="decompress files of `tricodec compress`",
        description="Decompress files and verify their checksums.",
    )  # fmt: skip
    unpack.add_argument(
        "files", metavar="FILE", nargs="+", help=f"a file, a folder with files {SUFFIX}, or - for standard input"
    )
    unpack.add_argument(
        "-o", "--output", metavar="PATH",
        help=f"the decompressed file (default: FILE without {SUFFIX}), a folder for several, or - for standard output",
    )  # fmt: skip
    unpack.add_argument("-f", "--force", action="store_true", help="overwrite the output")
    unpack.set_defaults(run=run_decompress)


def run_compress(options: argparse.Namespace) -> int:
    """Compresses the files and prints their sizes."""
    inputs = inputs_of(options.files, lambda name: not name.endswith(SUFFIX))
    return run_each(options, inputs, lambda each: _compress(each, inputs, options), unit="compressed_bytes")


def _compress(each: Input, inputs: list[Input], options: argparse.Namespace) -> dict[str, Any]:
    named = each.relative.with_name(each.relative.name + SUFFIX)
    beside = STDIO if each.name == STDIO else each.name + SUFFIX
    target = output_of(each, inputs, options.output, named) or beside
    if each.name == STDIO and target == STDIO:
        options.output = STDIO
    with _open(each) as reading:
        total = reading.size
        data_type = element_type(reading) if each.relative.suffix == ".npy" else None
        choice = Choice(options.algorithm, data_type)
        if options.algorithm == "auto":
            choice = choose(reading, data_type)
            say(options, f"chose {choice.text}")
        codec = _codec(choice, options)
        written = 0
        with _target(target, options.force) as writing, _bytes_bar(f"{each.shown}: MiB", total) as progress:
            for start in range(0, max(1, total), PIECE_BYTES):
                piece = reading.read(start, min(PIECE_BYTES, total - start))
                # The pieces follow each other on multiples of 8, as their readers want them.
                packed = bytes(codec.encode(piece))
                written += writing.write(packed + bytes(-len(packed) % 8))
                progress.advance(-(-len(piece) // _MIB))
    ratio = total / max(1, written)
    say(options, f"{target}: {written} bytes from {total} (ratio {ratio:.2f})")
    return {
        "file": each.name, "output": target, "algorithm": choice.algorithm, "bytes": total,
        "compressed_bytes": written, "ratio": ratio,
    }  # fmt: skip


def run_decompress(options: argparse.Namespace) -> int:
    """Decompresses the files."""
    inputs = inputs_of(options.files, lambda name: name.endswith(SUFFIX))
    return run_each(options, inputs, lambda each: _decompress(each, inputs, options), unit="bytes")


def _decompress(each: Input, inputs: list[Input], options: argparse.Namespace) -> dict[str, Any]:
    stem = each.relative.with_suffix("") if each.relative.suffix == SUFFIX else each.relative
    target = output_of(each, inputs, options.output, stem)
    if target is None and each.name == STDIO:
        target = options.output = STDIO
    if target is None and not each.name.endswith(SUFFIX):
        raise ValueError(f"{each.name} does not end in {SUFFIX}; name the output with --output")
    target = target or each.name.removesuffix(SUFFIX)
    written = 0
    codec = Codec(checksum_policy=ChecksumPolicy.COMPUTE_AND_VERIFY, trusted=False, device="cpu")
    with (
        _open(each) as reading,
        _target(target, options.force) as writing,
        _bytes_bar(f"{each.shown}: MiB", reading.size) as progress,
    ):
        for piece in _pieces(codec, reading):
            written += writing.write(codec.decode(piece))
            progress.advance(-(-len(piece) // _MIB))
    say(options, f"{target}: {written} bytes")
    return {"file": each.name, "output": target, "bytes": written}


def _bytes_bar(label: str, num_bytes: int) -> Progress:
    return Progress(label, -(-num_bytes // _MIB))


def _open(each: Input) -> PartReader:
    """The input a part at a time. What a pipe gives is kept in a temporary file, since samples are from all over it."""
    if each.name != STDIO:
        require_regular(Path(each.name))
        return PartReader(Path(each.name).open("rb", buffering=0))
    with tempfile.TemporaryFile() as file:
        shutil.copyfileobj(sys.stdin.buffer, file)
        file.flush()
        return PartReader(os.fdopen(os.dup(file.fileno()), "rb", buffering=0))


def _target(name: str, force: bool) -> contextlib.AbstractContextManager[Any]:
    return contextlib.nullcontext(sys.stdout.buffer) if name == STDIO else new_file(Path(name), force)


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


class PartReader:
    """A file in memory, a part at a time.

    It is read and not mapped: a mapped file that another program shortens ends this process by SIGBUS.
    """

    def __init__(self, file: Any) -> None:
        self._file = file
        self._file.seek(0)
        self._buffer = bytearray()
        self._start = self._end = 0  # of the file in the buffer
        self.size = os.fstat(file.fileno()).st_size

    def __enter__(self) -> PartReader:
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close()

    def read(self, start: int, size: int) -> memoryview:
        """Bytes of the file, valid until the next call."""
        if not self._start <= start <= start + size <= self._end:
            kept = self._buffer[start - self._start : self._end - self._start] if start >= self._start else b""
            if len(self._buffer) < size:
                self._buffer = bytearray(size)
            self._buffer[: len(kept)] = kept
            self._start, self._end = start, start + len(kept)
            self._fill(min(len(self._buffer), self.size - start))
        if start + size > self._end:
            raise MediaIOError(
                f"'{self._file.name}' has {self._end} bytes now and had {self.size} before: another program shortened "
                "it; run the command again when the file is complete"
            )
        return memoryview(self._buffer)[start - self._start : start - self._start + size]

    def buffered(self, start: int) -> int:
        """How many bytes from there on need no reading."""
        return self._end - start if self._start <= start < self._end else 0

    def _fill(self, size: int) -> None:
        """Reads until the buffer holds `size` bytes, or to the end of the file."""
        view = memoryview(self._buffer)
        self._file.seek(self._end)
        while self._end - self._start < size:
            count = self._file.readinto(view[self._end - self._start : size])
            if not count:
                return
            self._end += count


def _pieces(codec: Codec, data: PartReader) -> Iterator[memoryview]:
    """The containers that follow each other in a file, each valid until the next one."""
    position = 0
    afresh = False
    window = PIECE_BYTES + PIECE_BYTES // 8  # the container of a piece is hardly larger than the piece
    most = max(window, tricodec.get_limits().max_output_bytes * 2)
    while position < data.size or position == 0:
        left = min(window, data.size - position)
        if not afresh:  # a refill moves the whole window, and small containers are many in it
            left = data.buffered(position) or left
        size, follows = -1, 0
        try:
            info = codec.inspect(data.read(position, left))
            size = info.compressed_bytes
            follows = 64 + 16 * info.num_chunks  # checksums, which may be cut off here
        except CorruptDataError as error:
            if left == data.size - position or left >= most:
                raise CorruptDataError(f"at byte {position}: {error}") from error
        if size < 0 or (size + follows > left and left < data.size - position):
            if left >= window:
                window *= 2  # a container that is larger than those of this command
            afresh = True
            continue
        afresh = False
        yield data.read(position, size)
        position += size + -size % 8


SAMPLE_PIECES = 8
SAMPLE_PIECE_BYTES = 1 << 18
_CLOSE = 1.03  # ratios this close count as equal: then the faster one is better
_STORED = 1.02  # below this nothing is gained, and the fastest will do


@dataclass(frozen=True)
class Choice:
    """An algorithm for some data, and why."""

    algorithm: str
    data_type: str | None
    text: str = ""


def element_type(data: PartReader) -> str | None:
    """The integer type of as many bytes as an element of a .npy file has; None for other files.

    Header and elements of such a file are whole numbers of elements, as the header is padded to 64 bytes.
    """
    try:
        stream = io.BytesIO(data.read(0, min(data.size, 1 << 16)))
        version = npy_format.read_magic(stream)
        read = npy_format.read_array_header_1_0 if version == (1, 0) else npy_format.read_array_header_2_0
        dtype = read(stream)[2]
    except ValueError:
        return None
    if dtype.kind not in "iufb" or dtype.itemsize > 8 or data.size % dtype.itemsize:
        return None
    signed = "i" if dtype.kind == "i" else "u"
    return f"{'|' if dtype.itemsize == 1 else '<'}{signed}{dtype.itemsize}"


def sample_of(data: PartReader) -> list[bytes]:
    """Pieces from all over the data, on multiples of 8 bytes and of whole 8 bytes."""
    whole = data.size // 8 * 8
    if whole <= SAMPLE_PIECES * SAMPLE_PIECE_BYTES:
        return [bytes(data.read(0, whole))]
    starts = np.linspace(0, whole - SAMPLE_PIECE_BYTES, SAMPLE_PIECES).astype(int) // 8 * 8
    return [bytes(data.read(int(start), SAMPLE_PIECE_BYTES)) for start in starts]


def choose(data: PartReader, data_type: str | None) -> Choice:
    """Tries each algorithm on a sample and takes the one with the best ratio; the faster one if ratios are close."""
    pieces = sample_of(data)
    total = sum(len(piece) for piece in pieces)
    if total == 0:
        return Choice("lz4", data_type, "LZ4: there is nothing to sample")
    found: list[tuple[float, float, str]] = []
    for name, reason in compression_algorithms().items():
        typed = name in ("Bitcomp", "Cascaded")
        # Gzip is Deflate in a frame; GDeflate is Deflate for GPUs.
        if reason or name in ("Gzip", "GDeflate") or (typed and data_type is None):
            continue
        codec = Codec(algorithm=name, data_type=data_type if typed else None, device="cpu")
        start = time.perf_counter()
        packed = codec.encode(pieces)
        seconds = time.perf_counter() - start
        found.append((total / sum(array.size for array in packed), total / max(seconds, 1e-9), name))
    best = max(ratio for ratio, _, _ in found)
    close = [entry for entry in found if entry[0] * _CLOSE >= best or best < _STORED]
    ratio, _, name = max(close, key=lambda entry: entry[1])
    others = ", ".join(f"{other} {value:.2f}" for value, _, other in sorted(found, reverse=True) if other != name)
    return Choice(name.lower(), data_type, f"{name}: ratio {ratio:.2f} on {total} bytes sampled ({others})")
