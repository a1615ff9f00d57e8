// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "read/frame_sink.h"
#include "tricodec/image/transform.h"
#include "tricodec/read/frame_reader.h"

namespace tricodec {

/// Frames through a Transform to their slots of one output [N, ...], on the CPU or on a GPU.
///
/// Frames of a GPU are transformed several in one launch. Frames of the CPU for an output on a GPU are copied there
/// first; outputs on the CPU of frames on a GPU are copied back. The bytes are those of the CPU either way.
/// Thread safety: write() from several threads; the rest while no write() runs.
class BatchWriter {
public:
    /// A GPU works in the caller's `context`, by its handle, or in the primary one. With `stream` an output on a GPU is
    /// written after what is queued there so far.
    BatchWriter(Transform transform, TensorView out, std::uintptr_t context, std::optional<StreamView> stream);
    ~BatchWriter();
    BatchWriter(const BatchWriter&) = delete;
    BatchWriter& operator=(const BatchWriter&) = delete;

    /// The frame for `out[slot]`. Does not wait for the GPU where the output is there.
    void write(std::int64_t slot, const Frame& frame);
    /// Forgets what is not written yet: the frames come again under other numbers.
    void restart();
    /// Writes the rest. The caller's stream then waits until the output is complete; without one, or for an output on
    /// the CPU, the host does. Throws Error(unsupported) naming the first frame with a size that does not fit.
    void finish();

private:
    class OnGpu;

    Transform transform_;
    TensorView out_;
    std::unique_ptr<OnGpu> on_gpu_;
    std::mutex mutex_;
    std::map<std::int64_t, std::string> misfits_;  // frames that do not fit their slots
};

/// Throws Error(unsupported) if the frame comes out of the transform in another shape than its place.
void expect_fits(const Frame& frame, const Transform& transform, const TensorView& place);

/// The sink of calls that name frames: each distinct frame goes to all the slots that asked for it.
class SlotSink : public FrameSink {
public:
    explicit SlotSink(std::span<const std::int64_t> numbers);
    /// The numbers ascending, each once: those of the read.
    [[nodiscard]] const std::vector<std::int64_t>& distinct() const noexcept { return distinct_; }

    void put(std::int64_t position, Frame frame) final;
    void restart(std::int64_t /*position*/, std::int64_t /*count*/) override {}

protected:
    virtual void write(std::int64_t slot, const Frame& frame) = 0;

private:
    std::vector<std::int64_t> distinct_;
    std::vector<std::vector<std::int64_t>> slots_;  // by position
};

/// Hands each frame to a function.
class CallbackSink final : public SlotSink {
public:
    CallbackSink(std::span<const std::int64_t> numbers, FrameReader::Writer write)
        : SlotSink(numbers), write_(std::move(write)) {}

protected:
    void write(std::int64_t slot, const Frame& frame) override { write_(slot, frame); }

private:
    FrameReader::Writer write_;
};

/// Frames that are handed out together. Throws Error(refused) once they are larger than Limits::max_output_bytes.
class FrameListSink final : public SlotSink {
public:
    explicit FrameListSink(std::span<const std::int64_t> numbers) : SlotSink(numbers), frames_(numbers.size()) {}
    [[nodiscard]] std::vector<Frame> take() { return std::move(frames_); }
    void restart(std::int64_t position, std::int64_t count) override;
    /// Throws Error(refused) if `num_frames` of so many bytes in all are too large.
    static void expect_within_limit(std::int64_t num_frames, std::int64_t size_bytes);

protected:
    void write(std::int64_t slot, const Frame& frame) override;

private:
    std::vector<Frame> frames_;
    std::mutex mutex_;
    std::set<std::int64_t> counted_;  // numbers of frames
    std::int64_t size_bytes_ = 0;     // of those
};

/// Frames through Transforms to the slots of several outputs, which follow each other in the numbers asked for.
class TensorSink final : public SlotSink {
public:
    /// `context`, `stream`: see BatchWriter.
    TensorSink(std::span<const std::int64_t> numbers, std::span<const FrameReader::Part> parts, std::uintptr_t context,
               std::optional<StreamView> stream);
    void restart(std::int64_t position, std::int64_t count) override;
    /// After the last frame: BatchWriter::finish().
    void finish();

protected:
    void write(std::int64_t slot, const Frame& frame) override;

private:
    struct Output {
        std::int64_t first_slot;
        std::unique_ptr<BatchWriter> writer;
    };
    std::vector<Output> outputs_;
};

}  // namespace tricodec
