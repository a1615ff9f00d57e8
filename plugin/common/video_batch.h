// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <dali/pipeline/operator/op_spec.h>
#include <dali/pipeline/operator/operator.h>
#include <dali/pipeline/workspace/workspace.h>

#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "common/backend.h"
#include "common/decoding_arguments.h"
#include "common/open_videos.h"
#include "tricodec/read/frame_reader.h"
#include "tricodec/selection/frame_selection.h"

namespace tricodec::plugin {

/// A video that samples are read from.
struct VideoSource {
    std::string name;  ///< for messages; may be empty
    /// Opens it, or returns the open one; `fresh` demands a reader that has read nothing.
    std::function<std::shared_ptr<OpenVideo>(bool fresh)> open;
    std::int64_t cost = 1;   ///< of opening it
    bool kept = false;       ///< open from batch to batch
    bool continues = false;  ///< the next batch is likely to begin where this one ends
};

/// The frames of one sample.
struct SampleRequest {
    std::size_t video = 0;
    /// Numbers of the frames, kNoFrame in places that get the fill value.
    std::function<std::vector<std::int64_t>(FrameReader&)> select;
};

/// An output of integers, some for each sample.
struct IntegerOutput {
    ::dali::DALIDataType type = DALI_INT32;
    bool one_a_frame = false;
    std::vector<std::vector<std::int64_t>> samples{};

    [[nodiscard]] ::dali::TensorListShape<> shape() const;
};

/// What is known about one sample of a batch.
struct VideoSample {
    SampleRequest request;
    std::shared_ptr<const Transform> transform;  ///< not used for raw frames
    std::optional<ResizeRequest> resize;         ///< the size of the transform, as soon as that of pictures is known
    std::shared_ptr<OpenVideo> video;
    std::vector<std::int64_t> indices;
    std::vector<double> pts_seconds;
    std::vector<std::int64_t> shape;  ///< of the frames
    int width = 0;                    ///< of the decoded picture
    int height = 0;
    std::int64_t num_damaged_packets = 0;
    std::exception_ptr error;

    [[nodiscard]] bool has_frames() const;
};

/// The samples of one batch of an operator that decodes videos: requests, readers, shapes and errors. The operator says
/// which samples are read from which videos; BatchDecoder decodes them.
class VideoBatch {
public:
    /// `operation` is the operator's name, for messages. Throws DALI's errors for arguments that are not accepted.
    VideoBatch(const ::dali::OpSpec& spec, std::string operation);

    [[nodiscard]] const DecodingArguments& arguments() const noexcept { return arguments_; }
    /// What fills places without a frame: one value, or one a channel.
    [[nodiscard]] const std::vector<float>& fill_value() const noexcept { return fill_value_; }

    /// Begins a batch. Returns the tasks that open and index the videos, which determines the shapes. `integers` are
    /// outputs beside frames and times. Throws DALI's errors.
    [[nodiscard]] std::vector<Task> begin(const ::dali::ArgumentWorkspace& workspace, std::vector<VideoSource> videos,
                                          std::vector<SampleRequest> requests,
                                          std::vector<IntegerOutput> integers = {});
    /// After the tasks of begin(): settle_errors(), then the shapes of the outputs. False if they are only known after
    /// decoding, because samples may become empty.
    [[nodiscard]] bool settle_shapes(std::vector<::dali::OutputDesc>& outputs);
    /// Raises the error of the first sample that failed. With on_error="empty" it logs the errors and empties the
    /// samples instead.
    void settle_errors();
    /// The frames that were read of a sample, which may be fewer than were planned.
    void set_frames(VideoSample& sample, std::vector<std::int64_t> numbers) const;
    /// Closes the readers, which must not outlive the input.
    void clear();

    [[nodiscard]] std::vector<VideoSample>& samples() noexcept { return samples_; }
    [[nodiscard]] const std::vector<VideoSample>& samples() const noexcept { return samples_; }
    [[nodiscard]] const std::vector<VideoSource>& videos() const noexcept { return videos_; }
    [[nodiscard]] const VideoSource& video_of(const VideoSample& sample) const { return videos_[sample.request.video]; }

    [[nodiscard]] ::dali::TensorListShape<> frames_shape() const;
    [[nodiscard]] ::dali::TensorListShape<> pts_shape() const;
    /// The output that holds the times, or -1.
    [[nodiscard]] int times_output() const noexcept;
    /// The other outputs after the frames; their values are complete after decoding.
    [[nodiscard]] std::vector<IntegerOutput> integers() const;

private:
    void open_video(std::size_t number);
    /// Selects the frames of a sample of an open video, and determines its shape. Errors go to the sample.
    void select_frames(VideoSample& sample);
    void make_empty(std::size_t number);
    [[nodiscard]] std::vector<std::int64_t> empty_shape(const VideoSample& sample) const;

    std::string operation_;
    DecodingArguments arguments_;
    std::vector<float> fill_value_;
    SizedTransforms sized_;
    std::vector<VideoSource> videos_;
    std::vector<VideoSample> samples_;
    std::vector<IntegerOutput> integers_;
};

}  // namespace tricodec::plugin
