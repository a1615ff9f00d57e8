// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <dali/pipeline/operator/checkpointing/stateless_operator.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "arguments.h"
#include "transform_arguments.h"
#include "tricodec/frame.h"
#include "tricodec/raw_frames.h"

namespace tricodec::plugin {

/// What fn.tricodec.transform is asked to do to each sample: arguments and shapes, no pixels, alike on every backend.
class TransformRequest {
public:
    explicit TransformRequest(const ::dali::OpSpec& spec);

    struct Sample {
        std::shared_ptr<const Transform> transform;
        RawFrames raw;
        Orientation orientation;
        std::vector<std::int64_t> frame_shape;  ///< of one transformed frame
    };
    /// Throws DALI's errors, naming the sample.
    [[nodiscard]] std::vector<Sample> read(const ::dali::ArgumentWorkspace& workspace,
                                           const ::dali::TensorListShape<>& input, ::dali::DALIDataType type) const;

    [[nodiscard]] const TransformOptions& options() const noexcept { return arguments_.options(); }
    /// What the operator gives for samples of inputs of so many dimensions.
    [[nodiscard]] ::dali::OutputDesc output(const std::vector<Sample>& samples, int input_ndim) const;
    [[nodiscard]] std::string output_layout(int input_ndim) const;
    [[nodiscard]] std::int64_t frame_bytes(const Sample& sample) const;
    /// Frame number `index` of a sample whose pictures lie at `data`.
    [[nodiscard]] Frame frame(const Sample& sample, std::byte* data, std::int64_t index) const;

private:
    [[nodiscard]] bool has_sequences(int input_ndim) const { return input_ndim == picture_ndim(format_) + 1; }
    [[nodiscard]] Sample read_sample(std::span<const std::int64_t> shape, std::int64_t width, std::int64_t height,
                                     std::int64_t rotation, const TransformArguments::Sample& arguments) const;

    TransformArguments arguments_;
    IntArgument width_;
    IntArgument height_;
    IntArgument rotation_;
    bool mirrored_;
    PixelFormat format_;
    ColorDescription color_;
};

/// fn.tricodec.transform on the CPU: raw frames in, transformed frames out, one task a frame, or a band of a
/// frame, on DALI's threads. The kernel writes DALI's output itself.
class TransformFrames : public ::dali::StatelessOperator<::dali::CPUBackend> {
public:
    explicit TransformFrames(const ::dali::OpSpec& spec);

protected:
    bool SetupImpl(std::vector<::dali::OutputDesc>& outputs, const ::dali::Workspace& workspace) override;
    void RunImpl(::dali::Workspace& workspace) override;

private:
    TransformRequest request_;
    std::vector<TransformRequest::Sample> samples_;
};

}  // namespace tricodec::plugin
