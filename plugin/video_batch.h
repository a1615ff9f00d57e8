// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <dali/pipeline/operator/op_spec.h>
#include <dali/pipeline/operator/operator.h>
#include <dali/pipeline/workspace/workspace.h>

#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "arguments.h"
#include "transform_arguments.h"
#include "tricodec/frame_reader.h"

namespace tricodec::plugin {

/// The videos of one batch of fn.tricodec.decode_video, alike on every backend: what is asked of each, its reader, the
/// shapes of its outputs, its errors. Who calls says where the work runs and where the frames go.
class VideoBatch {
public:
    /// Work that may run at the same time as the other work of the same list; a greater cost is better started first.
    struct Task {
        std::function<void()> run;  ///< does not throw
        std::int64_t cost = 0;
    };
    /// Where a backend's frames go.
    struct Destination {
        std::function<void*(int sample)> data;
        Device device{};
        std::optional<StreamView> stream{};  ///< on a GPU, what the outputs are ordered by
        int num_cores = 1;                   ///< for samples that the CPU decodes
    };

    /// `device` is what readers are asked for. Throws DALI's errors for words that are not accepted.
    VideoBatch(const ::dali::OpSpec& spec, std::string device);

    [[nodiscard]] bool empty_on_error() const noexcept { return empty_on_error_; }
    /// True if the third output is wanted.
    [[nodiscard]] bool gives_damage() const noexcept { return gives_damage_; }
    /// The element type and letters of the frames.
    [[nodiscard]] DType dtype() const;
    [[nodiscard]] std::string layout() const;

    /// Begins a batch: looks at the input and at the arguments, and returns the work that opens and indexes the
    /// samples, which settles the shapes. Throws DALI's errors.
    [[nodiscard]] std::vector<Task> begin(const ::dali::Workspace& workspace);
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
    [[nodiscard]] ::dali::TensorListShape<> damage_shape() const;
    [[nodiscard]] int size() const noexcept { return static_cast<int>(samples_.size()); }
    [[nodiscard]] const std::vector<std::int64_t>& shape(int sample) const { return at(sample).shape; }
    [[nodiscard]] const std::vector<double>& pts_seconds(int sample) const { return at(sample).pts_seconds; }
    [[nodiscard]] const std::string& source(int sample) const { return at(sample).source; }
    /// After finish().
    [[nodiscard]] std::int64_t num_damaged_packets(int sample) const { return at(sample).num_damaged_packets; }

private:
    /// What is known of one video of the batch until clear().
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
        std::int64_t num_damaged_packets = 0;
        std::exception_ptr error;
    };
    struct Work;

    [[nodiscard]] const Sample& at(int sample) const { return samples_[static_cast<std::size_t>(sample)]; }
    void read_arguments(const ::dali::Workspace& workspace, int num_samples);
    void open_sample(int index, const ::dali::TensorList<::dali::CPUBackend>& encoded);
    /// The decoding of one sample into its place of the output, for `max_tasks` threads.
    [[nodiscard]] FrameReader::Plan plan_sample(Sample& sample, void* data, const Destination& destination,
                                                int max_tasks) const;
    void note_damage(Sample& sample) const;
    [[nodiscard]] std::vector<std::int64_t> empty_shape(const Sample& sample) const;

    std::string device_;
    IntArgument start_;
    IntArgument stride_;
    IntArgument count_;
    TransformArguments arguments_;
    std::optional<PixelFormat> format_;  ///< raw frames in this layout, instead of transformed ones
    int stream_index_;
    bool empty_on_error_ = false;
    bool damage_is_error_ = false;
    bool gives_damage_ = false;
    std::vector<FrameSelection> selections_;
    std::vector<Sample> samples_;
    std::vector<std::shared_ptr<Work>> works_;  // of decode(), until finish()
};

}  // namespace tricodec::plugin
