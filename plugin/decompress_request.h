// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <dali/pipeline/data/tensor_list.h>
#include <dali/pipeline/operator/op_spec.h>
#include <dali/pipeline/workspace/workspace.h>

#include <cstdint>
#include <span>
#include <vector>

#include "arguments.h"
#include "tricodec/compress.h"
#include "tricodec/npy_header.h"

namespace tricodec::plugin {

/// What the samples of fn.tricodec.decompress are to become, alike on every backend: their type and shapes, from the
/// arguments or from the .npy header that stands before their elements.
class DecompressRequest {
public:
    explicit DecompressRequest(const ::dali::OpSpec& spec);

    /// Codec settings, those of decompressing among them.
    [[nodiscard]] CodecOptions codec_options(const ::dali::OpSpec& spec, int num_threads) const;
    [[nodiscard]] bool has_header() const noexcept { return header_; }
    [[nodiscard]] bool trusted() const noexcept { return trusted_; }

    /// The output for samples of so many bytes without headers. Throws BatchError for the one that does not fit.
    [[nodiscard]] ::dali::OutputDesc output(const ::dali::ArgumentWorkspace& workspace,
                                            std::span<const std::size_t> sizes) const;
    /// The output for samples with these headers, which must agree in type and number of dimensions.
    [[nodiscard]] static ::dali::OutputDesc output(std::span<const NpyHeader> headers);

private:
    [[nodiscard]] std::vector<std::int64_t> shape_of(const std::vector<std::int64_t>& wanted, std::size_t size) const;

    ::dali::DALIDataType type_;
    IntArgument shape_;
    bool header_;
    bool trusted_;
};

}  // namespace tricodec::plugin
