// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <dali/pipeline/operator/op_spec.h>
#include <dali/pipeline/operator/operator.h>

#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "epoch_order.h"
#include "open_videos.h"
#include "sequence_list.h"
#include "video_batch.h"
#include "video_files.h"

namespace tricodec::plugin {

/// What fn.tricodec.read_video reads, alike on every backend: the sequences of all files in the order of the epochs.
/// Thread safety: meta() beside any other call; the others one at a time.
class SequenceReader {
public:
    /// `device` is what readers are asked for, `num_threads` how many may work at the same time. Opens all files to
    /// count their frames, unless the arguments say to do it later. Throws DALI's errors.
    SequenceReader(const ::dali::OpSpec& spec, std::string device, int num_threads);

    /// VideoBatch::begin() with the next sequences. Throws DALI's errors.
    [[nodiscard]] std::vector<VideoBatch::Task> begin(VideoBatch& batch, const ::dali::ArgumentWorkspace& workspace,
                                                      int batch_size);
    [[nodiscard]] ::dali::ReaderMeta meta();
    [[nodiscard]] EpochOrder::State state();
    void restore(const EpochOrder::State& state);

private:
    enum class FrameNumbers { none, first, all };

    [[nodiscard]] static FrameNumbers parse_frame_numbers(const std::string& word);
    /// Counts the frames of all files, once.
    void prepare();
    [[nodiscard]] std::vector<FileRanges::Range> ranges_of_files();
    /// The outputs of integers that the sequences have.
    [[nodiscard]] std::vector<VideoBatch::Integers> integers_of(const std::vector<Sequence>& sequences) const;
    [[nodiscard]] VideoBatch::Video video_of(std::size_t file, std::int64_t last_frame) const;

    SequenceWords words_;
    FileRanges file_ranges_;
    FrameNumbers frame_numbers_;
    EpochOrder::Options order_options_;
    bool gives_labels_;
    bool leaves_out_broken_;
    int num_threads_;
    std::vector<VideoFile> files_;
    std::unique_ptr<OpenVideos> videos_;
    std::mutex preparing_;
    bool prepared_ = false;
    SequenceList sequences_;
    EpochOrder order_;
};

}  // namespace tricodec::plugin
