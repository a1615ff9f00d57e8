# SPDX-License-Identifier: Apache-2.0
"""The device of a codec, and arrays that are on another one."""

from __future__ import annotations

import logging
import os
from dataclasses import dataclass

from tricodec._tricodec import Codec as NativeCodec
from tricodec._tricodec import CompressArray as Array
from tricodec._tricodec import gpu_compression_unavailable_reason
from tricodec.compress._enums import ChecksumPolicy
from tricodec.compress._library import use_installed_library
from tricodec.compress._options import Options
from tricodec.errors import DeviceError

_log = logging.getLogger("tricodec")

_KINDS = ("auto", "cpu", "cuda")


@dataclass(frozen=True, slots=True)
class _Request:
    """The device that a codec is asked for.

    Attributes:
        kind: "cpu", "cuda" (demanded) or "auto".
        index: which GPU.
        by_environment: the value of TRICODEC_DEVICE, if the request comes from there.
    """

    kind: str
    index: int
    by_environment: str = ""

    @classmethod
    def of(cls, options: Options) -> _Request:
        """The request of the keywords device and device_id, and of TRICODEC_DEVICE if device is "auto".

        device_id chooses a GPU but does not demand one. It replaces the number in TRICODEC_DEVICE, and
        TRICODEC_DEVICE=cpu still means the CPU.

        Raises:
            ValueError: for a text that is not a device, or two different numbers.
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
        """The error for a GPU that is demanded and cannot do the work."""
        if self.by_environment:
            return DeviceError(
                f"TRICODEC_DEVICE={self.by_environment} asks for cuda:{self.index}, but {reason}; give this codec "
                "device='cpu', or set TRICODEC_DEVICE=auto"
            )
        return DeviceError(f"device 'cuda:{self.index}' was asked for, but {reason}; use device='cpu' or 'auto'")


def choose_gpu(options: Options) -> int | None:
    """The index of the GPU for a codec, or None for the CPU.

    If the caller does not choose, it is the GPU if there is one that can do what is asked, as in nvCOMP. Checksums,
    levels and data that are not trusted need the CPU. The log says why the CPU works instead of a GPU.

    Raises:
        ValueError: for a text that is not a device.
        DeviceError: if a GPU is demanded and cannot do it.
    """
    use_installed_library()
    request = _Request.of(options)
    if request.kind == "cpu":
        return None
    reason = ""
    if options.checksum_policy is not ChecksumPolicy.NO_COMPUTE_NO_VERIFY:
        reason = "checksums are computed on the CPU"
    elif not options.trusted:
        reason = "data that are not trusted (trusted=False, or TRICODEC_TRUSTED=0) are decoded on the CPU"
    elif options.level is not None:
        reason = "level is an option of the CPU's compressors"
    else:
        reason = gpu_compression_unavailable_reason(request.index, options.algorithm)
    if not reason:
        return request.index
    if request.kind == "cuda":
        raise request.refusal(reason)
    _log.info("the CPU compresses and decompresses, not cuda:%d: %s", request.index, reason)
    return None


def make_native(options: Options, gpu: int | None) -> NativeCodec:
    """The native codec for options."""
    values = {
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
    return NativeCodec(options=values, device_index=gpu, stream=options.cuda_stream)


def on_host(array: Array) -> Array:
    """The array in host memory: itself, or a copy.

    Raises:
        DeviceError: if it could not be copied.
    """
    host = array.cpu()
    if host is None:
        raise DeviceError(f"{array!r} could not be copied to the CPU; the log says why")
    return host
