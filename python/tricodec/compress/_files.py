# SPDX-License-Identifier: Apache-2.0
"""Compressed files: containers that follow each other, each of a piece of the file."""

from __future__ import annotations

import contextlib
import io
import os
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.lib import format as npy_format

from tricodec._tricodec import OutputFile
from tricodec.compress._codec import Codec, compression_algorithms
from tricodec.compress._enums import ChecksumPolicy
from tricodec.errors import CorruptDataError, MediaIOError
from tricodec.limits import get_limits

FILE_SUFFIX = ".tcz"
"""Of the names of compressed files."""
PIECE_BYTES = 64 << 20  # in memory at a time; each piece is a separate container
_HEADER_BYTES = 1 << 16  # which hold the header of most containers


@dataclass(frozen=True)
class CompressedFile:
    """What `compress_file` did."""

    bytes_read: int
    bytes_written: int
    algorithm: str
    """In small letters; "" of a file that was decompressed."""


def compress_file(
    source: Any,
    target: Any,
    *,
    algorithm: str = "auto",
    level: int | None = None,
    strength: int | None = None,
    chunk_bytes: int = 65536,
    on_choice: Callable[[str], object] | None = None,
    on_progress: Callable[[int, int], object] | None = None,
) -> CompressedFile:
    """Compresses a file, with checksums. Of a .npy file it uses the element type, if that helps.

    Args:
        source: the path of a regular file, or a regular file that is open to read bytes without a buffer.
        target: a path, which gets its file when it is complete, with the permissions of the source at most; or an
            object with ``write(bytes)``.
        algorithm: as in `Codec`; "auto" tries a sample, and takes the faster one of those that compress alike.
        level: of LZ4 (3 to 12) and Zstd (-7 to 22).
        strength: ``algorithm_type`` of Deflate, Gzip and GDeflate.
        chunk_bytes: uncompressed bytes of a chunk.
        on_choice: is called with what "auto" chose, and why.
        on_progress: is called with the bytes that are read, and all bytes.

    Raises:
        ValueError: the source is not a regular file, or an option is not accepted.
        MediaIOError: reading or writing failed, or another program shortened the source.
    """
    with _opened(source) as reading, contextlib.ExitStack() as stack:
        data_type = element_type(reading) if str(reading.name).endswith(".npy") else None
        algorithm = algorithm.lower()
        if algorithm == "auto":
            algorithm, reason = choose(reading, data_type)
            if on_choice is not None:
                on_choice(reason)
        codec = Codec(
            algorithm=algorithm,
            data_type=(data_type or "|u1") if algorithm in _TYPED else None,
            uncomp_chunk_size=chunk_bytes,
            level=level,
            algorithm_type=strength,
            checksum_policy=ChecksumPolicy.COMPUTE_AND_NO_VERIFY,
            device="cpu",
        )
        writing = stack.enter_context(_target(target, reading))
        written = 0
        for start in range(0, max(1, reading.size), PIECE_BYTES):
            piece = reading.read(start, min(PIECE_BYTES, reading.size - start))
            # The pieces follow each other on multiples of 8, as their readers want them.
            packed = bytes(codec.encode(piece))
            packed += bytes(-len(packed) % 8)
            writing.write(packed)
            written += len(packed)
            if on_progress is not None:
                on_progress(start + len(piece), reading.size)
        return CompressedFile(reading.size, written, algorithm)


def decompress_file(
    source: Any, target: Any, *, on_progress: Callable[[int, int], object] | None = None
) -> CompressedFile:
    """Decompresses a file of `compress_file`, and verifies its checksums.

    Args:
        source, target: as in `compress_file`.
        on_progress: is called with the bytes that are read, and all bytes.

    Raises:
        ValueError: the source is not a regular file.
        CorruptDataError: the data are damaged.
        MediaIOError: reading or writing failed, or another program shortened the source.
    """
    codec = Codec(checksum_policy=ChecksumPolicy.COMPUTE_AND_VERIFY, device="cpu")
    read = written = 0
    with _opened(source) as reading, _target(target, reading) as writing:
        for piece in _pieces(codec, reading):
            data = codec.decode(piece)
            writing.write(data)
            written += data.size
            read += len(piece)
            if on_progress is not None:
                on_progress(read, reading.size)
        return CompressedFile(reading.size, written, "")


def _opened(source: Any) -> PartReader:
    if not isinstance(source, str | os.PathLike):
        return PartReader(source)
    path = Path(source)
    if path.exists() and not path.is_file():  # a folder, a pipe or a device: their size is unknown before they are read
        raise ValueError(f"{path} is not a regular file; write its data to one first")
    return PartReader(path.open("rb", buffering=0))


def _target(target: Any, source: PartReader) -> contextlib.AbstractContextManager[Any]:
    if isinstance(target, str | os.PathLike):
        return OutputFile(target, source.permissions)
    return contextlib.nullcontext(target)


class PartReader(contextlib.AbstractContextManager["PartReader"]):
    """A file, a part at a time: a mapped file that another program shortens ends this process by SIGBUS."""

    def __init__(self, file: Any) -> None:
        self._file = io.BufferedReader(file)  # its read() gives all that is asked for
        status = os.fstat(file.fileno())
        self.size, self.permissions = status.st_size, status.st_mode & 0o777
        self.name = file.name

    def __exit__(self, *_: object) -> None:
        self._file.close()

    def read(self, start: int, size: int) -> bytes:
        """Bytes of the file."""
        self._file.seek(start)
        data = self._file.read(size)
        if len(data) < size:
            raise MediaIOError(
                f"'{self.name}' has {start + len(data)} bytes now and had {self.size} before: another program "
                "shortened it; run the command again when the file is complete"
            )
        return data


def _pieces(codec: Codec, data: PartReader) -> Iterator[bytes]:
    """The containers that follow each other in a file."""
    position = 0
    most = max(2 * PIECE_BYTES, 2 * get_limits().max_output_bytes)
    while position < data.size or position == 0:
        rest = data.size - position
        size = min(_HEADER_BYTES, rest)
        while True:
            try:
                info = codec.inspect(data.read(position, size))
                whole = info.compressed_bytes + 64 + 16 * info.num_chunks  # with checksums, which may be cut off here
            except CorruptDataError as error:
                if size == rest or size >= most:
                    raise CorruptDataError(f"at byte {position}: {error}") from error
                whole = 2 * size
            if size >= min(whole, rest):
                break
            size = min(whole, rest)
        yield data.read(position, info.compressed_bytes)
        position += info.compressed_bytes + -info.compressed_bytes % 8


SAMPLE_PIECES = 8
SAMPLE_PIECE_BYTES = 1 << 18
_CLOSE = 1.03  # ratios this close count as equal: then the faster one is better
_STORED = 1.02  # below this nothing is gained, and the fastest will do
_TYPED = ("bitcomp", "cascaded")


def element_type(data: PartReader) -> str | None:
    """The integer type of as many bytes as an element of a .npy file has; None for other files."""
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
        return [data.read(0, whole)]
    starts = np.linspace(0, whole - SAMPLE_PIECE_BYTES, SAMPLE_PIECES).astype(int) // 8 * 8
    return [data.read(int(start), SAMPLE_PIECE_BYTES) for start in starts]


def choose(data: PartReader, data_type: str | None) -> tuple[str, str]:
    """The algorithm with the best ratio on a sample, the faster one if ratios are close; and the reason."""
    pieces = sample_of(data)
    total = sum(len(piece) for piece in pieces)
    if total == 0:
        return "lz4", "LZ4: there is nothing to sample"
    found: list[tuple[float, float, str]] = []
    for name, reason in compression_algorithms().items():
        typed = name.lower() in _TYPED
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
    return name.lower(), f"{name}: ratio {ratio:.2f} on {total} bytes sampled ({others})"
