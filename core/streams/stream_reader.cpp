// SPDX-License-Identifier: Apache-2.0
#include "tricodec/stream_reader.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

#include "media/dictionary.h"
#include "streams/media_input.h"
#include "streams/source_decoder.h"
#include "streams/source_stream.h"

namespace tricodec {
namespace {

class FilteringReader final : public StreamReader {
public:
    explicit FilteringReader(std::unique_ptr<streams::MediaInput> input)
        : input_(std::move(input)), packet_(ff::make_packet()) {
        choose_packets();
    }

    int num_source_streams() const noexcept override { return static_cast<int>(input_->streams().size()); }
    int num_output_streams() const noexcept override { return static_cast<int>(outputs_.size()); }
    int default_audio_stream() const noexcept override { return input_->best(AVMEDIA_TYPE_AUDIO); }
    int default_video_stream() const noexcept override { return input_->best(AVMEDIA_TYPE_VIDEO); }
    std::map<std::string, std::string> metadata() const override {
        return Dictionary::to_map(input_->context().metadata);
    }

    SourceStream source_stream(int index) const override {
        TRICODEC_EXPECT(index >= 0 && index < num_source_streams(), out_of_range,
                        "source stream " + std::to_string(index) + " is not there; '" + input_->name() + "' has " +
                            std::to_string(num_source_streams()));
        return streams::describe_source(*input_->streams()[static_cast<std::size_t>(index)]);
    }
    OutputStream output_stream(int index) const override { return output(index).describe(); }

    void add_audio_stream(const OutputOptions& options) override { add(options, AVMEDIA_TYPE_AUDIO); }
    void add_video_stream(const OutputOptions& options) override { add(options, AVMEDIA_TYPE_VIDEO); }

    void remove_stream(int index) override {
        auto& removed = output(index);
        const int source = removed.source_index();
        if (decoders_.at(source)->remove(&removed)) {
            decoders_.erase(source);
        }
        outputs_.erase(outputs_.begin() + index);
        choose_packets();
    }

    void seek(double seconds, SeekMode mode) override {
        TRICODEC_EXPECT(std::isfinite(seconds) && seconds >= 0, invalid_argument,
                        "timestamp must be a number of seconds of at least 0, not " + std::to_string(seconds));
        constexpr double kMostSeconds = 4e12;  // whose microseconds libavformat can still add to
        TRICODEC_EXPECT(seconds <= kMostSeconds, invalid_argument,
                        "timestamp is " + std::to_string(seconds) + " s; it must be at most 4e12");
        const auto time_us = std::llround(seconds * AV_TIME_BASE);
        input_->seek(time_us, AVSEEK_FLAG_BACKWARD | (mode == SeekMode::any ? AVSEEK_FLAG_ANY : 0));
        ended_ = from_start_ = false;
        for (auto& [index, decoder] : decoders_) {
            decoder->reset(mode == SeekMode::precise ? std::optional(time_us) : std::nullopt);
        }
        keep_from_us_ = mode == SeekMode::precise ? std::optional(time_us) : std::nullopt;
        for (auto& each : outputs_) each->reset();
    }

    Status process_packet() override {
        if (ended_) return Status::end;
        const int code = input_->read(*packet_);
        if (code == AVERROR(EAGAIN)) return Status::again;
        if (code == AVERROR_EOF) {
            ended_ = true;
            for (auto& [index, decoder] : decoders_) decoder->send(nullptr);
            if (!from_start_) return Status::end;  // nothing may follow the place where the reading began
            for (const auto& [index, decoder] : decoders_) decoder->expect_frames(input_->name());
            return Status::end;
        }
        began_ = true;
        const auto decoder = decoders_.find(packet_->stream_index);
        struct Unref {
            AVPacket* packet;
            ~Unref() { av_packet_unref(packet); }
        } const unref{packet_.get()};
        if (decoder != decoders_.end()) decoder->second->send(packet_.get());
        return Status::more;
    }

    bool is_buffer_ready() const noexcept override {
        return std::all_of(outputs_.begin(), outputs_.end(), [](const auto& each) { return each->chunks().ready(); });
    }

    std::vector<std::optional<StreamChunk>> pop_chunks() override {
        std::vector<std::optional<StreamChunk>> chunks;
        for (auto& each : outputs_) chunks.push_back(each->chunks().pop());
        return chunks;
    }

private:
    streams::StreamOutput& output(int index) const {
        TRICODEC_EXPECT(index >= 0 && index < num_output_streams(), out_of_range,
                        "output stream " + std::to_string(index) + " is not there; this reader has " +
                            std::to_string(num_output_streams()));
        return *outputs_[static_cast<std::size_t>(index)];
    }

    int choose(const OutputOptions& options, AVMediaType type) const {
        const std::string kind = av_get_media_type_string(type);
        TRICODEC_EXPECT(options.stream_index >= -1, invalid_argument,
                        "stream_index is " + std::to_string(options.stream_index) +
                            "; it must be at least 0, or -1 for the best " + kind + " stream");
        if (options.stream_index < 0) {
            const int best = input_->best(type);
            TRICODEC_EXPECT(best >= 0, unsupported, "'" + input_->name() + "' has no " + kind + " stream");
            return best;
        }
        TRICODEC_EXPECT(options.stream_index < num_source_streams(), out_of_range,
                        "stream_index " + std::to_string(options.stream_index) + " is not in '" + input_->name() +
                            "', which has " + std::to_string(num_source_streams()) + " streams");
        const auto* stream = input_->streams()[static_cast<std::size_t>(options.stream_index)];
        TRICODEC_EXPECT(stream->codecpar->codec_type == type, invalid_argument,
                        "stream " + std::to_string(options.stream_index) + " is not of " + kind);
        return options.stream_index;
    }

    void add(const OutputOptions& options, AVMediaType type) {
        const int index = choose(options, type);
        auto& stream = *input_->streams()[static_cast<std::size_t>(index)];
        TRICODEC_EXPECT(!options.hw_accel.empty() || stream.codecpar->format >= 0, corrupt_data,
                        "stream " + std::to_string(index) + " (" + avcodec_get_name(stream.codecpar->codec_id) +
                            ") of '" + input_->name() + "' has no packet that tells the format of its frames");
        auto found = decoders_.find(index);
        const bool fresh = found == decoders_.end();
        if (fresh) {
            from_start_ = from_start_ && !began_;
            found = decoders_.try_emplace(index, streams::make_decoder(input_->context(), stream, options)).first;
            found->second->reset(keep_from_us_);
        } else {
            found->second->expect_compatible(options);
        }
        try {
            outputs_.push_back(std::make_unique<streams::StreamOutput>(found->second->frames(), options, index));
        } catch (...) {
            if (fresh) decoders_.erase(found);
            throw;
        }
        found->second->add(outputs_.back().get());
        choose_packets();
    }

    /// The demuxer leaves out streams that no output needs. As long as there is no output a call of process_packet() is
    /// one packet of sound or pictures, as in torchaudio.
    void choose_packets() {
        for (auto* stream : input_->streams()) {
            const auto type = stream->codecpar->codec_type;
            const bool any = decoders_.empty() && (type == AVMEDIA_TYPE_VIDEO || type == AVMEDIA_TYPE_AUDIO);
            const bool wanted = any || decoders_.count(stream->index) != 0;
            stream->discard = wanted ? AVDISCARD_DEFAULT : AVDISCARD_ALL;
        }
    }

    std::unique_ptr<streams::MediaInput> input_;
    std::map<int, std::unique_ptr<streams::SourceDecoder>> decoders_;  // by source stream
    std::vector<std::unique_ptr<streams::StreamOutput>> outputs_;
    ff::PacketPtr packet_;
    std::optional<std::int64_t> keep_from_us_;  // for decoders that are made after a precise seek
    bool ended_ = false;
    bool began_ = false;
    bool from_start_ = true;  // every decoder gets all packets of its stream
};

}  // namespace

std::unique_ptr<StreamReader> StreamReader::open(const MediaSource& source, const StreamReaderOptions& options) {
    return std::make_unique<FilteringReader>(std::make_unique<streams::MediaInput>(source, options));
}

std::unique_ptr<StreamReader> StreamReader::open(const std::string& url, const StreamReaderOptions& options) {
    return std::make_unique<FilteringReader>(std::make_unique<streams::MediaInput>(url, options));
}

}  // namespace tricodec
