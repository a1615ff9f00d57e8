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

#include "open_videos.h"
#include "transform_arguments.h"
#include "tricodec/frame_reader.h"

namespace tricodec::plugin {

/// The videos of one batch of fn.tricodec.decode_video or read_video, alike on every backend: what is asked of each,
/// its reader, the shapes of its outputs, its errors. Who calls says which samples are read of which videos, where the
/// work runs and where the frames go. Samples of one video are decoded together, each frame once.
class VideoBatch {
public:
    /// Work that may run at the same time as the other work of the same list; a greater cost is better started first.
    struct Task {
        std::function<void()> run;  ///< does not throw
        std::int64_t cost = 0;
    };
    /// A video that samples are read of.
    struct Video {
        std::string name;  ///< where it comes from, for messages; may be empty
        /// Opens it, or finds it open; `anew` demands a reader that has read nothing.
        std::function<std::shared_ptr<OpenVideo>(bool anew)> open;
        std::int64_t cost = 1;  ///< of opening it
        bool kept = false;      ///< open from batch to batch
        bool goes_on = false;   ///< the next batch is likely to begin where this one ends
    };
    /// What is asked of a video for one sample.
    struct Request {
        std::size_t video = 0;
        std::function<std::vector<std::int64_t>(FrameReader&)> frames;  ///< their numbers
        std::int64_t num_padded = 0;  ///< places behind them that are filled with a number
    };
    /// An output of integers, some a sample.
    struct Integers {
        ::dali::DALIDataType type = DALI_INT32;
        bool one_a_frame = false;
        std::vector<std::vector<std::int64_t>> samples{};
    };
    /// Bytes behind the last frame of a sample.
    struct Padding {
        std::size_t offset = 0;
        std::vector<std::byte> bytes{};
    };
    /// Where a backend's frames go.
    struct Destination {
        std::function<void*(int sample)> data;
        Device device{};
        std::optional<StreamView> stream{};  ///< on a GPU, what the outputs are ordered by
        int num_cores = 1;                   ///< for samples that the CPU decodes
    };

    /// `operation` is the operator's name, for messages; `fill_value` is what fills places that no frame does. Throws
    /// DALI's errors for words that are not accepted.
    VideoBatch(const ::dali::OpSpec& spec, std::string operation, float fill_value = 0);

    [[nodiscard]] bool empty_on_error() const noexcept { return empty_on_error_; }
    /// The element type and letters of the frames.
    [[nodiscard]] DType dtype() const;
    [[nodiscard]] std::string layout() const;

    /// Begins a batch: looks at the arguments, and returns the work that opens and indexes the videos, which settles
    /// the shapes. `integers` are outputs behind those of the frames and their times. Throws DALI's errors.
    [[nodiscard]] std::vector<Task> begin(const ::dali::ArgumentWorkspace& workspace, std::vector<Video> videos,
                                          std::vector<Request> requests, std::vector<Integers> integers = {});
    /// The work that decodes the samples, cut into groups of pictures. finish() has to follow it.
    [[nodiscard]] std::vector<Task> decode(const Destination& destination);
    /// How many of decode()'s tasks should run at the same time: what the hardware's engines and the cores can do.
    [[nodiscard]] int num_threads(const Destination& destination) const;
    /// Mends and completes what decode()'s work has done. A GPU's stream waits for the frames from then on.
    void finish();
    /// Raises the first failed sample's error, or, if samples may become empty, logs the errors and empties the
    /// samples.
    void settle_errors();
    /// settle_errors() of what begin() gave, and what the outputs will be. False where they are only known after
    /// decoding, since samples may become empty.
    [[nodiscard]] bool settle_shapes(std::vector<::dali::OutputDesc>& outputs);
    /// Closes the readers, which must not outlive the input.
    void clear();

    [[nodiscard]] ::dali::TensorListShape<> frames_shape() const;
    [[nodiscard]] ::dali::TensorListShape<> pts_shape() const;
    /// The outputs behind those; after finish() all that is in them.
    [[nodiscard]] std::vector<Integers> integers() const;
    [[nodiscard]] static ::dali::TensorListShape<> shape_of(const Integers& integers);
    [[nodiscard]] int size() const noexcept { return static_cast<int>(samples_.size()); }
    [[nodiscard]] const std::vector<std::int64_t>& shape(int sample) const { return at(sample).shape; }
    [[nodiscard]] const std::vector<double>& pts_seconds(int sample) const { return at(sample).pts_seconds; }
    [[nodiscard]] const std::string& source(int sample) const { return videos_[at(sample).request.video].name; }
    [[nodiscard]] Padding padding(int sample) const;

private:
    /// What is known of one sample of the batch until clear().
    struct Sample {
        Request request;
        std::shared_ptr<const Transform> transform;  ///< not used where raw frames are asked for
        std::shared_ptr<OpenVideo> video;
        std::vector<std::int64_t> indices;
        std::vector<double> pts_seconds;
        std::vector<std::int64_t> shape;  ///< of the frames
        int width = 0;                    ///< of the decoded picture
        int height = 0;
        std::int64_t num_damaged_packets = 0;
        std::exception_ptr error;
    };
    struct Work;

    [[nodiscard]] const Sample& at(int sample) const { return samples_[static_cast<std::size_t>(sample)]; }
    void open_video(std::size_t number);
    void open_sample(Sample& sample) const;
    /// The samples of each video of which there is something to decode.
    [[nodiscard]] std::vector<std::vector<std::size_t>> samples_by_video() const;
    /// The decoding of samples of one video into their places of the output.
    [[nodiscard]] FrameReader::Plan plan_samples(const std::vector<std::size_t>& numbers,
                                                 const Destination& destination,
                                                 const FrameReader::PlanOptions& options) const;
    [[nodiscard]] FrameReader::Plan plan_raw(const std::vector<std::size_t>& numbers, const Destination& destination,
                                             const FrameReader::PlanOptions& options) const;
    void finish_work(Work& work);
    /// Gives the sample the frames that it means now that decoding gave others than were counted.
    void decode_renumbered(std::size_t number, const Destination& destination);
    /// By a reader of its own, whatever was read of the video before.
    void decode_alone(std::size_t number, const Destination& destination);
    void note_damage(Sample& sample) const;
    [[nodiscard]] std::vector<std::int64_t> empty_shape(const Sample& sample) const;

    std::string operation_;
    float fill_value_;
    TransformArguments arguments_;
    std::optional<PixelFormat> format_;  ///< raw frames in this layout, instead of transformed ones
    bool empty_on_error_ = false;
    bool damage_is_error_ = false;
    bool gives_damage_ = false;
    std::vector<Video> videos_;
    std::vector<Sample> samples_;
    std::vector<Integers> integers_;
    std::vector<std::shared_ptr<Work>> works_;  // of decode(), until finish()
};

}  // namespace tricodec::plugin
