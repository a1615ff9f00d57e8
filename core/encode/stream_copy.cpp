// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <limits>
#include <map>

#include "encode/packet_copier.h"
#include "encode/picture_adapter.h"
#include "tricodec/base/error.h"
#include "tricodec/base/log.h"
#include "tricodec/base/text.h"
#include "tricodec/container/muxer.h"
#include "tricodec/read/frame_reader.h"

namespace tricodec {
namespace {

/// The names by which containers describe themselves, which are not those of the output.
constexpr std::string_view kOfContainer[] = {"major_brand", "minor_version", "compatible_brands", "encoder"};

void expect_copy_only(const TranscodeOptions& options) {
    const bool changes = options.crop || options.size || options.audio_encoding ||
                         options.encoder.format != PixelFormat::unknown || options.num_workers > 1;
    TRICODEC_EXPECT(
        !changes, invalid_argument,
        "codec 'copy' changes nothing, so it takes no crop, size, pixel_format, audio_codec and no workers; "
        "leave them out, or name a codec that encodes (\"h264\")");
}

}  // namespace

void describe_as_source(MuxerOptions& muxing, const MediaInfo& source, const CopyRange& range, double length_seconds) {
    for (const auto& [name, value] : source.metadata) {
        if (std::ranges::find(kOfContainer, name) == std::end(kOfContainer)) muxing.metadata.emplace(name, value);
    }
    for (Chapter chapter : source.chapters) {
        chapter.start_seconds = std::max(0.0, chapter.start_seconds - range.shift_seconds);
        chapter.end_seconds = std::min(length_seconds, chapter.end_seconds - range.shift_seconds);
        if (chapter.start_seconds < chapter.end_seconds) muxing.chapters.push_back(chapter);
    }
}

std::string streams_left_out(const MediaInfo& source, int video_stream, bool audio) {
    std::string text;
    for (const auto& stream : source.streams) {
        if (stream.index == video_stream || (audio && stream.kind == StreamKind::audio)) continue;
        text += (text.empty() ? "" : ", ") + std::string(stream.attached_picture ? "cover" : to_string(stream.kind)) +
                " stream " + std::to_string(stream.index) + " (" + stream.codec_name + ")";
    }
    return text;
}

TranscodeResult copy_streams(const MediaSource& given, const MediaTarget& target, const TranscodeOptions& options) {
    expect_copy_only(options);
    const auto source = given.shared();
    const auto reader = FrameReader::open(source, {.device = "cpu", .stream_index = options.stream_index});
    const auto& video = reader->stream();
    const double unit = video.time_base.to_double();
    TRICODEC_EXPECT(
        !reader->info().elementary, unsupported,
        "'" + source.name() +
            "' is a bare stream, and its packets have no times to copy; name a codec that encodes (\"h264\")");
    reader->expect_frames();
    const auto video_times = reader->video_times();
    const auto times = video_times.clock();
    CopyRange range;
    range.shift_seconds = times.front();
    if (options.start_seconds) {
        TRICODEC_EXPECT(*options.start_seconds < times.back() + unit, invalid_argument,
                        "start is " + number_text(*options.start_seconds) + " s, and the last frame of '" +
                            source.name() + "' begins at " + number_text(times.back()) + " s");
        // Before the first key frame that is shown, an edit list hides the one with which decoding begins.
        for (const auto key : reader->key_frames()) {
            const double at = times[static_cast<std::size_t>(key)];
            if (at <= *options.start_seconds + std::max(unit / 2, 1e-6)) range.begin_seconds = at;
        }
        const double key_seconds = range.shift_seconds = range.begin_seconds.value_or(times.front());
        if (*options.start_seconds - key_seconds > unit) {
            log(LogLevel::warning, "'" + source.name() + "' is copied from its key frame at " +
                                       number_text(key_seconds) + " s on, before " +
                                       number_text(*options.start_seconds) +
                                       " s: a copy begins with a key frame; an encoder cuts exactly");
        }
    }
    if (options.end_seconds) range.end_seconds = *options.end_seconds;
    TRICODEC_EXPECT(!range.end_seconds || *range.end_seconds > range.shift_seconds, invalid_argument,
                    "end is " + number_text(range.end_seconds.value_or(0)) + " s; it must be after the start, " +
                        number_text(range.shift_seconds) + " s");

    TranscodeResult result;
    result.decoder = result.encoder = "copy";
    const double end =
        std::min(video_times.clock_end(), options.end_seconds.value_or(std::numeric_limits<double>::infinity()));
    MuxerOptions muxing = options.muxer;
    const auto container = muxing.format.empty() ? container_of(target.name()) : muxing.format;
    PacketCopier copier(source, video.index, true, !wants_global_headers(container));
    copier.set_range(range);
    describe_as_source(muxing, copier.info(), range, end - range.shift_seconds);
    const auto muxer = Muxer::open(target.with_permissions(source.permissions()), muxing);
    StreamInfo copied = video;
    copied.parameters = copier.info().streams[static_cast<std::size_t>(video.index)].parameters;
    std::map<int, int> streams{{video.index, muxer->add_stream(copied)}};
    for (const auto& stream : copier.info().streams) {
        if (options.audio && stream.kind == StreamKind::audio) streams[stream.index] = muxer->add_stream(stream);
    }
    result.left_out = streams_left_out(copier.info(), video.index, options.audio);
    std::int64_t num_hidden = 0;
    const auto write = [&](const Packet& packet) {
        const auto found = streams.find(packet.stream_index);
        if (found == streams.end()) return;
        muxer->write(packet, found->second);
        result.size_bytes += static_cast<std::int64_t>(packet.data.size());
        if (packet.stream_index != video.index) {
            ++result.num_audio_packets;
            return;
        }
        ++result.num_frames;
        num_hidden += packet.discard ? 1 : 0;
        const double shown = static_cast<double>(packet.pts + packet.duration) * packet.time_base.to_double();
        result.seconds = std::max(result.seconds, shown);
        if (options.progress && result.num_frames % 100 == 0 && !result.cancelled)
            result.cancelled = !options.progress({result.num_frames, result.seconds, end - range.shift_seconds});
    };
    // Some packets at a time, so that `progress` can end the copy.
    constexpr double kSeconds = 1.0;
    for (double until = range.shift_seconds; until < end && !result.cancelled; until += kSeconds)
        copier.copy_until(until, write);
    if (!result.cancelled) copier.copy_until(std::numeric_limits<double>::infinity(), write);
    TRICODEC_EXPECT(result.num_frames > 0 || result.cancelled, invalid_argument,
                    "no frame of '" + source.name() +
                        "' is in the range, where its clock jumps; name a codec that "
                        "encodes (\"h264\")");
    muxer->finish();
    if (num_hidden > 0 && !keeps_orientation(container)) {
        log(LogLevel::warning, "'" + target.name() + "' shows " + std::to_string(num_hidden) + " frames that '" +
                                   source.name() + "' hides by an edit list, because " + container +
                                   " has none; an encoder cuts exactly");
    }
    return result;
}

}  // namespace tricodec
