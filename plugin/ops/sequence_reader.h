// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <dali/pipeline/operator/op_spec.h>
#include <dali/pipeline/operator/operator.h>

#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "common/open_videos.h"
#include "common/video_batch.h"
#include "ops/epoch_order.h"
#include "ops/sequence_list.h"

namespace tricodec::plugin {

/// The sequences of all files of fn.tricodec.read_video, in the order of the epochs.
/// Thread safety: meta() beside any other call; the others one at a time.
class SequenceReader {
public:
    /// `device` is that of the readers, `num_threads` how many threads may work at the same time. Opens all files to
    /// count their frames, unless `lazy_init` is given. Throws DALI's errors.
    SequenceReader(const ::dali::OpSpec& spec, const DecodingArguments& arguments, std::string device, int num_threads);

    /// VideoBatch::begin() with the next sequences. Throws DALI's errors.
    [[nodiscard]] std::vector<Task> begin(VideoBatch& batch, const ::dali::ArgumentWorkspace& workspace,
                                          int batch_size);
    [[nodiscard]] ::dali::ReaderMeta meta();
    [[nodiscard]] EpochOrder::State state();
    void restore(const EpochOrder::State& state);

private:
    enum class FrameNumbers { none, first, all };

    [[nodiscard]] static FrameNumbers parse_frame_numbers(const std::string& name);
    /// Counts the frames of all files, once.
    void prepare();
    [[nodiscard]] std::vector<FileFrames> frames_of_files();
    /// The labels and frame numbers of sequences, as far as they are outputs.
    [[nodiscard]] std::vector<IntegerOutput> integers_of(const std::vector<Sequence>& sequences) const;
    [[nodiscard]] VideoSource video_of(std::size_t file, std::int64_t last_frame) const;

    FileSelection selection_;
    SequenceOptions options_;
    FrameNumbers frame_numbers_;
    EpochOrder::Options order_options_;
    bool gives_labels_;
    bool empty_on_error_;
    int num_threads_;
    std::vector<VideoFile> files_;
    std::unique_ptr<OpenVideos> videos_;
    std::mutex preparing_;
    bool prepared_ = false;
    SequenceList sequences_;
    EpochOrder order_;
};

}  // namespace tricodec::plugin
