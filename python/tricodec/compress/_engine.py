# SPDX-License-Identifier: Apache-2.0
"""Where a codec works: on the CPU, or on a GPU by NVIDIA's library."""

from __future__ import annotations

import logging
import os
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from tricodec import _tricodec
from tricodec._tricodec import CompressArray as Array
from tricodec._tricodec import as_array
from tricodec.compress._enums import ArrayBufferKind, ChecksumPolicy
from tricodec.compress._library import use_installed_library
from tricodec.compress._options import Options
from tricodec.errors import DeviceError

_log = logging.getLogger("tricodec")


def _native(options: Options) -> dict[str, Any]:
    return {
        "algorithm": options.algorithm,
        "chunk_bytes": options.uncomp_chunk_size,
        "bitstream": int(options.bitstream_kind),
        "checksums": int(options.checksum_policy),
        "data_type": options.data_type,
        "algorithm_type": options.algorithm_type,
        "num_rles": options.num_rles,
        "num_deltas": options.num_deltas,
        "use_bitpack": options.use_bitpack,
        "level": options.level,
        "bit_shuffle": int(options.bitshuffle_mode),
        "trusted": options.trusted,
        "decompress_backend": int(options.decompress_backend),
        "num_threads": options.num_threads,
    }


class CpuEngine:
    """Arrays on the CPU. Those on a GPU are copied here, and their results back."""

    name = "cpu"

    def __init__(self, options: Options) -> None:
        self.core = _tricodec.Compressor(options=_native(options))

    def encode(self, sources: Sequence[Any], outs: Sequence[Any] | None) -> list[Array]:
        """Compress each."""
        hosts, moved = _to_host(sources)
        return _back(self.core.encode(hosts, outs), moved, outs)

    def decode(
        self, sources: Sequence[Any], data_type: str, outs: Sequence[Any] | None, sizes: Sequence[int] | None
    ) -> list[Array]:
        """Decompress each."""
        hosts, moved = _to_host(sources)
        return _back(self.core.decode(hosts, data_type, outs, sizes), moved, outs)

    def max_compressed_bytes(self, size: int) -> int:
        """The most bytes that compressing so many gives."""
        return self.core.max_compressed_bytes(size)

    def decompressed_bytes(self, source: Any) -> int:
        """What an array decompresses to."""
        return self.core.decompressed_bytes(_to_host((source,))[0][0])


class GpuEngine:
    """Arrays on one GPU; those on the CPU are copied there, and results stay there."""

    def __init__(self, options: Options, index: int) -> None:
        self.name = f"cuda:{index}"
        self.core = _tricodec.GpuCompressor(options=_native(options), device_index=index, stream=options.cuda_stream)

    def encode(self, sources: Sequence[Any], outs: Sequence[Any] | None) -> list[Array]:
        """Compress each."""
        return self.core.encode(sources, outs)

    def decode(
        self, sources: Sequence[Any], data_type: str, outs: Sequence[Any] | None, sizes: Sequence[int] | None
    ) -> list[Array]:
        """Decompress each; sizes are read with the headers anyway, and compared."""
        return self.core.decode(sources, data_type, outs, sizes)

    def max_compressed_bytes(self, size: int) -> int:
        """The most bytes that compressing so many gives."""
        return self.core.max_compressed_bytes(size)

    def decompressed_bytes(self, source: Any) -> int:
        """What an array decompresses to."""
        return self.core.decompressed_bytes(source)


def _to_host(sources: Sequence[Any]) -> tuple[list[Array], list[bool]]:
    arrays = [as_array(source) for source in sources]
    moved = [array.buffer_kind is ArrayBufferKind.STRIDED_DEVICE for array in arrays]
    return [on_host(array) for array in arrays], moved


def on_host(array: Array) -> Array:
    """The array in host memory: itself, or a copy.

    Raises:
        DeviceError: if it could not be copied.
    """
    host = array.cpu()
    if host is None:
        raise DeviceError(f"{array!r} could not be copied to the CPU; the log says why")
    return host


def _back(results: list[Array], moved: list[bool], outs: Sequence[Any] | None) -> list[Array]:
    if outs is not None:
        return results
    return [(array.cuda() or array) if was else array for array, was in zip(results, moved, strict=True)]


_KINDS = ("auto", "cpu", "cuda")


@dataclass(frozen=True, slots=True)
class _Request:
    """Where a codec is to work.

    Attributes:
        kind: "cpu", "cuda" (demanded) or "auto".
        index: which GPU.
        by_environment: what TRICODEC_DEVICE says, if the request is its.
    """

    kind: str
    index: int
    by_environment: str = ""

    @classmethod
    def of(cls, options: Options) -> _Request:
        """Of the keywords device and device_id, and of TRICODEC_DEVICE where device is "auto".

        device_id says which GPU, not whether one: TRICODEC_DEVICE=cpu holds beside it, but its number does not.

        Raises:
            ValueError: for a device that there is no such word for, or two different numbers.
        """
        said = os.environ.get("TRICODEC_DEVICE", "") if options.device == "auto" else ""
        word = said or options.device
        kind, colon, number = word.partition(":")
        accepted = kind in ("auto", "cuda") and number.isascii() and number.isdigit() if colon else kind in _KINDS
        if not accepted:
            origin = " (from TRICODEC_DEVICE)" if said else ""
            raise ValueError(
                f"device {word!r}{origin} is not accepted; use 'auto', 'auto:N', 'cpu', 'cuda' or 'cuda:N'"
            )
        given = options.device_id if options.device_id is not None and options.device_id >= 0 else None
        if given is not None and colon and not said and int(number) != given:
            raise ValueError(f"device {word!r} and device_id {given} name different GPUs; give one of them")
        return cls(kind, given if given is not None else int(number or 0), said)

    def refusal(self, reason: str) -> DeviceError:
        """The error where a GPU is demanded that cannot do the work."""
        if self.by_environment:
            return DeviceError(
                f"TRICODEC_DEVICE={self.by_environment} asks for cuda:{self.index}, but {reason}; give this codec "
                "device='cpu', or set TRICODEC_DEVICE=auto"
            )
        return DeviceError(f"device 'cuda:{self.index}' was asked for, but {reason}; use device='cpu' or 'auto'")


def make_engine(options: Options) -> CpuEngine | GpuEngine:
    """The engine for a codec.

    Without a word of the caller's it is the GPU where there is one that can do what is asked, as in nvCOMP. Checksums,
    levels and data that are not trusted are the CPU's. Where the CPU works in a GPU's place the log says why.

    Raises:
        ValueError: for a device that there is no such word for.
        DeviceError: if a GPU is demanded and cannot do it.
    """
    use_installed_library()
    request = _Request.of(options)
    if request.kind == "cpu":
        return CpuEngine(options)
    reason = ""
    if options.checksum_policy is not ChecksumPolicy.NO_COMPUTE_NO_VERIFY:
        reason = "checksums are computed on the CPU"
    elif not options.trusted:
        reason = "data that are not trusted (trusted=False, or TRICODEC_TRUSTED=0) are decoded on the CPU"
    elif options.level is not None:
        reason = "level is an option of the CPU's compressors"
    else:
        reason = _tricodec.gpu_compression_unavailable_reason(request.index)
    if not reason:
        return GpuEngine(options, request.index)
    if request.kind == "cuda":
        raise request.refusal(reason)
    _log.info("the CPU compresses and decompresses, not cuda:%d: %s", request.index, reason)
    return CpuEngine(options)
