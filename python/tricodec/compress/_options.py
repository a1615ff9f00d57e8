# SPDX-License-Identifier: Apache-2.0
"""The keywords of Codec, their types and defaults, the device that they mean, and NVIDIA's library for GPUs."""

from __future__ import annotations

import dataclasses
import difflib
import functools
import importlib.util
import logging
import operator
import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tricodec._tricodec import Codec as NativeCodec
from tricodec._tricodec import gpu_compression_unavailable_reason, set_nvcomp_library
from tricodec.compress._enums import (
    BitcompMode,
    BitshuffleMode,
    BitstreamKind,
    ChecksumPolicy,
    DecompressBackend,
    ExecutionPolicy,
)
from tricodec.errors import DeviceError, UnsupportedError

_log = logging.getLogger("tricodec")


@dataclasses.dataclass(frozen=True, slots=True)
class Options:
    """The values of the keywords, of the right types. The native codec checks the values."""

    algorithm: str = ""
    device_id: int | None = None
    cuda_stream: int | None = None
    uncomp_chunk_size: int = 65536
    bitstream_kind: BitstreamKind = BitstreamKind.NVCOMP_NATIVE
    checksum_policy: ChecksumPolicy = ChecksumPolicy.NO_COMPUTE_NO_VERIFY
    decompress_backend: DecompressBackend = DecompressBackend.NVCOMP_DECOMPRESS_BACKEND_DEFAULT
    use_de_sort: bool = False
    data_type: str = ""
    bitshuffle_mode: BitshuffleMode = BitshuffleMode.NVCOMP_BITSHUFFLE_NONE
    algorithm_type: int | None = None
    num_rles: int = 2
    num_deltas: int = 1
    use_bitpack: bool = True
    device: str = "auto"
    level: int | None = None
    trusted: bool = True
    num_threads: int = 0


_DEVICES = ("auto", "cpu", "cuda")
#: The type of each keyword: that of its default. Those that may be None are numbers.
_KINDS: Mapping[str, type] = {
    field.name: int if field.default is None else type(field.default) for field in dataclasses.fields(Options)
}

# Keywords that nvCOMP 6 added and that change nothing here. True: any value is the same. False: only the default is
# supported, which is 0 or its equal.
_OF_6: Mapping[str, tuple[type, bool]] = {
    "execution_policy": (ExecutionPolicy, True),
    "skip_validate": (bool, True),
    "delta": (float, True),
    "mode": (BitcompMode, False),
    "states_per_lane": (int, False),
    "histogram_reduction_log2": (int, False),
    "max_sub_chunk_count": (int, False),
}
_OF_CASCADED_6 = ("compression_level", "terminal_codecs", "fine_grained_encodings", "coarse_grained_encodings")


def parse(keywords: Mapping[str, Any]) -> Options:
    """Checks names and types, and refuses options of nvCOMP 6 that change its streams."""
    values: dict[str, Any] = {}
    for name, value in keywords.items():
        if name in _OF_CASCADED_6 or (name == "mode" and str(keywords.get("algorithm")).lower() == "cascaded"):
            raise UnsupportedError(
                f"{name} is an option of nvCOMP 6's Cascaded, a stream that is not public; num_rles, num_deltas and "
                "use_bitpack choose the Cascaded of nvCOMP 5, which is here"
            )
        if name in _OF_6:
            kind, any_value = _OF_6[name]
            if value is not None and int(_checked(name, value, kind)) != 0 and not any_value:
                raise UnsupportedError(f"{name} is {value!r}; of this option of nvCOMP 6 only the default is supported")
            continue
        if name not in _KINDS:
            near = difflib.get_close_matches(name, [*_KINDS, *_OF_6], n=1)
            hint = f' Did you mean "{near[0]}"?' if near else ""
            raise ValueError(f'Unsupported argument: "{name}".{hint}')
        if value is None:  # as if it were not there
            continue
        values[name] = _checked(name, value, _KINDS[name])
    if "trusted" not in values:  # in nvCOMP all data are trusted
        said = os.environ.get("TRICODEC_TRUSTED") or "1"
        if said not in ("0", "1"):
            raise ValueError(f"TRICODEC_TRUSTED is {said!r}; set it to 0 for data from strangers, or to 1")
        values["trusted"] = said == "1"
    if values.get("decompress_backend") is DecompressBackend.NVCOMP_DECOMPRESS_BACKEND_HARDWARE:
        raise UnsupportedError(
            "decompress_backend NVCOMP_DECOMPRESS_BACKEND_HARDWARE is not supported, because tricodec does not use the "
            "engine of Blackwell GPUs; use NVCOMP_DECOMPRESS_BACKEND_DEFAULT or NVCOMP_DECOMPRESS_BACKEND_CUDA"
        )
    return Options(**values)


def without_trust(configuration: Mapping[str, Any]) -> Mapping[str, Any]:
    """The configuration that is stored with an array. One that declares the array trusted is a ValueError."""
    if configuration.get("trusted"):
        raise ValueError(
            f"the array's own metadata say trusted={configuration['trusted']!r}; data cannot declare themselves trusted"
            ": leave the entry out, and set TRICODEC_TRUSTED=1 or give the codec trusted=True in the program that reads"
        )
    return configuration


def _device_word(value: Any) -> Any:
    """The name of a device in any case, or of a torch.device, in small letters. Other values stay."""
    if isinstance(getattr(value, "type", None), str) and hasattr(value, "index"):
        value = value.type if value.index is None or value.type == "cpu" else f"{value.type}:{value.index}"
    if not isinstance(value, str):
        return value
    known = re.fullmatch(r"(auto|cpu|cuda|gpu)(:\d+)?", value.lower())
    return known[0].replace("gpu", "cuda") if known else value


def _checked(name: str, value: Any, kind: type) -> Any:
    if name == "device":
        value = _device_word(value)
    if name == "data_type":
        value = getattr(value, "str", value)  # a numpy dtype is as good as its array protocol string
        if str(value).strip("<>=|") in ("O", "O8", "object"):
            raise TypeError("data_type is object: references to Python objects cannot be compressed; use numbers")
    if kind is int:
        if hasattr(value, "__index__") and not isinstance(value, bool):
            number = operator.index(value)
            if number < 0 and name in ("uncomp_chunk_size", "cuda_stream"):
                raise ValueError(f"{name} is {number}; it must not be negative")
            return number
    elif isinstance(value, kind):
        return value
    elif (kind is bool and value in (0, 1)) or (kind is float and isinstance(value, int)):
        return kind(value)
    raise TypeError(f"{name} must be of type {kind.__name__}, not {value!r}")


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
    accepted = kind in ("auto", "cuda") and number.isascii() and number.isdigit() if colon else kind in _DEVICES
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
