// SPDX-License-Identifier: Apache-2.0
#pragma once

extern "C" {
#include <libavutil/channel_layout.h>
#include <libavutil/samplefmt.h>
#include <libswresample/swresample.h>
}

#include <cstdint>
#include <memory>
#include <string>
#include <utility>

#include "audio/sample_window.h"
#include "ffmpeg/ffmpeg.h"
#include "tricodec/tensor/dtype.h"

namespace tricodec {

/// A channel layout of libavutil with its custom order, which must be freed.
class ChannelLayout {
public:
    ChannelLayout() noexcept = default;
    /// FFmpeg's default layout of a number of channels.
    explicit ChannelLayout(int num_channels) noexcept;
    /// The layout of a frame; the default one of its channels if it states none.
    explicit ChannelLayout(const AVChannelLayout& layout);
    ChannelLayout(const ChannelLayout& other) : ChannelLayout(other.layout_) {}
    ChannelLayout& operator=(const ChannelLayout& other);
    ~ChannelLayout();

    [[nodiscard]] const AVChannelLayout& get() const noexcept { return layout_; }
    [[nodiscard]] int num_channels() const noexcept { return layout_.nb_channels; }
    [[nodiscard]] std::string name() const;
    friend bool operator==(const ChannelLayout& a, const ChannelLayout& b) noexcept;

private:
    AVChannelLayout layout_{};
};

/// What samples are, for libswresample.
struct SampleForm {
    int sample_rate = 0;
    AVSampleFormat format = AV_SAMPLE_FMT_NONE;
    ChannelLayout layout;
    friend bool operator==(const SampleForm&, const SampleForm&) = default;
};

/// float32 or int16, each channel by itself.
[[nodiscard]] inline AVSampleFormat planar_format(DType dtype) noexcept {
    return dtype == DType::int16 ? AV_SAMPLE_FMT_S16P : AV_SAMPLE_FMT_FLTP;
}

/// A conversion of libswresample with its default options.
using SwrPtr = std::unique_ptr<SwrContext, ff::Deleter<swr_free>>;
/// Throws Error(unsupported) for one that it does not have.
[[nodiscard]] SwrPtr make_conversion(const SampleForm& from, const SampleForm& to);

/// Frames of a decoder to samples of one form.
class Resampler {
public:
    Resampler(int sample_rate, ChannelLayout layout, DType dtype)
        : output_{sample_rate, planar_format(dtype), std::move(layout)} {}

    /// Appends what samples [skip, ...) of a frame give. A frame of another form than the one before gets a new
    /// conversion, after the old one has given what it kept. Throws Error(unsupported) as make_conversion().
    void push(const AVFrame& frame, int skip, SampleWindow& to);
    /// Appends what the filter kept, at the end of the stream.
    void end(SampleWindow& to);
    /// Forgets what the filter keeps.
    void reset() noexcept { conversion_.reset(); }

private:
    /// Returns how many samples it gave. Null gives what the filter kept.
    int convert(const std::uint8_t** data, int count, SampleWindow& to);

    SampleForm output_;
    SampleForm input_;
    SwrPtr conversion_;
};

}  // namespace tricodec
