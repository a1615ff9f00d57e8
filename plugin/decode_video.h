// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <dali/pipeline/operator/checkpointing/stateless_operator.h>

#include <cstdint>
#include <exception>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "arguments.h"
#include "transform_arguments.h"
#include "tricodec/frame_reader.h"

namespace tricodec::plugin {

/// fn.tricodec.decode_video on the CPU: encoded files in, frames and their times out.
/// Setup opens and indexes the samples, which settles the shapes; Run cuts them into groups of pictures that decode
/// independently. Both run on DALI's thread pool; no thread is made here.
class DecodeVideo : public ::dali::StatelessOperator<::dali::CPUBackend> {
public:
    explicit DecodeVideo(const ::dali::OpSpec& spec);

    /// A sample that fails while it is decoded becomes empty, which is only possible when samples are allocated one by
    /// one.
    bool HasContiguousOutputs() const override { return !empty_on_error_; }

protected:
    bool SetupImpl(std::vector<::dali::OutputDesc>& outputs, const ::dali::Workspace& workspace) override;
    void RunImpl(::dali::Workspace& workspace) override;

private:
    /// What is known of one video of the batch between Setup and the end of Run.
    struct Sample {
        std::string source;                          ///< where the bytes came from, for messages; may be empty
        std::shared_ptr<const Transform> transform;  ///< not used where raw frames are asked for
        std::unique_ptr<FrameReader> reader;
        std::vector<std::int64_t> indices;
        std::vector<double> pts_seconds;
        std::vector<std::int64_t> shape;  ///< of the frames
        int width = 0;                    ///< of the decoded picture
        int height = 0;
        double work = 0;  ///< estimated samples to decode, to share out the threads
        std::exception_ptr error;
    };

    void read_arguments(const ::dali::Workspace& workspace, int num_samples);
    void open_sample(int index, const ::dali::TensorList<::dali::CPUBackend>& encoded);
    void decode_samples(::dali::TensorList<::dali::CPUBackend>& frames, ::dali::ThreadPool& pool);
    /// Raises the first failed sample's error, or, if samples may become empty, logs the errors and empties the
    /// samples.
    void settle_errors();
    /// The decoding of one sample into its place of the output, in at most `max_tasks` tasks.
    [[nodiscard]] FrameReader::Plan plan_sample(Sample& sample, void* data, int max_tasks) const;
    /// The element type, letters and number of dimensions of the frames.
    [[nodiscard]] DType dtype() const;
    [[nodiscard]] std::string layout() const;
    [[nodiscard]] int ndim() const { return static_cast<int>(layout().size()); }
    [[nodiscard]] std::vector<std::int64_t> empty_shape(const Sample& sample) const;
    [[nodiscard]] ::dali::TensorListShape<> frames_shape() const;
    [[nodiscard]] ::dali::TensorListShape<> pts_shape() const;

    IntArgument start_;
    IntArgument stride_;
    IntArgument count_;
    TransformArguments arguments_;
    std::optional<PixelFormat> format_;  ///< raw frames in this layout, instead of transformed ones
    int stream_index_;
    bool empty_on_error_ = false;
    std::vector<FrameSelection> selections_;
    std::vector<Sample> samples_;
};

}  // namespace tricodec::plugin
