// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "common/video_batch.h"
#include "tricodec/read/frame_reader.h"

namespace tricodec::plugin {

/// The memory for the frames of a batch.
struct Destination {
    std::function<void*(int sample)> data;
    Device device{};
    std::optional<StreamView> stream{};  ///< on a GPU: the order of the outputs
    int num_cores = 1;                   ///< for samples that the CPU decodes
};

/// Decodes the samples of a VideoBatch, each video in tasks of GOP ranges. Samples of one video are decoded together,
/// each frame once.
class BatchDecoder {
public:
    BatchDecoder(VideoBatch& batch, Destination destination);
    ~BatchDecoder();

    /// The tasks, which do not throw. finish() must follow them.
    [[nodiscard]] std::vector<Task> tasks();
    /// How many tasks should run at the same time, for the hardware's engines and the cores.
    [[nodiscard]] int num_threads() const;
    /// Decodes again what a damaged video needs, and gives samples the frames that were read, their errors and counts
    /// of damaged packets. A GPU's stream waits for the frames from then on.
    void finish();

private:
    struct VideoWork;

    /// How many decoders keep the hardware at work on a video.
    [[nodiscard]] int num_decoders(const VideoSample& sample) const;
    void add_work(std::vector<std::size_t> samples);
    /// The tasks of a video, of which the batch has `total_size` luma samples.
    void plan(VideoWork& work, double total_size) const;
    [[nodiscard]] FrameReader::Plan plan_samples(const std::vector<std::size_t>& numbers,
                                                 const FrameReader::PlanOptions& options) const;
    [[nodiscard]] FrameReader::Plan plan_raw(const std::vector<std::size_t>& numbers,
                                             const FrameReader::PlanOptions& options) const;
    [[nodiscard]] FrameRequest request_of(const VideoSample& sample) const;
    /// The memory for a sample's frames. Throws Error(corrupt_data) for more of them than were planned.
    [[nodiscard]] std::byte* place_of(std::size_t number, std::size_t num_frames) const;
    void finish_video(VideoWork& work);
    /// Decodes a sample with a fresh reader, so that the reads before have no effect.
    void decode_fresh(std::size_t number);
    void note_damage(VideoSample& sample) const;

    VideoBatch& batch_;
    Destination destination_;
    std::vector<std::shared_ptr<VideoWork>> works_;
};

}  // namespace tricodec::plugin
