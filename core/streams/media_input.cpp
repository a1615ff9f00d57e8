// SPDX-License-Identifier: Apache-2.0
#include "streams/media_input.h"

#include <optional>
#include <utility>

#include "base/fork.h"
#include "media/container_end.h"
#include "media/container_policy.h"
#include "media/dictionary.h"
#include "media/picture_limits.h"
#include "streams/device_library.h"
#include "tricodec/log.h"

namespace tricodec::streams {
namespace {

ff::FormatContextPtr make_context() {
    ff::FormatContextPtr context(avformat_alloc_context());
    TRICODEC_EXPECT(context != nullptr, out_of_memory, "could not allocate a demuxer");
    return context;
}

/// A demuxer that the caller named. It reads the bytes that it is given, so any may be named but those that open files
/// by themselves.
const AVInputFormat* find_format(const std::string& format) {
    const auto* found = av_find_input_format(format.c_str());
    TRICODEC_EXPECT(found != nullptr, invalid_argument,
                    "format '" + format + "' is unknown; tricodec.io.ffmpeg_utils.get_demuxers() lists the demuxers" +
                        " and get_input_devices() the devices that are accepted");
    TRICODEC_EXPECT((found->flags & AVFMT_NOFILE) == 0, refused,
                    "format '" + format + "' opens files by itself, which is not allowed; pass each file alone");
    return found;
}

const AVInputFormat* probe_format(AVIOContext* io, AvioReader& reader, const std::string& name) {
    const AVInputFormat* format = nullptr;
    const int probed = av_probe_input_buffer2(io, &format, probe_hint(name).c_str(), nullptr, 0, 0);
    reader.rethrow();
    if (probed < 0) {
        const auto kind = ff::damage_code(probed, reader.size_bytes().value_or(0));
        fail(kind, "'" + name + "' is no media file that is known here: " + ff::damage_text(probed, kind) +
                       "; name its format (format=) if its bytes do not say it");
    }
    TRICODEC_EXPECT(is_allowed_container(format->name) || is_allowed_audio_or_image(format->name), refused,
                    "'" + name + "' is a '" + format->name +
                        "', a format that is not opened unasked because it may name other files; pass the media "
                        "themselves, or name the format (format=) if you trust the source");
    return format;
}

std::string joined(const std::vector<std::string>& words) {
    std::string text;
    for (const auto& word : words) text += (text.empty() ? "" : ",") + word;
    return text;
}

}  // namespace

MediaInput::MediaInput(const MediaSource& source, const StreamReaderOptions& options)
    : name_(source.name()),
      io_(std::make_unique<AvioReader>(source, source.reopenable() ? 0 : options.buffer_size)),
      max_packet_bytes_(limits().max_packet_bytes) {
    ff::install_log();
    const ff::CallLog call_log;
    const auto* format =
        options.format.empty() ? probe_format(io_->context(), *io_, name_) : find_format(options.format);
    auto context = make_context();
    context->pb = io_->context();
    context->flags |= AVFMT_FLAG_CUSTOM_IO;
    context->io_open = refuse_to_open;
    open_format(nullptr, format, std::move(context), options,
                {{"protocol_whitelist", ""}, {"format_whitelist", format->name}});
}

MediaInput::MediaInput(const std::string& url, const StreamReaderOptions& options)
    : name_(url), max_packet_bytes_(limits().max_packet_bytes) {
    ff::install_log();
    const ff::CallLog call_log;
    const AVInputFormat* format = nullptr;
    std::map<std::string, std::string> settings;
    if (!options.format.empty()) format = find_input_device(options.format);
    if (format == nullptr) {
        const auto protocol = protocol_of(url);
        bool allowed = false;
        for (const auto& each : options.protocols) allowed = allowed || each == protocol;
        TRICODEC_EXPECT(allowed && !protocol.empty(), refused,
                        "'" + url + "' is not opened: its protocol is not among those that are allowed (" +
                            (options.protocols.empty() ? "none" : joined(options.protocols)) +
                            "); pass protocols=[...], with those it is built on (https: https, tls, tcp)");
        if (!options.format.empty()) format = find_format(options.format);
        settings["protocol_whitelist"] = joined(options.protocols);
        if (format == nullptr) settings["format_whitelist"] = allowed_containers();
    }
    open_format(url.c_str(), format, make_context(), options, std::move(settings));
}

void MediaInput::open_format(const char* url, const AVInputFormat* format, ff::FormatContextPtr context,
                             const StreamReaderOptions& options, std::map<std::string, std::string> settings) {
    const auto limits = tricodec::limits();
    Dictionary dictionary(options.option);
    settings["max_streams"] = std::to_string(limits.max_streams);
    for (const auto& [key, value] : settings) dictionary.set(key.c_str(), value);  // ours win
    AVFormatContext* raw = context.release();
    const int opened = avformat_open_input(&raw, url, format, &dictionary.entries);  // frees it on failure
    context_.reset(opened < 0 ? nullptr : raw);
    rethrow();
    if (opened < 0) {
        // What a device cannot open is its description, which the caller wrote.
        const bool argument = io_ == nullptr && opened == AVERROR(EINVAL);
        const auto kind = argument ? ErrorCode::invalid_argument : code_of(opened);
        fail(kind, "cannot open '" + name_ + "'" + (format == nullptr ? "" : std::string(" as ") + format->name) +
                       ": " + ff::damage_text(opened, kind));
    }
    TRICODEC_EXPECT(dictionary.keys().empty(), invalid_argument,
                    "unexpected options " + dictionary.keys() + ": the demuxer '" + context_->iformat->name +
                        "' has none of these names");
    const bool goes_back = io_ && !io_->seekable() && index_goes_back(*context_);
    const int found = [&] {
        std::optional<ForkGuard> guard;  // it may open decoders
        if (io_ != nullptr) guard.emplace();
        return avformat_find_stream_info(context_.get(), nullptr);
    }();
    rethrow();
    if (io_) io_->opened(goes_back);
    expect_read(found, "cannot find the streams of '" + name_ + "'");
    for (const auto* stream : streams()) {
        const auto& parameters = *stream->codecpar;
        if (parameters.codec_type != AVMEDIA_TYPE_VIDEO) continue;
        PictureLimits().expect(parameters.width, parameters.height, "stream " + std::to_string(stream->index));
    }
}

ErrorCode MediaInput::code_of(int code) const {
    // libavformat itself reads URLs and devices, and then EIO and the like are not of the data.
    if (io_ == nullptr && code != AVERROR(ENOMEM)) return ff::error_code(code);
    return ff::damage_code(code, io_ == nullptr ? 0 : io_->size_bytes().value_or(0));
}

void MediaInput::expect_read(int code, const std::string& what) const {
    if (code >= 0) return;
    const auto kind = code_of(code);
    fail(kind, what + ": " + ff::damage_text(code, kind));
}

void MediaInput::rethrow() {
    if (io_) io_->rethrow();
}

int MediaInput::best(AVMediaType type) const noexcept {
    return std::max(-1, av_find_best_stream(context_.get(), type, -1, -1, nullptr, 0));
}

int MediaInput::read(AVPacket& packet) {
    const ff::CallLog call_log;
    const int code = av_read_frame(context_.get(), &packet);
    rethrow();
    if (code == AVERROR_EOF) note_end();
    if (code == AVERROR_EOF || code == AVERROR(EAGAIN)) return code;
    expect_read(code, "reading '" + name_ + "' failed");
    TRICODEC_EXPECT(packet.size <= max_packet_bytes_, refused,
                    "a packet of " + std::to_string(packet.size) +
                        " bytes is larger than limits.max_packet_bytes = " + std::to_string(max_packet_bytes_));
    return 0;
}

void MediaInput::note_end() {
    if (end_noted_ || io_ == nullptr || !io_->seekable()) return;
    end_noted_ = true;
    const auto why = io_->lend([&](ByteReader& reader) { return cut_short(context_->iformat->name, reader); });
    if (!why.empty()) log(LogLevel::warning, "'" + name_ + "' ends early: " + why);
}

void MediaInput::seek(std::int64_t time_us, int flags) {
    TRICODEC_EXPECT(io_ == nullptr || io_->seekable(), unsupported,
                    "'" + name_ + "' cannot seek; pass a file, bytes or an object with seek(offset, whence)");
    const ff::CallLog call_log;
    int code = av_seek_frame(context_.get(), -1, time_us, flags);
    // Before the first time stamp there is no key frame; the first one is meant.
    if (code < 0) code = av_seek_frame(context_.get(), -1, time_us, flags & ~AVSEEK_FLAG_BACKWARD);
    rethrow();
    const auto where = std::to_string(static_cast<double>(time_us) / AV_TIME_BASE) + " s";
    expect_read(seek_error(*context_, code), "seeking '" + name_ + "' to " + where + " failed");
}

}  // namespace tricodec::streams
