// SPDX-License-Identifier: Apache-2.0
#include "encode/avcodec/av_encoder.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <deque>
#include <optional>
#include <utility>

#include "base/stage_scope.h"
#include "encode/avcodec/encoder_settings.h"
#include "encode/encoded_samples.h"
#include "ffmpeg/conversions.h"
#include "ffmpeg/encoder_choice.h"
#include "ffmpeg/encoder_context.h"
#include "ffmpeg/pixel_repack.h"
#include "ffmpeg/stream_info.h"
#include "tricodec/base/text.h"
#include "tricodec/image/rgb_to_yuv.h"
#include "tricodec/image/transform.h"

#ifdef TRICODEC_HAVE_NVDEC
#include "encode/nvenc/cuda_pictures.h"
#endif

namespace tricodec {
namespace {

/// The times of frames that an encoder knows by their numbers. counts_frames()
class FrameNumbers {
public:
    /// `duration` of a frame, in units of the times.
    explicit FrameNumbers(std::int64_t duration) : duration_(duration) {}

    [[nodiscard]] std::int64_t number_of(std::int64_t pts) {
        times_.push_back(pts);
        return first_ + static_cast<std::int64_t>(times_.size()) - 1;
    }
    void set_times(AVPacket& packet) {
        const auto dts = packet.dts == AV_NOPTS_VALUE ? packet.pts : packet.dts;
        if (packet.pts == AV_NOPTS_VALUE) return;
        packet.pts = time_of(packet.pts);
        packet.dts = time_of(dts);
        packet.duration = 0;
        // Decoding times only rise, and no picture is shown before it is decoded.
        for (; first_ < dts; ++first_) times_.pop_front();
    }

private:
    [[nodiscard]] std::int64_t time_of(std::int64_t number) const {
        if (number < first_) return times_.front() + (number - first_) * duration_;
        return times_.at(static_cast<std::size_t>(number - first_));
    }

    std::deque<std::int64_t> times_;
    std::int64_t first_ = 0;  // number of times_.front()
    std::int64_t duration_;
};

/// 8-bit YUV of limited range in full range, as JPEG has it.
Frame to_full_range(const Frame& frame) {
    const auto& layout = info(frame.format);
    Frame full = alloc_frame(frame.format, frame.width, frame.height);
    copy_properties(frame, full);
    full.color.range = ColorRange::full;
    const auto table = [](int zero, int first, int span) {
        std::array<std::byte, 256> values{};
        for (int i = 0; i < 256; ++i) {
            values[static_cast<std::size_t>(i)] = static_cast<std::byte>(
                std::clamp(static_cast<int>(std::lround(zero + (i - first) * 255.0 / span)), 0, 255));
        }
        return values;
    };
    const auto luma = table(0, 16, 219);
    const auto chroma = table(128, 128, 224);
    for (int plane = 0; plane < layout.num_planes; ++plane) {
        const auto& values = plane == 0 ? luma : chroma;
        const auto& from = frame.planes[static_cast<std::size_t>(plane)];
        const auto& to = full.planes[static_cast<std::size_t>(plane)];
        const auto count = layout.row_bytes(plane, frame.width);
        for (int y = 0; y < layout.plane_height(plane, frame.height); ++y) {
            std::transform(from.data + y * from.stride_bytes, from.data + y * from.stride_bytes + count,
                           to.data + y * to.stride_bytes,
                           [&](std::byte sample) { return values[std::to_integer<std::size_t>(sample)]; });
        }
    }
    return full;
}

/// Throws Error(invalid_argument) for a size that is not whole chroma samples, if the encoder needs that.
void expect_whole_chroma(const AVCodec& codec, const EncoderOptions& options) {
    const auto& format = info(options.format);
    const int columns = 1 << format.log2_chroma_w;
    const int rows = 1 << format.log2_chroma_h;
    if ((options.width % columns == 0 && options.height % rows == 0) || takes_odd_sizes(codec, options.format)) return;
    fail(ErrorCode::invalid_argument, std::string(format.name) + " of " + size_text(options.width, options.height) +
                                          " cannot be encoded by " + codec.name + ": the width must be a multiple of " +
                                          std::to_string(columns) + " and the height of " + std::to_string(rows) +
                                          "; crop the frames, or encode yuv444p");
}

class AvEncoder final : public Encoder {
public:
    AvEncoder(const AVCodec& codec, const EncoderOptions& options, Device device)
        : context_(codec), options_(options), device_(device), time_base_(encoder_time_base(options)) {
        const ff::CallLog call_log;
        auto& range = options_.color.range;
        const bool gray = info(options.format).family == ColorFamily::gray;  // of full range where nothing else is said
        if (needs_full_range(codec, options.format) || (gray && range == ColorRange::unspecified))
            range = ColorRange::full;
        set_up_encoder(*context_, options_);
        if (counts_frames(codec)) {
            frames_.emplace(std::max<std::int64_t>(
                1, av_rescale_q(1, av_inv_q(ff::to_av(options_.frame_rate)), ff::to_av(time_base_))));
        }
        open();
        describe();
    }

    void send(const Frame& frame, const EncodeFlags& flags) override {
        mark_.expect_not_in_child("this Encoder");
        TRICODEC_EXPECT(!ended_, invalid_argument, "the encoder was flushed; make another Encoder");
        TRICODEC_EXPECT(frame.width == options_.width && frame.height == options_.height, invalid_argument,
                        "the frame is " + size_text(frame.width, frame.height) + "; this encoder takes " +
                            size_text(options_.width, options_.height) +
                            "; resize it (Transform), or make another encoder");
        const StageScope scope(Stage::encode, 1);
        ++num_frames_;
        auto picture = make_picture(converted(frame));
        picture->pts = frames_ ? frames_->number_of(next_pts(frame)) : next_pts(frame);
        picture->pict_type = flags.force_key ? AV_PICTURE_TYPE_I : AV_PICTURE_TYPE_NONE;
        // Otherwise encoders use the range and matrix of the pictures, which may differ from the stream's.
        picture->color_range = context_->color_range;
        picture->colorspace = context_->colorspace;
        picture->color_primaries = context_->color_primaries;
        picture->color_trc = context_->color_trc;
        picture->chroma_location = context_->chroma_sample_location;
        push(picture.get());
    }

    void send_end() override {
        if (ended_) return;
        mark_.expect_not_in_child("this Encoder");
        ended_ = true;
        const StageScope scope(Stage::encode, 0);
        push(nullptr);
    }

    std::optional<Packet> receive() override {
        if (pending_.empty()) {
            mark_.expect_not_in_child("this Encoder");
            const StageScope scope(Stage::encode, 0);
            pull();
        }
        if (pending_.empty()) return std::nullopt;
        auto packet = std::move(pending_.front());
        pending_.pop_front();
        return packet;
    }

    void reconfigure(const RateControl& rate) override {
        TRICODEC_EXPECT(ff::reconfigures(context_.codec()), unsupported,
                        "the encoder '" + std::string(context_.codec().name) +
                            "' cannot change its rate in a running stream; make another encoder");
        if (rate.bit_rate) expect_rate(*rate.bit_rate, "bit_rate");
        if (rate.max_bit_rate) expect_rate(*rate.max_bit_rate, "max_bit_rate");
        TRICODEC_EXPECT(!rate.buffer_size || std::in_range<int>(*rate.buffer_size), invalid_argument,
                        "buffer_size is " + std::to_string(rate.buffer_size.value_or(0)) +
                            " bits; it must be from 0 (none) to 2^31 - 1");
        context_.settle();
        // libx264 and NVENC check these with every frame and pass changes to the running encoder.
        if (rate.bit_rate) context_->bit_rate = *rate.bit_rate;
        if (rate.max_bit_rate) context_->rc_max_rate = *rate.max_bit_rate;
        if (rate.buffer_size) context_->rc_buffer_size = static_cast<int>(*rate.buffer_size);
    }

    const StreamInfo& stream() const noexcept override { return stream_; }
    std::vector<std::byte> headers() const override { return headers_; }
    int reorder_depth() const noexcept override {
        // libx265 does not report it. It uses B frames as references, which takes two.
        if (context_.codec().id == AV_CODEC_ID_HEVC && context_->has_b_frames == 0)
            return std::min(options_.num_b_frames < 0 ? 2 : options_.num_b_frames, 2);
        return context_->has_b_frames;
    }
    std::string engine() const override { return std::string("libavcodec ") + context_.codec().name; }
    Device device() const noexcept override { return device_; }

private:
    void open() {
#ifdef TRICODEC_HAVE_NVDEC
        if (device_.kind == Device::Kind::cuda) {
            pictures_.emplace(*context_, device_, options_.format, options_.width, options_.height);
        }
#endif
        const bool works = device_.kind == Device::Kind::cuda;  // find_engine() has tried it
        context_.open(encoder_settings(*context_, options_), works);
    }

    void describe() {
        stream_ = context_.describe();
        if (!options_.bitstream_filter.empty()) stream_.parameters = open_filters(*stream_.parameters);
        stream_.time_base = time_base_;
        stream_.bit_rate = options_.bit_rate;
        stream_.pixel_format = options_.format;
        stream_.pixel_format_name = std::string(to_string(options_.format));
        stream_.average_frame_rate = options_.frame_rate;
        stream_.real_frame_rate = options_.frame_rate;
        stream_.sample_aspect_ratio = options_.sample_aspect_ratio;
        stream_.color = options_.color;
        stream_.orientation = options_.orientation;
        stream_.interlaced = options_.interlaced;
        stream_.bottom_field_first = options_.bottom_field_first;
        const auto headers = extradata_of(stream_.parameters.get());
        headers_.assign(headers.begin(), headers.end());
    }

    /// Opens the filters of options_.bitstream_filter. Returns the parameters of the stream after them.
    std::shared_ptr<const AVCodecParameters> open_filters(const AVCodecParameters& encoded) {
        AVBSFContext* filters = nullptr;
        const int parsed = av_bsf_list_parse_str(options_.bitstream_filter.c_str(), &filters);
        TRICODEC_EXPECT(parsed >= 0, invalid_argument,
                        "bitstream_filter '" + options_.bitstream_filter +
                            "' cannot be parsed: " + ff::error_text(parsed) + "; write it as for ffmpeg -bsf");
        filter_.reset(filters);
        ff::check(avcodec_parameters_copy(filter_->par_in, &encoded), "setting up a bitstream filter");
        filter_->time_base_in = context_->time_base;
        const int opened = av_bsf_init(filter_.get());
        TRICODEC_EXPECT(opened >= 0, invalid_argument,
                        "bitstream_filter '" + options_.bitstream_filter +
                            "' does not take this stream: " + ff::error_text(opened));
        ff::ParametersPtr parameters(avcodec_parameters_alloc());
        TRICODEC_EXPECT(parameters != nullptr, out_of_memory, "could not allocate codec parameters");
        ff::check(avcodec_parameters_copy(parameters.get(), filter_->par_out), "setting up a bitstream filter");
        return ff::share(std::move(parameters));
    }

    ff::FramePtr make_picture(const Frame& frame) const {
#ifdef TRICODEC_HAVE_NVDEC
        if (pictures_) return pictures_->picture(frame);
#endif
        if (is_packed_rgb32(context_->pix_fmt)) return to_packed_rgb32(frame, context_->pix_fmt);
        auto picture = to_av_picture(frame);
        picture->format = context_->pix_fmt;  // yuvj420p has the samples of yuv420p
        return picture;
    }

    /// Converts to the encoded format, in host memory unless the GPU of the frame encodes it unchanged.
    Frame converted(const Frame& frame) const {
        const bool to_full = frame.color.range != ColorRange::full && info(frame.format).family == ColorFamily::yuv &&
                             needs_full_range(context_.codec(), options_.format);
        if (!to_full && frame.device == device_ && frame.format == options_.format) return frame;
        const Frame host = frame.device.kind == Device::Kind::cpu ? frame : to_host(frame);
        if (!to_full && host.format == options_.format) return host;
        const auto& from = info(host.format);
        const auto& to = info(options_.format);
        if (to.family == ColorFamily::yuv && from.family == ColorFamily::rgb) {
            return rgb_to_yuv(rgb_picture(host), options_.format, options_.color);
        }
        if (to.family == ColorFamily::rgb && from.family != ColorFamily::rgb) {
            TransformOptions same;
            same.rotate = false;
            return convert_layout(resampled(host, same, PixelFormat::rgb24, {}), options_.format);
        }
        if (from.family == ColorFamily::gray && to.family == ColorFamily::yuv && from.depth == 8) {
            return rgb_to_yuv(rgb_picture(host), options_.format, options_.color);
        }
        const Frame result = convert_layout(host, options_.format);
        return to_full ? to_full_range(result) : result;
    }

    std::int64_t next_pts(const Frame& frame) {
        std::int64_t pts = 0;
        if (frame.pts != kNoTimestamp && frame.time_base.known()) {
            pts = av_rescale_q(frame.pts, ff::to_av(frame.time_base), ff::to_av(time_base_));
        } else if (frame.pts != kNoTimestamp) {
            pts = frame.pts;
        } else if (last_pts_) {
            const AVRational frame_time{static_cast<int>(options_.frame_rate.den),
                                        static_cast<int>(options_.frame_rate.num)};
            pts = *last_pts_ + std::max<std::int64_t>(1, av_rescale_q(1, frame_time, ff::to_av(time_base_)));
        }
        TRICODEC_EXPECT(pts >= -ff::kFarthest && pts <= ff::kFarthest, invalid_argument,
                        "the frame's time stamp " + std::to_string(frame.pts) + " is too far from 0; in units of " +
                            std::to_string(time_base_.num) + "/" + std::to_string(time_base_.den) +
                            " s it must be from -2^62 to 2^62");
        TRICODEC_EXPECT(!last_pts_ || pts > *last_pts_, invalid_argument,
                        "the frame's time stamp " + std::to_string(pts) + " (in units of " +
                            std::to_string(time_base_.num) + "/" + std::to_string(time_base_.den) +
                            " s) is not after that of the frame before, " + std::to_string(*last_pts_) +
                            "; pass frames in the order of their times, no two with the same time");
        last_pts_ = pts;
        return pts;
    }

    void push(const AVFrame* picture) {
        const ff::CallLog call_log;
        context_.send(picture);
    }

    /// Moves one packet from the encoder to pending_. False when there is none now.
    bool pull() {
        const ff::CallLog call_log;
        auto packet = context_.receive();
        if (packet == nullptr) return false;
        if (frames_) frames_->set_times(*packet);
        // libx265 (3.5) reads it from memory that it has not written if the stream has one picture.
        if (num_frames_ == 1 && packet->dts != AV_NOPTS_VALUE) packet->dts = packet->pts;
        if (filter_) filter_packet(*packet);
        if (wants_headers(*packet)) put_headers(*packet);
        pending_.push_back(to_packet(std::move(packet), time_base_));
        ++num_packets_;
        return true;
    }

    /// Filters that change headers return one packet for each packet.
    void filter_packet(AVPacket& packet) const {
        ff::check(av_bsf_send_packet(filter_.get(), &packet), "filtering a packet");
        ff::check(av_bsf_receive_packet(filter_.get(), &packet),
                  "filtering a packet by '" + options_.bitstream_filter + "'");
    }

    bool wants_headers(const AVPacket& packet) const noexcept {
        if (options_.global_header || headers_.empty()) return false;
        if (context_.codec().id != AV_CODEC_ID_H264 && context_.codec().id != AV_CODEC_ID_HEVC)
            return false;  // AV1 has them in packets
        return num_packets_ == 0 || (options_.repeat_headers && (packet.flags & AV_PKT_FLAG_KEY) != 0);
    }

    void put_headers(AVPacket& packet) const {
        const auto size = static_cast<int>(headers_.size());
        const int payload = packet.size;
        ff::check(av_grow_packet(&packet, size), "adding headers to a packet");
        std::memmove(packet.data + size, packet.data, static_cast<std::size_t>(payload));
        std::memcpy(packet.data, headers_.data(), headers_.size());
    }

    ForkMark mark_;
    EncoderContext context_;
    EncoderOptions options_;
    Device device_;
#ifdef TRICODEC_HAVE_NVDEC
    std::optional<CudaPictures> pictures_;
#endif
    ff::BsfPtr filter_;
    Rational time_base_;
    StreamInfo stream_;
    std::vector<std::byte> headers_;
    std::deque<Packet> pending_;
    std::int64_t num_frames_ = 0;
    std::int64_t num_packets_ = 0;
    std::optional<std::int64_t> last_pts_;
    std::optional<FrameNumbers> frames_;
    bool ended_ = false;
};

}  // namespace

std::unique_ptr<Encoder> make_av_encoder(const AVCodec& codec, const EncoderOptions& options, Device device,
                                         bool any_size) {
    expect_encodable(codec, options);
    if (!any_size) expect_whole_chroma(codec, options);
    return std::make_unique<AvEncoder>(codec, options, device);
}

}  // namespace tricodec
