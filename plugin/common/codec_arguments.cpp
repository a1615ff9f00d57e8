// SPDX-License-Identifier: Apache-2.0
#include "common/codec_arguments.h"

#include <dali/pipeline/operator/op_schema.h>

#include <string>
#include <utility>

#include "common/arguments.h"
#include "tricodec/base/error.h"

namespace tricodec::plugin {
namespace {

constexpr std::pair<::dali::DALIDataType, std::string_view> kTypestrs[] = {
    {DALI_UINT8, "|u1"}, {DALI_INT8, "|i1"},    {DALI_BOOL, "|b1"},   {DALI_UINT16, "<u2"},
    {DALI_INT16, "<i2"}, {DALI_FLOAT16, "<f2"}, {DALI_UINT32, "<u4"}, {DALI_INT32, "<i4"},
    {DALI_FLOAT, "<f4"}, {DALI_UINT64, "<u8"},  {DALI_INT64, "<i8"},  {DALI_FLOAT64, "<f8"},
};

void set_chunk_bytes(CodecOptions& options, std::int64_t value) {
    TRICODEC_EXPECT(value > 0, invalid_argument,
                    "uncomp_chunk_size is " + std::to_string(value) + "; it must be 1 to 2^32");
    options.chunk_bytes = static_cast<std::size_t>(value);
}

constexpr CodecInteger kCodecIntegers[] = {
    {"uncomp_chunk_size", set_chunk_bytes},
    {"algorithm_type",
     [](CodecOptions& options, std::int64_t value) { options.algorithm_type = to_int(value, "algorithm_type"); }},
    {"level", [](CodecOptions& options, std::int64_t value) { options.level = to_int(value, "level"); }},
    {"num_rles", [](CodecOptions& options, std::int64_t value) { options.num_rles = to_int(value, "num_rles"); }},
    {"num_deltas", [](CodecOptions& options, std::int64_t value) { options.num_deltas = to_int(value, "num_deltas"); }},
};

}  // namespace

std::span<const CodecInteger> codec_integers() noexcept {
    return kCodecIntegers;
}

CodecOptions read_codec_options(const ::dali::OpSpec& spec, int num_threads) {
    CodecOptions options;
    const auto algorithm = spec.GetArgument<std::string>("algorithm");
    if (!algorithm.empty()) options.algorithm = parse_compression(algorithm);
    options.bitstream = parse_bitstream_kind(spec.GetArgument<std::string>("bitstream_kind"));
    options.checksums = parse_checksum_policy(spec.GetArgument<std::string>("checksum_policy"));
    options.bit_shuffle = parse_bit_shuffle(spec.GetArgument<std::string>("bitshuffle_mode"));
    if (spec.HasArgument("data_type")) {
        options.element_type = parse_element_type(spec.GetArgument<std::string>("data_type"));
    }
    for (const CodecInteger& integer : kCodecIntegers) {
        std::int64_t value = 0;
        if (!spec.HasTensorArgument(integer.name) && spec.TryGetArgument(value, integer.name)) {
            integer.set(options, value);
        }
    }
    options.use_bitpack = spec.GetArgument<bool>("use_bitpack");
    options.num_threads = num_threads;
    return options;
}

std::string_view typestr_of(::dali::DALIDataType type) {
    for (const auto& [known, typestr] : kTypestrs) {
        if (known == type) return typestr;
    }
    fail(ErrorCode::unsupported,
         "elements of " + ::dali::make_string(type) + " do not fit a .npy header; use numbers (fn.cast)");
}

::dali::DALIDataType type_of(std::string_view typestr) {
    // One byte has no order.
    for (const auto& [type, known] : kTypestrs) {
        if (typestr.substr(1) == known.substr(1)) return type;
    }
    fail(ErrorCode::unsupported, "the .npy header says that the elements are '" + std::string(typestr) +
                                     "', a type that DALI does not have; without header=True they come as bytes");
}

}  // namespace tricodec::plugin

DALI_SCHEMA(tricodec__CodecArguments)
    .DocStr(
        "Arguments of the operators that compress and decompress: those of ``tricodec.Codec``. Decompressing ignores "
        "those that only compressing needs, so that both operators can be given the same arguments.")
    .AddOptionalArg("algorithm",
                    "``\"LZ4\"``, ``\"Snappy\"``, ``\"GDeflate\"``, ``\"Deflate\"``, ``\"Gzip\"``, ``\"Zstd\"``, "
                    "``\"Bitcomp\"``, ``\"ANS\"`` (on GPUs only) or ``\"Cascaded\"``, in upper or lower case. For "
                    "decompressing, the container states it.",
                    "")
    .AddOptionalArg("uncomp_chunk_size", "Bytes of a chunk of the container.", std::int64_t{65536}, true)
    .AddOptionalArg("bitstream_kind",
                    "``\"NVCOMP_NATIVE\"``: nvCOMP's container. ``\"RAW\"``: the algorithm's own stream. "
                    "``\"WITH_UNCOMPRESSED_SIZE\"``: the size, then that stream.",
                    "NVCOMP_NATIVE")
    .AddOptionalArg("checksum_policy",
                    "``\"NO_COMPUTE_NO_VERIFY\"``, ``\"COMPUTE_AND_NO_VERIFY\"``, "
                    "``\"NO_COMPUTE_AND_VERIFY_IF_PRESENT\"``, ``\"COMPUTE_AND_VERIFY_IF_PRESENT\"`` or "
                    "``\"COMPUTE_AND_VERIFY\"``; only in the container, on the CPU.",
                    "NO_COMPUTE_NO_VERIFY")
    .AddOptionalArg<std::string>("data_type",
                                 "Array protocol string (``\"<i4\"``) of the elements, for Cascaded (default "
                                 "``\"<i4\"``), Bitcomp, ANS (``\"|u1\"``) and LZ4's bit shuffle (``\"|i1\"``).",
                                 nullptr)
    .AddOptionalArg("bitshuffle_mode",
                    "LZ4: ``\"NVCOMP_BITSHUFFLE_NONE\"``, ``\"NVCOMP_BITSHUFFLE_MSB_FIRST\"`` or "
                    "``\"NVCOMP_BITSHUFFLE_LSB_FIRST\"``. The container states it; decompress other streams with the "
                    "same value.",
                    "NVCOMP_BITSHUFFLE_NONE")
    .AddOptionalArg<int>("algorithm_type",
                         "Deflate, Gzip, GDeflate: 0 (fastest) to 5 (smallest), default 1. Bitcomp: 0, or 1 for data "
                         "with many zeros.",
                         nullptr, true)
    .AddOptionalArg<int>("level", "LZ4: 0 (fast) or 3 to 12 (smaller). Zstd: -7 to 22. On the CPU.", nullptr, true)
    .AddOptionalArg("num_rles", "Cascaded: number of run-length layers.", 2, true)
    .AddOptionalArg("num_deltas", "Cascaded: number of difference layers.", 1, true)
    .AddOptionalArg("use_bitpack", "Cascaded: pack the bits of the last layer.", true);
