// SPDX-License-Identifier: Apache-2.0
#include "tricodec/encode/encode_video.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <utility>

#include "encode/avcodec/av_encoder.h"
#include "encode/avcodec/encoder_settings.h"
#include "encode/encoded_samples.h"
#include "tricodec/base/error.h"
#include "tricodec/io/media_target.h"
#include "tricodec/tensor/raw_frames.h"

namespace tricodec {
namespace {

constexpr Rational kTimeUnit{1, 90000};

/// The times in units of kTimeUnit, the first one 0.
std::vector<std::int64_t> to_units(std::span<const double> seconds, std::int64_t num_frames) {
    TRICODEC_EXPECT(static_cast<std::int64_t>(seconds.size()) == num_frames, invalid_argument,
                    "there are " + std::to_string(seconds.size()) + " times for " + std::to_string(num_frames) +
                        " pictures; pass one for each picture");
    std::vector<std::int64_t> units;
    for (const double time : seconds) {
        const double unit = std::round((time - seconds[0]) / kTimeUnit.to_double());
        TRICODEC_EXPECT(std::abs(unit) < 1e15, invalid_argument,
                        "picture " + std::to_string(units.size()) + " has the time " + std::to_string(time) +
                            " s; times are finite numbers of seconds");
        units.push_back(static_cast<std::int64_t>(unit));
        TRICODEC_EXPECT(units.size() == 1 || units.back() > units[units.size() - 2], invalid_argument,
                        "picture " + std::to_string(units.size() - 1) + " has the time " + std::to_string(time) +
                            " s, which is not after that of the one before; times increase by 1/90000 s or more");
    }
    return units;
}

/// Of pictures at these times, or the usual one.
Rational rate_of(const std::vector<std::int64_t>& units) {
    if (units.size() < 2) return {30, 1};
    const double seconds = static_cast<double>(units.back()) * kTimeUnit.to_double();
    return frame_rate_of(static_cast<double>(units.size() - 1) / seconds);
}

std::string bare_stream_of(CodecId codec) {
    return codec == CodecId::av1 ? "obu" : std::string(to_string(codec));
}

EncoderOptions settled(const PictureArray& pictures, const EncodeVideoOptions& options,
                       const std::vector<std::int64_t>& units) {
    EncoderOptions encoder = options.encoder;
    encoder.width = pictures.width();
    encoder.height = pictures.height();
    const EncoderEngine engine = find_engine(encoder);
    if (encoder.format == PixelFormat::unknown) {
        const auto& layout = pictures.layout();
        const auto own = layout.format.value_or(layout.color == OutputColor::gray  ? PixelFormat::gray
                                                : layout.color == OutputColor::yuv ? PixelFormat::yuv444p
                                                                                   : PixelFormat::rgb24);
        const bool keep = layout.format || is_lossless(engine.codec);
        encoder.format = nearest_format(engine.codec, keep ? own : PixelFormat::yuv420p);
    }
    const auto& raw = pictures.layout().format;
    const bool deep_gray = raw && info(*raw).family == ColorFamily::gray && info(*raw).depth > 8;
    if (deep_gray && encoder.color.range == ColorRange::unspecified) encoder.color.range = ColorRange::full;
    if (encoder.frame_rate.num == 0) encoder.frame_rate = rate_of(units);
    if (!units.empty()) encoder.time_base = kTimeUnit;
    return encoder;
}

int num_channels(OutputColor color) noexcept {
    return color == OutputColor::gray ? 1 : 3;
}

/// The shape of one picture, for messages.
std::string accepted(const PictureLayout& layout) {
    const std::string channels = std::to_string(num_channels(layout.color));
    return layout.layout == Layout::chw ? "[" + channels + ", H, W]" : "[H, W, " + channels + "]";
}

std::string_view name_of(OutputColor color) noexcept {
    constexpr std::string_view kNames[] = {"rgb", "bgr", "gray", "yuv", "rgba"};
    return kNames[static_cast<std::size_t>(color)];
}

/// Encodes a sound beside the pictures, about as far as they are.
class SoundWriter {
public:
    SoundWriter(const SoundTrack& track, Muxer& muxer)
        : track_(track), samples_(sound_of(track.samples.view, track.sample_rate)), muxer_(muxer) {
        encoder_ = AudioEncoder::create({.dtype = samples_.dtype,
                                         .sample_rate = track.sample_rate,
                                         .num_channels = static_cast<int>(samples_.shape[0]),
                                         .container = muxer.format()},
                                        track.encoding);
        stream_ = muxer.add_stream(encoder_->stream());
    }

    void write_until(double seconds) {
        const auto wanted = static_cast<std::int64_t>(std::min(seconds * track_.sample_rate, 9e18));
        const auto end = std::min(samples_.shape[1], wanted);
        if (end <= next_) return;
        TensorView part = samples_;
        part.data = static_cast<std::byte*>(part.data) + next_ * part.strides_bytes[1];
        part.shape[1] = end - next_;
        write(encoder_->encode(part));
        next_ = end;
    }
    void finish() {
        write_until(std::numeric_limits<double>::infinity());
        write(encoder_->flush());
    }

private:
    void write(const std::vector<Packet>& packets) {
        for (const Packet& packet : packets) muxer_.write(packet, stream_);
    }

    const SoundTrack& track_;
    TensorView samples_;
    Muxer& muxer_;
    std::unique_ptr<AudioEncoder> encoder_;
    int stream_ = 0;
    std::int64_t next_ = 0;
};

}  // namespace

std::shared_ptr<std::vector<std::byte>> encode_video(const PictureArray& pictures, std::span<const double> pts_seconds,
                                                     const EncodeVideoOptions& options) {
    const auto units = pts_seconds.empty() ? std::vector<std::int64_t>{} : to_units(pts_seconds, pictures.size());
    EncoderOptions settings = settled(pictures, options, units);
    MuxerOptions muxing = options.muxer;
    if (muxing.format.empty()) muxing.format = "mp4";
    const bool bare = muxing.format == "raw";
    settings.global_header = !bare && wants_global_headers(muxing.format);

    const auto encoder = Encoder::create(settings);
    if (bare) muxing.format = bare_stream_of(encoder->stream().codec);
    auto file = std::make_shared<std::vector<std::byte>>();
    const auto muxer = Muxer::open(MediaTarget::from_memory(file), muxing);
    const int stream = muxer->add_stream(encoder->stream());
    std::optional<SoundWriter> sound;
    if (options.sound) sound.emplace(*options.sound, *muxer);
    const double frame_seconds =
        static_cast<double>(settings.frame_rate.den) / static_cast<double>(settings.frame_rate.num);
    for (std::int64_t i = 0; i < pictures.size(); ++i) {
        Frame picture = pictures[i];
        if (info(picture.format).family == ColorFamily::yuv) picture.color = settings.color;
        Frame frame = to_encoded_samples(picture, settings.format, settings.color);
        if (!units.empty()) {
            frame.pts = units[static_cast<std::size_t>(i)];
            frame.time_base = kTimeUnit;
        }
        if (sound) {
            sound->write_until(units.empty() ? static_cast<double>(i) * frame_seconds
                                             : static_cast<double>(frame.pts) * kTimeUnit.to_double());
        }
        for (const Packet& packet : encoder->encode(frame)) muxer->write(packet, stream);
    }
    for (const Packet& packet : encoder->flush()) muxer->write(packet, stream);
    if (sound) sound->finish();
    muxer->finish();
    return file;
}

PictureArray::PictureArray(Tensor pixels, const PictureLayout& layout) : pixels_(std::move(pixels)), layout_(layout) {
    TRICODEC_EXPECT(
        layout_.color != OutputColor::rgba, invalid_argument,
        "pictures of color 'rgba' cannot be encoded, because transparency is not kept; pass the first three "
        "channels with color 'rgb'");
    TRICODEC_EXPECT(
        layout_.layout == Layout::hwc || layout_.layout == Layout::chw, invalid_argument,
        "pictures of layout '" + std::string(to_string(layout_.layout)) + "' cannot be encoded; use 'HWC' or 'CHW'");
    const DType wanted = layout_.format ? sample_dtype(*layout_.format) : DType::uint8;
    const std::string what = layout_.format ? "samples of " + std::string(to_string(*layout_.format))
                                            : std::string(name_of(layout_.color)) + " pictures to encode";
    const std::string remedy = layout_.format ? "" : ", 0 to 255: undo a normalization, then convert them";
    TRICODEC_EXPECT(
        pixels_.view.dtype == wanted, invalid_argument,
        "the pictures are " + describe(pixels_.view) + "; " + what + " are " + std::string(to_string(wanted)) + remedy);
    TRICODEC_EXPECT(pixels_.view.is_contiguous(), invalid_argument,
                    "the pictures are not C-contiguous: " + describe(pixels_.view));
    read_shape();
    TRICODEC_EXPECT(num_frames_ > 0, invalid_argument,
                    "there are 0 pictures (" + describe(pixels_.view) + "); a video has at least one");
    frame_bytes_ = pixels_.view.num_elements() / num_frames_ * static_cast<std::int64_t>(tricodec::size_of(wanted));
}

void PictureArray::read_shape() {
    const std::span<const std::int64_t> shape(pixels_.view.shape);
    if (layout_.format) {
        const RawFrames raw = read_raw_shape(*layout_.format, shape, 0, 0);
        num_frames_ = raw.num_frames;
        width_ = raw.width;
        height_ = raw.height;
        return;
    }
    const bool sequence = shape.size() == 4;
    const auto picture = shape.subspan(sequence ? 1 : 0);
    const std::size_t channel_axis = layout_.layout == Layout::chw ? 0 : 2;
    const std::size_t row_axis = channel_axis == 0 ? 1 : 0;
    constexpr std::int64_t kMost = 1 << 24;
    const auto fits = [&](std::size_t axis) { return picture[axis] > 0 && picture[axis] <= kMost; };
    const std::string one = accepted(layout_);
    TRICODEC_EXPECT(picture.size() == 3 && picture[channel_axis] == num_channels(layout_.color) && fits(row_axis) &&
                        fits(row_axis + 1),
                    invalid_argument,
                    "pictures of color '" + std::string(name_of(layout_.color)) + "' and layout '" +
                        std::string(to_string(layout_.layout)) + "' cannot be " + describe(pixels_.view) +
                        "; accepted are " + one + ", and sequences [F, " + one.substr(1));
    num_frames_ = sequence ? shape[0] : 1;
    height_ = static_cast<int>(picture[row_axis]);
    width_ = static_cast<int>(picture[row_axis + 1]);
}

Frame PictureArray::operator[](std::int64_t index) const {
    auto* data = static_cast<std::byte*>(pixels_.view.data) + index * frame_bytes_;
    if (!layout_.format && layout_.layout == Layout::hwc && layout_.color == OutputColor::yuv) {
        if (pixels_.view.device.kind == Device::Kind::cpu) return separated(data);
        const TensorView one{.data = data,
                             .dtype = DType::uint8,
                             .device = pixels_.view.device,
                             .shape = {frame_bytes_},
                             .strides_bytes = {1}};
        return separated(static_cast<const std::byte*>(to_host(one, pixels_.buffer.get()).view.data));
    }
    Frame frame = frame_here(data);
    frame.device = pixels_.view.device;
    frame.buffer = pixels_.buffer;
    return frame;
}

Frame PictureArray::frame_here(std::byte* data) const {
    const auto over = [&](PixelFormat format) { return frame_over(format, width_, height_, data, pixels_.owner); };
    if (layout_.format) return over(*layout_.format);
    if (layout_.color == OutputColor::gray) return over(PixelFormat::gray);
    if (layout_.color == OutputColor::yuv) return over(PixelFormat::yuv444p);
    const bool bgr = layout_.color == OutputColor::bgr;
    if (layout_.layout == Layout::hwc) return over(bgr ? PixelFormat::bgr24 : PixelFormat::rgb24);
    Frame frame = over(PixelFormat::gbrp);
    const auto memory = frame.planes;  // the array's own order
    frame.planes = {memory[1], memory[bgr ? 0 : 2], memory[bgr ? 2 : 0]};
    return frame;
}

Frame PictureArray::separated(const std::byte* data) const {
    Frame frame = alloc_frame(PixelFormat::yuv444p, width_, height_);
    for (std::size_t c = 0; c < 3; ++c) {
        const std::byte* source = data + c;
        for (int y = 0; y < height_; ++y) {
            std::byte* const target = frame.planes[c].data + y * frame.planes[c].stride_bytes;
            for (int x = 0; x < width_; ++x, source += 3) target[x] = *source;
        }
    }
    return frame;
}

}  // namespace tricodec
