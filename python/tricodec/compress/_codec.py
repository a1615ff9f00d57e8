# SPDX-License-Identifier: Apache-2.0
"""Codec: nvCOMP's documented interface over the core's codec."""

from __future__ import annotations

import operator
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, SupportsIndex, overload

from tricodec._tricodec import Codec as NativeCodec
from tricodec._tricodec import CompressArray as Array
from tricodec._tricodec import as_array, compression_unavailable_reason
from tricodec.compress._batch import BatchArray, from_npy, only, to_npy
from tricodec.compress._options import choose_gpu, make_native, parse, use_installed_library
from tricodec.errors import DeviceError

if TYPE_CHECKING:
    import numpy.typing as npt

    from tricodec._tricodec import Event

_ALGORITHMS = ("LZ4", "Snappy", "GDeflate", "Deflate", "Gzip", "Zstd", "Bitcomp", "ANS", "Cascaded")


@dataclass(frozen=True, slots=True)
class CompressConfig:
    """Sizes of later arrays, to prepare buffers for them. Made by `Codec.compression_config`."""

    uncompressed_sizes: tuple[int, ...]
    """Bytes of each array."""
    max_compressed_sizes: tuple[int, ...]
    """Greatest number of compressed bytes of each array."""


@dataclass(frozen=True, slots=True)
class DecompressConfig:
    """Decompressed sizes of arrays, so that they are not read again. Made by `Codec.decompression_config`."""

    uncompressed_sizes: tuple[int, ...]
    """Bytes of each array."""


@dataclass(frozen=True, slots=True)
class StreamInfo:
    """The properties of compressed data. Made by `Codec.inspect`."""

    algorithm: str
    """The name that `Codec` takes."""
    uncompressed_bytes: int
    """The size of the data."""
    compressed_bytes: int
    """The size of the stream."""
    chunk_bytes: int
    """Uncompressed bytes of a chunk."""
    num_chunks: int
    """Number of chunks."""
    container_version: int
    """Version of nvCOMP's container, 5 or 6; 0 without a container."""
    has_checksums: bool
    """Whether the stream has checksums."""
    data_type: str | None
    """Element type of Bitcomp's and Cascaded's streams, else None."""

    @property
    def ratio(self) -> float:
        """Uncompressed / compressed."""
        return self.uncompressed_bytes / max(1, self.compressed_bytes)


class Codec:
    """Compresses and decompresses arrays with nvCOMP's streams and interface, on the CPU where there is no GPU.

        >>> codec = tricodec.Codec(algorithm="Zstd", device="cpu")
        >>> packed = codec.encode(np.arange(1000, dtype=np.float32))
        >>> np.asarray(codec.decode(packed, data_type="<f4")).shape
        (1000,)

    Thread safety: safe.
    """

    def __init__(self, *positional: Any, **kwargs: Any) -> None:
        """Prepare a codec; all arguments are keywords, such as ``algorithm="Zstd"``.

        Keyword Args:
            algorithm: "LZ4", "Snappy", "GDeflate", "Deflate", "Gzip", "Zstd", "Bitcomp", "ANS" or "Cascaded", in upper
                or lower case. Without it the codec only decodes, and takes the algorithm from the container.
            device: "auto" or "auto:N" (a GPU if it can, else the CPU), "cpu", or "cuda:N" to demand a GPU.
                TRICODEC_DEVICE replaces "auto". tricodec's own keyword.
            device_id: number of the GPU, if the codec works on one.
            cuda_stream: a cudaStream_t as an int; by default the codec makes one.
            uncomp_chunk_size: bytes of a chunk of the container; by default 65536.
            bitstream_kind: a `BitstreamKind`; by default NVCOMP_NATIVE.
            checksum_policy: a `ChecksumPolicy`; by default NO_COMPUTE_NO_VERIFY.
            data_type: array protocol string ("<i4") of the elements, for LZ4's bit shuffle, Bitcomp, ANS and Cascaded.
            algorithm_type: Deflate, Gzip, GDeflate: 0 (fastest) to 5 (smallest), by default 1. On most data 2 is
                smaller than zlib's level 1, and 4 than its level 6. Bitcomp: 0, or 1 for data with many zeros.
            num_rles: Cascaded: number of run-length layers; by default 2.
            num_deltas: Cascaded: number of difference layers; by default 1.
            use_bitpack: Cascaded: pack the bits of the last layer; by default True.
            level: LZ4: 0 (fast) or 3 to 12 (smaller). Zstd: -7 to 22. tricodec's own keyword.
            trusted: False for data from strangers: the CPU decodes them, and refuses Bitcomp, on which NVIDIA's
                decoder might fault. By default True, or False if TRICODEC_TRUSTED is 0. tricodec's own keyword.
            num_threads: threads on the CPU; by default 0, one for each core. tricodec's own keyword.
            decompress_backend: a `DecompressBackend`: NVCOMP_DECOMPRESS_BACKEND_DEFAULT, or _CUDA for libnvcomp's
                kernels; _HARDWARE is refused.
            bitshuffle_mode: a `BitshuffleMode`; by default NVCOMP_BITSHUFFLE_NONE. With another one, like bits of
                neighboring elements of ``data_type`` are put side by side before LZ4. The container records the mode;
                decode other streams with the same keywords.
            mode: Bitcomp: a `BitcompMode` of nvCOMP 6; only BITCOMP_LOSSLESS is supported.
            states_per_lane, histogram_reduction_log2, max_sub_chunk_count: ANS, nvCOMP 6; only 0 is supported.
            use_de_sort, execution_policy, delta, skip_validate: options of nvCOMP; accepted, without effect.

        Raises:
            ValueError: for an unknown keyword or a value that is not accepted.
            TypeError: for a value of another type.
            UnsupportedError: if this machine cannot do the algorithm, with the reason.
            DeviceError: if a GPU is demanded and cannot be used.
        """
        if positional:
            asked = positional[0] if isinstance(positional[0], str) else "Zstd"
            raise TypeError(f"Codec() takes keywords alone, not {positional[0]!r}; write Codec(algorithm={asked!r})")
        self.options = parse(kwargs)
        """The keywords' values, with defaults."""
        self._gpu = choose_gpu(self.options)
        self._native: NativeCodec | None = make_native(self.options, self._gpu)

    @property
    def engine(self) -> str:
        """The device that does the work: "cpu" or "cuda:N"."""
        return "cpu" if self._gpu is None else f"cuda:{self._gpu}"

    @overload
    def encode(self, array: list[Any], out: Sequence[Any] | None = None, compression_config: CompressConfig | None = None, *, input_consumed: Event | None = None) -> BatchArray: ...  # fmt: skip  # noqa: E501
    @overload
    def encode(self, array: Any, out: Any = None, compression_config: CompressConfig | None = None, *, input_consumed: Event | None = None) -> Array: ...  # fmt: skip  # noqa: E501
    @overload
    def encode(self, *, srcs: Sequence[Any], out: Sequence[Any] | None = None, compression_config: CompressConfig | None = None, input_consumed: Event | None = None) -> BatchArray: ...  # fmt: skip  # noqa: E501
    @overload
    def encode(self, *, array_s: Any, out: Any = None, compression_config: CompressConfig | None = None, input_consumed: Event | None = None) -> Array: ...  # fmt: skip  # noqa: E501
    def encode(
        self,
        array: Any = None,
        out: Any = None,
        compression_config: CompressConfig | None = None,
        *,
        srcs: Any = None,
        array_s: Any = None,
        input_consumed: Event | None = None,
    ) -> Any:
        """Compress an array, or a list of arrays in one batch.

        Args:
            array: anything that `as_array` takes, any shape and dtype, on the CPU or a GPU; or a list. An array that is
                not C-contiguous is copied first.
            srcs: nvCOMP's name of a list, as a keyword.
            array_s: another name of nvCOMP's for ``array``.
            out: the outputs, one for each: an Array of an earlier call, which grows as needed, or writable memory that
                is large enough (`get_max_comp_buffer_size`); it must not overlap a source or another output.
            compression_config: of `compression_config`; it has no effect.
            input_consumed: as in `Transform`, for arrays on a GPU. It is recorded on the codec's stream before
                the sizes of the results are known; if the codec works on the CPU, after the copies to the host.
                tricodec's own keyword.

        Returns:
            The compressed bytes, uint8 [N], or a `BatchArray` of them in order.

        Raises:
            ValueError: for sizes that the algorithm does not take, and if ``out`` is too small or shares memory, and
                for ``input_consumed`` with arrays on the CPU.
            TypeError: for objects that are not arrays, and arrays of Python objects.
        """
        _expect_config(compression_config, CompressConfig, "compression_config")
        array = only("encode", array=array, srcs=srcs, array_s=array_s)
        native = self._open()
        if _is_batch(array):
            return BatchArray(native.encode(array, out, input_consumed))
        return native.encode((array,), None if out is None else (out,), input_consumed)[0]

    @overload
    def decode(self, src: list[Any], data_type: Any = "", out: Sequence[Any] | None = None, decompression_config: DecompressConfig | None = None, *, input_consumed: Event | None = None) -> BatchArray: ...  # fmt: skip  # noqa: E501
    @overload
    def decode(self, src: Any, data_type: Any = "", out: Any = None, decompression_config: DecompressConfig | None = None, *, input_consumed: Event | None = None) -> Array: ...  # fmt: skip  # noqa: E501
    @overload
    def decode(self, *, srcs: Sequence[Any], data_type: Any = "", out: Sequence[Any] | None = None, decompression_config: DecompressConfig | None = None, input_consumed: Event | None = None) -> BatchArray: ...  # fmt: skip  # noqa: E501
    def decode(
        self,
        src: Any = None,
        data_type: Any = "",
        out: Any = None,
        decompression_config: DecompressConfig | None = None,
        *,
        srcs: Any = None,
        input_consumed: Event | None = None,
    ) -> Any:
        """Decompress an array, or a list of arrays in one batch.

        Args:
            src: compressed bytes, or a list of them: anything that `as_array` takes.
            srcs: nvCOMP's name of a list, as a keyword.
            data_type: dtype of the result's elements, or its array protocol string; "|u1" if empty.
            out: the outputs, as for `encode`.
            decompression_config: of `decompression_config`; the sizes that the streams must expand to. On the CPU this
                saves reading them.
            input_consumed: as for `encode`.

        Returns:
            The data, [N] of data_type, or a `BatchArray` in order.

        Raises:
            CorruptDataError: if the bytes are damaged.
            RefusedError: if they expand to more than the limit max_output_bytes.
            TypeError: for a ``data_type`` that is none, or that holds Python objects.
            ValueError: if the size is not a multiple of the element size, if ``out`` is too small or shares memory,
                for a ``decompression_config`` of other sizes, and for ``input_consumed`` with bytes on the CPU.
        """
        _expect_config(decompression_config, DecompressConfig, "decompression_config")
        sizes = None if decompression_config is None else decompression_config.uncompressed_sizes
        src = only("decode", src=src, srcs=srcs)
        native = self._open()
        if _is_batch(src):
            return BatchArray(native.decode(src, data_type, out, sizes, input_consumed))
        return native.decode((src,), data_type, None if out is None else (out,), sizes, input_consumed)[0]

    @overload
    def encode_npy(self, array_s: list[Any]) -> list[Array]: ...
    @overload
    def encode_npy(self, array_s: Any) -> Array: ...
    def encode_npy(self, array_s: Any) -> Any:
        """Compress an array, or a list of arrays in one batch, with its dtype and shape.

        It compresses the bytes of a .npy file: numpy's header, then the elements. `decode_npy`,
        fn.tricodec.decompress(header=True) and the Triton model decompress read them. If another program decompresses
        them, numpy.load reads the result.

        Args:
            array_s: anything that numpy.asarray or `as_array` takes, or a list; copied to the CPU from a GPU.

        Returns:
            The compressed bytes, uint8 [N], or a list of them in order.

        Raises:
            TypeError: for Python objects.
            ValueError: for other elements that are not numbers, and as `encode`.
        """
        if _is_batch(array_s):
            return self.encode([to_npy(array) for array in array_s])
        return self.encode(to_npy(array_s))

    @overload
    def decode_npy(self, src: list[Any]) -> list[npt.NDArray[Any]]: ...
    @overload
    def decode_npy(self, src: Any) -> npt.NDArray[Any]: ...
    def decode_npy(self, src: Any) -> Any:
        """Decompress an array with the dtype and shape that were compressed with it, or a list in one batch.

        Args:
            src: compressed bytes of a .npy file: of `encode_npy`, or of `tricodec compress` with such a file.

        Returns:
            The array in host memory, with the dtype and shape of the header, or a list in order.

        Raises:
            CorruptDataError: if the bytes are damaged, or are not a .npy file.
            UnsupportedError: for elements that are not little-endian numbers, and for Fortran order.
            RefusedError: if they expand to more than the limit max_output_bytes.
        """
        if _is_batch(src):
            return [from_npy(_on_host(file)) for file in self.decode(list(src))]
        return from_npy(_on_host(self.decode(src)))

    def decode_range(self, src: Any, start: SupportsIndex, stop: SupportsIndex) -> Array:
        """Decompress a part of the data; only the chunks that hold it are decoded.

        Args:
            src: compressed bytes in nvCOMP's container.
            start: first byte of the uncompressed data.
            stop: end of the range, in the same bytes.

        Returns:
            The bytes, uint8 [stop - start].

        Raises:
            IndexError: if the data end before ``stop``.
            CorruptDataError: if the bytes are damaged.
            RefusedError: if the chunks that hold the range expand to more than the limit max_output_bytes.
        """
        return self._open().decode_range(src, operator.index(start), operator.index(stop))

    def inspect(self, src: Any) -> StreamInfo:
        """The properties of compressed bytes. Nothing is decompressed, but a raw stream may be read to its end.

        Raises:
            CorruptDataError: if the header or the chunk table is damaged.
            RefusedError: if a raw stream expands to more than the limit max_output_bytes, where the walk ends.
        """
        return StreamInfo(**self._open().inspect(src))

    @overload
    def compression_config(self, uncompressed_size: SupportsIndex | Sequence[SupportsIndex]) -> CompressConfig: ...
    @overload
    def compression_config(self, *, uncompressed_sizes: Sequence[SupportsIndex]) -> CompressConfig: ...
    def compression_config(self, uncompressed_size: Any = None, *, uncompressed_sizes: Any = None) -> CompressConfig:
        """Sizes for later arrays.

        Args:
            uncompressed_size: bytes of an array, or of each of a batch.
            uncompressed_sizes: nvCOMP's name for those of a batch.

        Raises:
            ValueError: for a size that is not positive.
        """
        size_s = only("compression_config", uncompressed_size=uncompressed_size, uncompressed_sizes=uncompressed_sizes)
        sizes = tuple(map(operator.index, size_s if isinstance(size_s, Sequence) else (size_s,)))
        if min(sizes, default=1) <= 0:
            raise ValueError(f"compression_config: uncompressed_size must be greater than zero, not {min(sizes)}")
        return CompressConfig(sizes, tuple(self._open().max_compressed_bytes(size) for size in sizes))

    @overload
    def decompression_config(self, src: Any) -> DecompressConfig: ...
    @overload
    def decompression_config(self, *, srcs: Sequence[Any]) -> DecompressConfig: ...
    @overload
    def decompression_config(self, *, compression_config: CompressConfig) -> DecompressConfig: ...
    def decompression_config(
        self, src: Any = None, *, srcs: Any = None, compression_config: Any = None
    ) -> DecompressConfig:
        """Decompressed sizes of arrays.

        Args:
            src: compressed bytes, a list of them, or the `CompressConfig` they were made with.
            srcs: nvCOMP's name of a list, as a keyword.
            compression_config: nvCOMP's name of a `CompressConfig`.
        """
        source = only("decompression_config", src=src, srcs=srcs, compression_config=compression_config)
        if isinstance(source, CompressConfig):
            return DecompressConfig(source.uncompressed_sizes)
        batch = source if _is_batch(source) else (source,)
        return DecompressConfig(tuple(self.get_uncomp_buffer_size(item) for item in batch))

    def get_max_comp_buffer_size(self, source: Any) -> int:
        """Greatest number of compressed bytes of an array.

        Args:
            source: anything that `as_array` takes.
        """
        wrapped = as_array(source)
        return self._open().max_compressed_bytes(wrapped.size * wrapped.item_size)

    def get_uncomp_buffer_size(self, source: Any) -> int:
        """Bytes that compressed data decompress to.

        Args:
            source: anything that `as_array` takes.

        Raises:
            CorruptDataError: if the bytes are damaged.
            UnsupportedError: if this machine cannot decompress them.
        """
        return self._open().decompressed_bytes(source)

    def get_required_compression_alignment(self) -> int:
        """8: inputs and outputs of `encode` at multiples of 8 bytes are not copied first. Others are accepted too."""
        return 8

    def get_required_decompression_alignment(self) -> int:
        """8: inputs and outputs of `decode` at multiples of 8 bytes are not copied first. Others are accepted too."""
        return 8

    def __enter__(self) -> Codec:
        self._open()
        return self

    def __exit__(self, exc_type: object = None, exc_value: object = None, traceback: object = None) -> None:
        self._native = None

    def __repr__(self) -> str:
        name = self.options.algorithm or "any"
        return f"<tricodec.Codec {name}, {self.options.bitstream_kind.name}, on {self.engine}>"

    def _open(self) -> NativeCodec:
        if self._native is None:
            raise ValueError("this Codec was closed by its with block; make a new one")
        return self._native


def _expect_config(config: Any, kind: type, name: str) -> None:
    if config is not None and not isinstance(config, kind):
        raise TypeError(f"{name} must be a {kind.__name__}, not {config!r}")


def _is_batch(value: Any) -> bool:
    return isinstance(value, list | tuple)


def _on_host(array: Array) -> Array:
    """The array in host memory: itself, or a copy. A DeviceError says that it could not be copied."""
    host = array.cpu()
    if host is None:
        raise DeviceError(f"{array!r} could not be copied to the CPU; the log says why")
    return host


def compression_algorithms() -> dict[str, str]:
    """The algorithms' names, each with the reason why it cannot be done on the CPU here, or "" if it can."""
    use_installed_library()
    return {name: compression_unavailable_reason(name) for name in _ALGORITHMS}
