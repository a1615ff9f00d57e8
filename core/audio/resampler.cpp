// SPDX-License-Identifier: Apache-2.0
#include "audio/resampler.h"

#include <algorithm>
#include <array>
#include <utility>
#include <vector>

#include "tricodec/base/error.h"

namespace tricodec {

ChannelLayout::ChannelLayout(int num_channels) noexcept {
    av_channel_layout_default(&layout_, num_channels);
}

ChannelLayout::ChannelLayout(const AVChannelLayout& layout) {
    if (layout.order == AV_CHANNEL_ORDER_UNSPEC) {
        av_channel_layout_default(&layout_, layout.nb_channels);
        return;
    }
    ff::check(av_channel_layout_copy(&layout_, &layout), "copying a channel layout");
}

ChannelLayout& ChannelLayout::operator=(const ChannelLayout& other) {
    if (this != &other) ff::check(av_channel_layout_copy(&layout_, &other.layout_), "copying a channel layout");
    return *this;
}

ChannelLayout::~ChannelLayout() {
    av_channel_layout_uninit(&layout_);
}

std::string ChannelLayout::name() const {
    std::array<char, 256> text{};
    if (av_channel_layout_describe(&layout_, text.data(), text.size()) < 0) return {};
    return text.data();
}

bool operator==(const ChannelLayout& a, const ChannelLayout& b) noexcept {
    return av_channel_layout_compare(&a.layout_, &b.layout_) == 0;
}

SwrPtr make_conversion(const SampleForm& from, const SampleForm& to) {
    SwrContext* context = nullptr;
    const int made = swr_alloc_set_opts2(&context, const_cast<AVChannelLayout*>(&to.layout.get()), to.format,
                                         to.sample_rate, const_cast<AVChannelLayout*>(&from.layout.get()), from.format,
                                         from.sample_rate, 0, nullptr);
    SwrPtr conversion(context);
    const int opened = made < 0 ? made : swr_init(context);
    if (opened >= 0) return conversion;
    const auto text = [](const SampleForm& form) {
        return std::to_string(form.sample_rate) + " Hz, " + std::to_string(form.layout.num_channels()) + " channels (" +
               form.layout.name() + ")";
    };
    fail(opened == AVERROR(ENOMEM) ? ErrorCode::out_of_memory : ErrorCode::unsupported,
         "libswresample cannot convert sound of " + text(from) + " to " + text(to) + ": " + ff::error_text(opened) +
             "; use num_channels=1 or 2, or the stream's own");
}

void Resampler::push(const AVFrame& frame, int skip, SampleWindow& to) {
    SampleForm form{frame.sample_rate, static_cast<AVSampleFormat>(frame.format), ChannelLayout(frame.ch_layout)};
    const bool planar = av_sample_fmt_is_planar(form.format) != 0;
    const int num_channels = form.layout.num_channels();
    const int step = av_get_bytes_per_sample(form.format) * (planar ? 1 : num_channels);
    std::vector<const std::uint8_t*> planes(static_cast<std::size_t>(planar ? num_channels : 1));
    for (std::size_t i = 0; i < planes.size(); ++i) {
        planes[i] = frame.extended_data[i] + static_cast<std::ptrdiff_t>(skip) * step;
    }
    if (conversion_ == nullptr || !(form == input_)) {
        end(to);
        conversion_ = make_conversion(form, output_);
        input_ = std::move(form);
    }
    static_cast<void>(convert(planes.data(), frame.nb_samples - skip, to));
}

void Resampler::end(SampleWindow& to) {
    if (conversion_ == nullptr) return;
    // Without a change of the rate nothing is kept.
    if (input_.sample_rate != output_.sample_rate) {
        while (convert(nullptr, 0, to) > 0) {
        }
    }
    conversion_.reset();
}

int Resampler::convert(const std::uint8_t** data, int count, SampleWindow& to) {
    const int room = ff::check(swr_get_out_samples(conversion_.get(), count), "resampling");
    auto planes = to.reserve(room);
    const int converted = ff::check(swr_convert(conversion_.get(), planes.data(), room, data, count), "resampling");
    to.commit(converted);
    return converted;
}

}  // namespace tricodec
