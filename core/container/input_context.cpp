// SPDX-License-Identifier: Apache-2.0
#include "container/input_context.h"

#include <algorithm>
#include <array>
#include <utility>
#include <vector>

#include "base/fork.h"
#include "container/container_end.h"
#include "container/mp4_boxes.h"
#include "container/mp4_fragments.h"
#include "ffmpeg/dictionary.h"
#include "io/container_policy.h"

namespace tricodec {
namespace {

/// The area of 8192x4320 in whole blocks. Larger pictures are rare, so their headers cost a second opening.
constexpr std::int64_t kUsualPixels = std::int64_t{8192 + 64} * (4320 + 64);

bool is_described(const AVStream* stream) {
    const auto& parameters = *stream->codecpar;
    return parameters.codec_type != AVMEDIA_TYPE_VIDEO || (stream->disposition & AV_DISPOSITION_ATTACHED_PIC) != 0 ||
           (parameters.width > 0 && parameters.height > 0);
}

/// libavformat knows the letters of HEVC in AVI only.
void name_hevc_in_ivf(AVFormatContext& context) {
    if (std::string_view(context.iformat->name) != "ivf" || context.nb_streams == 0) return;
    auto& parameters = *context.streams[0]->codecpar;
    const auto tag = parameters.codec_tag;
    if (parameters.codec_id != AV_CODEC_ID_NONE ||
        (tag != MKTAG('H', 'E', 'V', 'C') && tag != MKTAG('H', '2', '6', '5')))
        return;
    parameters.codec_id = AV_CODEC_ID_HEVC;
}

}  // namespace

InputContext::InputContext(const MediaSource& source, InputOptions options)
    : name_(source.name()),
      options_(std::move(options)),
      io_(std::make_unique<AvioReader>(source, options_.buffer_bytes)) {
    ff::install_log();
    const ff::CallLog call_log;
    if (options_.format == nullptr) expect_format();
    options_.settings["protocol_whitelist"] = "";
    options_.settings["format_whitelist"] = options_.format->name;
    open();
}

InputContext::InputContext(const std::string& url, const std::string& protocols, InputOptions options)
    : name_(url), options_(std::move(options)) {
    ff::install_log();
    const ff::CallLog call_log;
    if (!protocols.empty()) options_.settings["protocol_whitelist"] = protocols;
    if (options_.format == nullptr) options_.settings["format_whitelist"] = allowed_containers();
    open();
}

/// Asks the bytes for their format.
void InputContext::expect_format() {
    TRICODEC_EXPECT(io_->size_bytes() != 0, corrupt_data,
                    "'" + name_ + "' is empty (0 bytes); pass a media file that was written to its end");
    const int probed =
        av_probe_input_buffer2(io_->context(), &options_.format, probe_hint(name_).c_str(), nullptr, 0, 0);
    rethrow();
    std::array<char, 512> begin{};
    const auto remedy = [&] {
        const int size = avio_read(io_->context(), reinterpret_cast<unsigned char*>(begin.data()), int{begin.size()});
        const std::string_view format = options_.format == nullptr ? "" : options_.format->name;
        return other_media_remedy(format, {begin.data(), static_cast<std::size_t>(std::max(size, 0))});
    };
    if (probed < 0) {
        const auto kind = code_of(probed);
        if (const auto what = remedy(); !what.empty()) {
            fail(ErrorCode::unsupported, "'" + name_ + "' cannot be opened: " + what);
        }
        fail(kind, "'" + name_ + "' is not a supported media file: " + ff::damage_text(probed, kind) +
                       (options_.any_media ? "; pass format= if its bytes do not state the format"
                                           : "; accepted are mp4, mov, mkv, webm, avi, ts, ivf and raw H.264, HEVC, "
                                             "AV1 and MPEG-4"));
    }
    const std::string format = options_.format->name;
    if (is_allowed_container(format) || (options_.any_media && is_allowed_audio_or_image(format))) return;
    if (const auto what = remedy(); !what.empty())
        fail(ErrorCode::refused, "'" + name_ + "' cannot be opened: " + what);
    fail(ErrorCode::refused,
         "'" + name_ + "' has the format '" + format +
             (options_.any_media
                  ? "', which is opened only on request, because it may name other files; pass the media themselves, "
                    "or name the format (format=) if you trust the source"
                  : "', which is not opened, because it is not a video container or may name other files; pass the "
                    "media themselves (mp4, mov, mkv, webm, avi, ts, ivf, H.264, HEVC, AV1, MPEG-4, ...)"));
}

void InputContext::open() {
    AVFormatContext* context = avformat_alloc_context();
    TRICODEC_EXPECT(context != nullptr, out_of_memory, "could not allocate a demuxer");
    if (io_ != nullptr) {
        context->pb = io_->context();
        context->flags |= AVFMT_FLAG_CUSTOM_IO;
        context->io_open = refuse_to_open;
    }
    if (io_ != nullptr && io_->reader().fetches_ahead() &&
        std::string_view(options_.format->name).starts_with("mov,")) {
        io_->lend([](ByteReader& reader) {
            announce_mp4_tables(reader);
            return 0;
        });
    }
    Dictionary settings(options_.settings);
    settings.set("max_streams", std::to_string(limits_.max_streams));
    const auto* format = options_.format;
    const char* url = io_ == nullptr ? name_.c_str() : nullptr;
    const int opened = avformat_open_input(&context, url, format, &settings.entries);  // frees it on failure
    context_.reset(opened < 0 ? nullptr : context);
    rethrow();
    if (opened >= 0) {
        name_hevc_in_ivf(*context_);
        unused_ = settings.keys();
        expect_samples();
        goes_back_ = !seekable() && index_goes_back(*context_);
        return;
    }
    // libavformat reads the headers of fragments when it opens a file that can seek, and fails for one that is cut off.
    if (seekable() && io_ != nullptr && std::string_view(format->name).starts_with("mov,")) {
        const auto end = io_->lend([](ByteReader& reader) { return mp4::cut_fragment(reader); });
        if (end && !std::exchange(ends_before_fragment_, true)) {
            io_->end_at(*end);
            return open_again();
        }
    }
    // If a device cannot be opened, its description is wrong, which the caller wrote.
    const bool argument = io_ == nullptr && opened == AVERROR(EINVAL);
    const auto kind = argument ? ErrorCode::invalid_argument : code_of(opened);
    std::string why = ff::damage_text(opened, kind);
    if (why.find("moov atom not found") != std::string::npos) {
        // The most frequent error: an upload or a recording that was cut off.
        why +=
            ": the file has no index, because it was cut off or its writer never finished, or it is not an mp4 file; "
            "copy or record it again";
    }
    fail(kind,
         "cannot open '" + name_ + "'" + (format == nullptr ? "" : std::string(" as ") + format->name) + ": " + why);
}

/// An index may state many samples in a few bytes, such as a track of one size. Each needs a byte of the file, or
/// nearly.
void InputContext::expect_samples() const {
    constexpr std::int64_t kAlwaysAllowed = 1 << 20;
    const auto size = size_bytes();
    for (const auto* stream : streams()) {
        const std::int64_t count = avformat_index_get_entries_count(stream);
        TRICODEC_EXPECT(!size || count <= *size + kAlwaysAllowed, corrupt_data,
                        "'" + name_ + "' claims " + std::to_string(count) + " samples, but has " +
                            std::to_string(*size) + " bytes; copy or record it again");
        TRICODEC_EXPECT(count <= limits_.max_packets, refused,
                        "'" + name_ + "' claims " + std::to_string(count) +
                            " samples, more than limits.max_packets = " + std::to_string(limits_.max_packets));
    }
}

void InputContext::open_again() {
    context_.reset();
    io_->forget_error();
    avio_seek(io_->context(), 0, SEEK_SET);
    open();
}

bool InputContext::find_streams() {
    const auto most = picture_limits_.max_coded_pixels();
    // The decoders of libavformat bound the area of pictures, and not their sides. Those are checked here.
    const bool may_reopen = io_ != nullptr && seekable();
    auto refusal = probe_streams(may_reopen ? std::min(most, kUsualPixels) : most);
    const bool again = may_reopen && picture_limits_.allow_refused(refusal);
    if (again) {
        open_again();
        refusal = probe_streams(most);
    }
    // A cover picture may be too large, and the video may be read up to the picture that is.
    if (!std::ranges::all_of(streams(), is_described)) picture_limits_.expect_no_refusal(refusal);
    if (io_ != nullptr) io_->opened(goes_back_);
    return again;
}

std::string InputContext::probe_streams(std::int64_t max_pixels) {
    const ff::CallLog call_log;
    std::vector<Dictionary> settings(context_->nb_streams);
    std::vector<AVDictionary*> entries;
    for (auto& each : settings) {
        each.set("max_pixels", std::to_string(max_pixels));
        entries.push_back(each.entries);
    }
    const int found = [&] {
        std::optional<ForkGuard> guard;  // it may open decoders
        if (io_ != nullptr) guard.emplace();
        return avformat_find_stream_info(context_.get(), entries.data());
    }();
    for (std::size_t i = 0; i < settings.size(); ++i) settings[i].entries = entries[i];
    rethrow();
    expect(found, "cannot find the streams of '" + name_ + "'");
    return call_log.refusal();
}

int InputContext::best(AVMediaType type) const noexcept {
    return std::max(-1, av_find_best_stream(context_.get(), type, -1, -1, nullptr, 0));
}

int InputContext::best_video() const {
    const auto hidden = [&](auto hides) {
        std::vector<AVStream*> streams_hidden;
        for (auto* stream : streams()) {
            if (stream->codecpar->codec_type != AVMEDIA_TYPE_VIDEO || !hides(*stream)) continue;
            stream->codecpar->codec_type = AVMEDIA_TYPE_UNKNOWN;
            streams_hidden.push_back(stream);
        }
        const int found = best(AVMEDIA_TYPE_VIDEO);
        for (auto* stream : streams_hidden) stream->codecpar->codec_type = AVMEDIA_TYPE_VIDEO;
        return found;
    };
    const auto is_cover = [](const AVStream& each) { return (each.disposition & AV_DISPOSITION_ATTACHED_PIC) != 0; };
    const auto is_empty = [&](const AVStream& each) {
        return is_cover(each) || (each.event_flags & AVSTREAM_EVENT_FLAG_NEW_PACKETS) == 0;
    };
    if (const int found = hidden(is_empty); found >= 0) return found;
    if (const int found = hidden(is_cover); found >= 0) return found;
    return best(AVMEDIA_TYPE_VIDEO);
}

std::optional<std::int64_t> InputContext::size_bytes() const {
    return io_ == nullptr ? std::nullopt : io_->size_bytes();
}

int InputContext::read(AVPacket& packet) {
    const int code = av_read_frame(context_.get(), &packet);
    rethrow();
    TRICODEC_EXPECT(code < 0 || packet.size <= limits_.max_packet_bytes, refused,
                    "a packet of " + std::to_string(packet.size) +
                        " bytes is larger than limits.max_packet_bytes = " + std::to_string(limits_.max_packet_bytes));
    began_ = true;
    if (code >= 0) keep_palette(packet);
    return code;
}

void InputContext::keep_palette(AVPacket& packet) {
    std::size_t size = 0;
    const auto* palette = av_packet_get_side_data(&packet, AV_PKT_DATA_PALETTE, &size);
    if (palette != nullptr) {
        palettes_[packet.stream_index].assign(palette, palette + size);
    } else if (const auto known = palettes_.find(packet.stream_index);
               known != palettes_.end() && (packet.flags & AV_PKT_FLAG_KEY) != 0) {
        auto* copy = av_packet_new_side_data(&packet, AV_PKT_DATA_PALETTE, known->second.size());
        TRICODEC_EXPECT(copy != nullptr, out_of_memory, "could not allocate a palette");
        std::ranges::copy(known->second, copy);
    }
}

void InputContext::seek(int stream, std::int64_t position, int flags, const std::string& where) {
    TRICODEC_EXPECT(seekable(), unsupported,
                    "'" + name_ + "' cannot seek; pass a file, bytes or an object with seek(offset, whence)");
    if (io_ != nullptr) io_->forget_error();
    const bool has_palette =
        std::ranges::any_of(streams(), [](const AVStream* each) { return each->codecpar->format == AV_PIX_FMT_PAL8; });
    if (has_palette && !began_) {  // avformat_find_stream_info() has taken it from the container
        const auto first = ff::make_packet();
        (void)read(*first);
    }
    int code = av_seek_frame(context_.get(), stream, position, flags);
    if (code < 0 && (flags & AVSEEK_FLAG_BACKWARD) != 0) {
        code = av_seek_frame(context_.get(), stream, position, flags & ~AVSEEK_FLAG_BACKWARD);
    }
    rethrow();
    expect(seek_error(*context_, code), "seeking '" + name_ + "' to " + where + " failed");
}

std::string InputContext::cut_short() const {
    if (io_ == nullptr || !io_->seekable()) return {};
    return io_->lend([&](ByteReader& reader) { return tricodec::cut_short(context_->iformat->name, reader); });
}

ErrorCode InputContext::code_of(int code) const {
    // libavformat itself reads URLs and devices. Then EIO and similar codes are not about the data.
    if (io_ == nullptr && code != AVERROR(ENOMEM)) return ff::error_code(code);
    return ff::damage_code(code, size_bytes().value_or(0));
}

void InputContext::expect(int code, const std::string& what) const {
    if (code >= 0) return;
    const auto kind = code_of(code);
    fail(kind, what + ": " + ff::damage_text(code, kind));
}

void InputContext::rethrow() const {
    if (io_ != nullptr) io_->rethrow();
}

}  // namespace tricodec
