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

    /// The frame for `out[slot]`. Does not wait for the GPU where the output is there.
    void write(std::int64_t slot, const Frame& frame);
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

/// The sink of calls that wait for all of their frames: each distinct frame goes to all the slots that asked for it.
/// Slots count the frames of all requests.
class SlotSink : public FrameSink {
public:
    SlotSink(FrameReader& reader, std::vector<FrameRequest> requests)
        : reader_(reader), requests_(std::move(requests)) {}

    /// Resolves the requests by the numbers that frames have now. Returns distinct().
    const std::vector<std::int64_t>& resolve();
    /// The numbers ascending, each once: those of the read.
    [[nodiscard]] const std::vector<std::int64_t>& distinct() const noexcept { return distinct_; }
    /// Of each request.
    [[nodiscard]] const std::vector<SelectedFrames>& frames() const noexcept { return frames_; }

    void put(std::int64_t position, Frame frame) final;
    /// Takes memory for the frames of the last resolve(), which all come then.
    void restart(std::int64_t /*position*/, std::int64_t /*count*/) final { start(); }
    /// After the last frame.
    virtual void finish() {}

protected:
    [[nodiscard]] FrameReader& reader() const noexcept { return reader_; }
    virtual void start() = 0;
    virtual void write(std::int64_t slot, const Frame& frame) = 0;

private:
    FrameReader& reader_;
    const std::vector<FrameRequest> requests_;
    std::vector<SelectedFrames> frames_;
    std::vector<std::int64_t> distinct_;
    std::vector<std::vector<std::int64_t>> slots_;  // by position
};

/// Hands frames to functions.
class CallbackSink final : public SlotSink {
public:
    CallbackSink(FrameReader& reader, std::vector<FrameRequest> requests, FrameReader::Receiver receiver)
        : SlotSink(reader, std::move(requests)), receiver_(std::move(receiver)) {}

protected:
    void start() override {
        if (receiver_.start) receiver_.start(frames());
    }
    void write(std::int64_t slot, const Frame& frame) override { receiver_.write(slot, frame); }

private:
    FrameReader::Receiver receiver_;
};

/// Frames that are handed out together. Throws Error(refused) once they are larger than Limits::max_output_bytes.
class FrameListSink final : public SlotSink {
public:
    FrameListSink(FrameReader& reader, const FrameRequest& request) : SlotSink(reader, {request}) {}
    [[nodiscard]] std::vector<Frame> take() { return std::move(list_); }

protected:
    void start() override;
    void write(std::int64_t slot, const Frame& frame) override;

private:
    std::vector<Frame> list_;
    std::mutex mutex_;
    std::set<std::int64_t> counted_;  // numbers of frames
    std::int64_t size_bytes_ = 0;     // of those
};

/// Frames through Transforms to the places of parts.
class TensorSink final : public SlotSink {
public:
    /// `context`, `stream`: see BatchWriter.
    TensorSink(FrameReader& reader, std::vector<FrameReader::Part> parts, std::uintptr_t context,
               std::optional<StreamView> stream);
    void finish() override;

protected:
    void start() override;
    void write(std::int64_t slot, const Frame& frame) override;

private:
    struct Output {
        std::int64_t first_slot;
        std::unique_ptr<BatchWriter> writer;
    };
    const std::vector<FrameReader::Part> parts_;
    const std::uintptr_t context_;
    const std::optional<StreamView> stream_;
    std::vector<Output> outputs_;
};

}  // namespace tricodec
