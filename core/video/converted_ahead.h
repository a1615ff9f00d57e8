// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <deque>
#include <memory>

#include "tricodec/video/frame_reader.h"

namespace tricodec {

/// Note [Converting ahead]: with many cores a decoder gives a frame sooner than one thread converts it. So while
/// a caller asks for one converted frame after another, its thread only decodes: the frames that follow are converted
/// by threads of the pool. What is decoded ahead is little beside what a decoder with threads has at work anyway.
///
/// Frames in order on their way through a converter. Thread safety: one thread at a time.
class ConvertedAhead {
public:
    static constexpr std::int64_t kFramesInOrder = 8;  // that were asked for before it is worth while
    static constexpr int kFewestCores = 4;
    static constexpr std::int64_t kMostFrames = 8;

    /// `next` is the number of the first frame that add() gets.
    ConvertedAhead(std::shared_ptr<const FrameReader::Converter> convert, std::int64_t next)
        : convert_(std::move(convert)), next_(next) {}

    [[nodiscard]] bool is_by(const std::shared_ptr<const FrameReader::Converter>& convert) const noexcept {
        return convert_ == convert;
    }
    /// Number of the frame that take() gives.
    [[nodiscard]] std::int64_t next_number() const noexcept { return next_; }
    [[nodiscard]] std::int64_t size() const noexcept { return std::ssize(jobs_); }
    /// Starts the conversion of the frame after the last one.
    void add(Frame frame);
    /// Waits for the next frame. Throws what its conversion threw.
    [[nodiscard]] FrameReader::Converted take();

private:
    struct Job;

    const std::shared_ptr<const FrameReader::Converter> convert_;
    std::int64_t next_;
    std::deque<std::shared_ptr<Job>> jobs_;
};

}  // namespace tricodec
