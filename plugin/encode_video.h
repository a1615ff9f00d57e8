// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <dali/pipeline/operator/checkpointing/stateless_operator.h>

#include <exception>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "encode_arguments.h"

namespace tricodec::plugin {

/// The videos that one batch of fn.tricodec.encode_video makes, alike on every backend: options and files, no memory
/// of DALI's.
class EncodeBatch {
public:
    EncodeBatch(const ::dali::OpSpec& spec, const std::string& device) : arguments_(spec, device) {}

    /// Begins a batch of inputs of this type, shape and layout. Throws DALI's errors.
    void begin(const ::dali::Workspace& workspace, const ::dali::TensorListShape<>& shape, ::dali::DALIDataType type,
               const std::string& layout);
    /// Encodes a sample whose pictures are at `data`; different samples may be at work at the same time. Does not
    /// throw.
    void encode(int sample, const void* data, Device device, std::shared_ptr<Buffer> buffer,
                std::span<const double> pts_seconds) noexcept;
    /// Throws the first failed sample's error, which names it.
    void settle_errors();

    [[nodiscard]] int size() const noexcept { return static_cast<int>(options_.size()); }
    /// How much there is to do for a sample, in samples of pictures.
    [[nodiscard]] std::int64_t cost(int sample) const { return shape_.tensor_size(sample); }
    [[nodiscard]] std::size_t input_bytes(int sample) const;
    [[nodiscard]] std::span<const std::byte> file(int sample) const {
        return *files_[static_cast<std::size_t>(sample)];
    }
    /// Of the output: the files' sizes.
    [[nodiscard]] ::dali::TensorListShape<> file_shapes() const;
    /// Lets go of the files.
    void clear();

private:
    EncodeArguments arguments_;
    ::dali::TensorListShape<> shape_;
    DType dtype_ = DType::uint8;
    PictureLayout layout_;
    std::vector<EncodeVideoOptions> options_;
    std::vector<std::shared_ptr<std::vector<std::byte>>> files_;
    std::vector<std::exception_ptr> errors_;
};

/// The times of a sample of the second input, float64 or float32 of one dimension; nothing where there is no such
/// input. Throws DALI's errors.
[[nodiscard]] std::vector<std::vector<double>> read_pts(const ::dali::Workspace& workspace);

/// fn.tricodec.encode_video on the CPU: pictures in, whole files out, one task a sample on DALI's threads.
class EncodeVideo : public ::dali::StatelessOperator<::dali::CPUBackend> {
public:
    explicit EncodeVideo(const ::dali::OpSpec& spec);

protected:
    /// How long files become is known when they are made.
    bool SetupImpl(std::vector<::dali::OutputDesc>& /*outputs*/, const ::dali::Workspace& /*workspace*/) override {
        return false;
    }
    void RunImpl(::dali::Workspace& workspace) override;

private:
    EncodeBatch batch_;
};

}  // namespace tricodec::plugin
