# SPDX-License-Identifier: Apache-2.0
"""The device of a codec, arrays that are on another one, and NVIDIA's library for GPUs."""

from __future__ import annotations

import dataclasses
import functools
import importlib.util
import logging
import os
from pathlib import Path

from tricodec._tricodec import Codec as NativeCodec
from tricodec._tricodec import CompressArray as Array
from tricodec._tricodec import gpu_compression_unavailable_reason, set_nvcomp_library
from tricodec.compress._enums import ChecksumPolicy
from tricodec.compress._options import Options
from tricodec.errors import DeviceError

_log = logging.getLogger("tricodec")

_KINDS = ("auto", "cpu", "cuda")


@functools.cache
def use_installed_library() -> str:
    """Gives the core the path of the wheel's libnvcomp, and returns it; "" if it is not there. Nothing is loaded."""
    try:
        spec = importlib.util.find_spec("nvidia.libnvcomp")
    except (ImportError, ValueError):
        return ""
    for folder in (spec.submodule_search_locations or []) if spec else []:
        for name in ("libnvcomp.so.5", "libnvcomp.so.6"):
            path = Path(folder) / "lib64" / name
            if path.is_file():
                set_nvcomp_library(str(path))
                return str(path)
    return ""


def _requested(options: Options) -> tuple[str, int, str]:
    """The device that is asked for: "cpu", "cuda" (demanded) or "auto"; which GPU; and what TRICODEC_DEVICE says.

    TRICODEC_DEVICE counts if device is "auto". device_id chooses a GPU but does not demand one. It replaces the number
    in TRICODEC_DEVICE, and TRICODEC_DEVICE=cpu still means the CPU.
    """
    said = os.environ.get("TRICODEC_DEVICE", "") if options.device == "auto" else ""
    device = said or options.device
    kind, colon, number = device.partition(":")
    accepted = kind in ("auto", "cuda") and number.isascii() and number.isdigit() if colon else kind in _KINDS
    if not accepted:
        origin = " (from TRICODEC_DEVICE)" if said else ""
        raise ValueError(f"device {device!r}{origin} is not accepted; use 'auto', 'auto:N', 'cpu', 'cuda' or 'cuda:N'")
    given = options.device_id if options.device_id is not None and options.device_id >= 0 else None
    if given is not None and colon and not said and int(number) != given:
        raise ValueError(f"device {device!r} and device_id {given} name different GPUs; give one of them")
    return kind, int(number or 0) if given is None else given, said


def choose_gpu(options: Options) -> int | None:
    """The index of the GPU for a codec, or None for the CPU.

    If the caller does not choose, it is the GPU if there is one that can do what is asked, as in nvCOMP. Checksums,
    levels and data that are not trusted need the CPU. The log says why the CPU works instead of a GPU.
    """
    use_installed_library()
    kind, index, said = _requested(options)
    if kind == "cpu":
        return None
    if options.checksum_policy is not ChecksumPolicy.NO_COMPUTE_NO_VERIFY:
        reason = "checksums are computed on the CPU"
    elif not options.trusted:
        reason = "data that are not trusted (trusted=False, or TRICODEC_TRUSTED=0) are decoded on the CPU"
    elif options.level is not None:
        reason = "level is an option of the CPU's compressors"
    else:
        reason = gpu_compression_unavailable_reason(index, options.algorithm)
    if not reason:
        return index
    if kind == "cuda" and said:
        raise DeviceError(
            f"TRICODEC_DEVICE={said} asks for cuda:{index}, but {reason}; give this codec device='cpu', or set "
            "TRICODEC_DEVICE=auto"
        )
    if kind == "cuda":
        raise DeviceError(f"device 'cuda:{index}' was asked for, but {reason}; use device='cpu' or 'auto'")
    _log.info("the CPU compresses and decompresses, not cuda:%d: %s", index, reason)
    return None


def make_native(options: Options, gpu: int | None) -> NativeCodec:
    of_core = {
        "chunk_bytes": options.uncomp_chunk_size,
        "bitstream": int(options.bitstream_kind),
        "checksums": int(options.checksum_policy),
        "bit_shuffle": int(options.bitshuffle_mode),
        "decompress_backend": int(options.decompress_backend),
    }
    return NativeCodec(options={**dataclasses.asdict(options), **of_core}, device_index=gpu, stream=options.cuda_stream)


def on_host(array: Array) -> Array:
    """The array in host memory: itself, or a copy. A DeviceError says that it could not be copied."""
    host = array.cpu()
    if host is None:
        raise DeviceError(f"{array!r} could not be copied to the CPU; the log says why")
    return host
