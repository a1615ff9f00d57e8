// SPDX-License-Identifier: Apache-2.0
#include <dali/pipeline/operator/op_schema.h>
#include <dali/pipeline/operator/operator_factory.h>

#include <optional>
#include <string>

#include "compress_arrays.h"
#include "decompress_arrays.h"

namespace tricodec::plugin {
namespace {

constexpr const char* kCompressDoc =
    R"(Compresses arrays of any type and shape without loss, in nvCOMP's formats.

The bytes are those of ``tricodec.Codec(...).encode`` in Python for the same settings. Device ``"cpu"`` needs no GPU and no
NVIDIA software; ``"gpu"`` works on arrays on the GPU by NVIDIA's libnvcomp, and either reads what the other wrote.

With ``header=True`` each array is compressed with the header of a ``.npy`` file before its elements, which keeps its type and
shape: ``fn.tricodec.decompress(header=True)`` and ``tricodec.Codec.decode_npy`` give the array back, and whatever else
decompresses the stream gives a file for ``numpy.load``.

``uncomp_chunk_size``, ``algorithm_type``, ``level``, ``num_rles`` and ``num_deltas`` may differ by sample.

Example::

    import nvidia.dali.fn as fn
    import tricodec.dali  # registers the operator
    from nvidia.dali import pipeline_def

    @pipeline_def(batch_size=4, num_threads=8, device_id=None)
    def packed(files):
        arrays = fn.readers.numpy(files=files)
        return fn.tricodec.compress(arrays, algorithm="Zstd", header=True)
)";

constexpr const char* kDecompressDoc =
    R"(Decompresses arrays in nvCOMP's formats, and raw streams of LZ4, Snappy, Zstd, Deflate, Gzip and others.

The type and the shape of the results are given by ``dtype`` and ``shape``, or, with ``header=True``, by the header of a
``.npy`` file that stands before the elements: what ``fn.tricodec.compress(header=True)`` and ``tricodec compress`` write, and any
compressed ``.npy`` file.

Devices: ``"cpu"``; ``"mixed"``, from compressed bytes on the CPU to arrays on the GPU; ``"gpu"``. Data from strangers may be made
to end the use of the GPU in the process, so a GPU decompresses only what ``trusted=True`` vouches for; without it the CPU
does, and the results are copied.

Example::

    import nvidia.dali.fn as fn
    import nvidia.dali.types as types
    import tricodec.dali  # registers the operator
    from nvidia.dali import pipeline_def

    @pipeline_def(batch_size=4, num_threads=8, device_id=None)
    def arrays(files):
        compressed, _ = fn.readers.file(files=files)
        return fn.tricodec.decompress(compressed, dtype=types.FLOAT, shape=[-1, 3, 224, 224])
)";

#if TRICODEC_DALI_VERSION >= 202
std::optional<::dali::DALIDataType> decompressed_dtype(const ::dali::OpSpec& spec) {
    if (spec.GetArgument<bool>("header")) return std::nullopt;
    return spec.GetArgument<::dali::DALIDataType>("dtype");
}

std::optional<int> decompressed_ndim(const ::dali::OpSpec& spec) {
    if (spec.GetArgument<bool>("header") || spec.HasTensorArgument("shape")) return std::nullopt;
    if (!spec.HasArgument("shape")) return 1;
    return static_cast<int>(spec.GetRepeatedArgument<int>("shape").size());
}
#endif

}  // namespace
}  // namespace tricodec::plugin

DALI_SCHEMA(tricodec__Compress)
    .DocStr(tricodec::plugin::kCompressDoc)
    .AddParent("tricodec__CodecArguments")
    .NumInput(1)
    .NumOutput(1)
    .InputDox(0, "arrays", "TensorList", "Arrays of any type and shape.")
#if TRICODEC_DALI_VERSION >= 202  // 2.2 is the first that asks for them
    .OutputDType(0, DALI_UINT8)
    .OutputNDim(0, 1)
#endif
    .AddOptionalArg("header", "Put the header of a ``.npy`` file before the elements, which keeps type and shape.",
                    false)
    .MakeStateless();

DALI_SCHEMA(tricodec__Decompress)
    .DocStr(tricodec::plugin::kDecompressDoc)
    .AddParent("tricodec__CodecArguments")
    .NumInput(1)
    .NumOutput(1)
    .InputDox(0, "compressed", "1D TensorList of uint8", "Compressed bytes, one stream a sample.")
#if TRICODEC_DALI_VERSION >= 202
    .OutputDType(0, tricodec::plugin::decompressed_dtype)
    .OutputNDim(0, tricodec::plugin::decompressed_ndim)
#endif
    .AddOptionalTypeArg("dtype", "Type of the elements.", DALI_UINT8)
    .AddOptionalArg<std::vector<int>>(
        "shape",
        "Shape of the results; one extent may be -1, which follows from the size. Default: "
        "one dimension.",
        nullptr, true)
    .AddOptionalArg("header", "Take type and shape from the header of a ``.npy`` file before the elements.", false)
    .AddOptionalArg("trusted",
                    "The data are known to be whole and made by no stranger: a GPU may decompress them. Without it the "
                    "CPU does, in a child process where a decoder could be made to fault.",
                    false)
    .MakeStateless();

DALI_REGISTER_OPERATOR(tricodec__Compress, tricodec::plugin::CompressArrays<::dali::CPUBackend>, ::dali::CPU);
DALI_REGISTER_OPERATOR(tricodec__Compress, tricodec::plugin::CompressArrays<::dali::GPUBackend>, ::dali::GPU);
DALI_REGISTER_OPERATOR(tricodec__Decompress, tricodec::plugin::DecompressArrays, ::dali::CPU);
DALI_REGISTER_OPERATOR(tricodec__Decompress, tricodec::plugin::DecompressArraysMixed, ::dali::Mixed);
DALI_REGISTER_OPERATOR(tricodec__Decompress, tricodec::plugin::DecompressArraysGpu, ::dali::GPU);
