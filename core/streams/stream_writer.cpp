// SPDX-License-Identifier: Apache-2.0
#include "tricodec/streams/stream_writer.h"

#include <utility>
#include <vector>

#include "streams/stream_encoder.h"
#include "tricodec/base/fork.h"
#include "tricodec/container/muxer.h"

namespace tricodec {
namespace {

class FilteringWriter final : public StreamWriter {
public:
    FilteringWriter(const MediaTarget& target, const std::string& format)
        : target_(target),
          container_(format.empty() ? container_of(target.name()) : format),
          global_header_(wants_global_headers(container_)) {}

    ~FilteringWriter() override {
        if (!mark_.in_child()) return;
        for (auto& encoder : encoders_) static_cast<void>(encoder.release());
    }

    void add_audio_stream(const AudioInput& input) override {
        expect_closed();
        encoders_.push_back(std::make_unique<streams::StreamEncoder>(input, container_, global_header_));
    }
    void add_video_stream(const VideoInput& input) override {
        expect_closed();
        encoders_.push_back(std::make_unique<streams::StreamEncoder>(input, container_, global_header_));
    }
    void set_metadata(const std::map<std::string, std::string>& metadata) override {
        TRICODEC_EXPECT(muxer_ == nullptr, invalid_argument,
                        "Output is already opened. The header with its metadata is written.");
        metadata_ = metadata;
    }

    void open(const std::map<std::string, std::string>& options) override {
        if (muxer_ != nullptr) return;
        mark_.expect_not_in_child("this StreamWriter");
        TRICODEC_EXPECT(!closed_, invalid_argument, "the output is closed; make a new StreamWriter");
        TRICODEC_EXPECT(!encoders_.empty(), invalid_argument,
                        "no stream was added; call add_video_stream() or add_audio_stream() before open()");
        MuxerOptions settings;
        settings.format = container_;
        settings.options = options;
        settings.metadata = metadata_;
        auto muxer = Muxer::open(target_, settings);
        for (const auto& encoder : encoders_) muxer->add_stream(encoder->stream());
        muxer->start();
        muxer_ = std::move(muxer);
    }

    void write_audio_chunk(int stream, const TensorView& chunk, std::optional<double> seconds) override {
        write(stream, chunk, seconds, false);
    }
    void write_video_chunk(int stream, const TensorView& chunk, std::optional<double> seconds) override {
        write(stream, chunk, seconds, true);
    }

    void flush() override {
        expect_open();
        for (std::size_t i = 0; i < encoders_.size(); ++i) encoders_[i]->flush(sink(static_cast<int>(i)));
    }
    void discard() noexcept override {
        closed_ = true;
        muxer_ = nullptr;
    }
    void close() override {
        closed_ = true;
        const auto muxer = std::exchange(muxer_, nullptr);  // even if the trailer fails
        if (muxer != nullptr && !mark_.in_child()) muxer->finish();
    }

private:
    void expect_open() const {
        mark_.expect_not_in_child("this StreamWriter");
        TRICODEC_EXPECT(muxer_ != nullptr, invalid_argument, "Output is not opened. Did you call `open` method?");
    }
    void expect_closed() const {
        mark_.expect_not_in_child("this StreamWriter");
        TRICODEC_EXPECT(muxer_ == nullptr && !closed_, invalid_argument,
                        "Output is already opened. Cannot add a new stream.");
    }
    streams::PacketSink sink(int stream) {
        return [this, stream](const Packet& packet) { muxer_->write(packet, stream); };
    }

    void write(int stream, const TensorView& chunk, std::optional<double> seconds, bool video) {
        expect_open();
        TRICODEC_EXPECT(
            stream >= 0 && static_cast<std::size_t>(stream) < encoders_.size(), invalid_argument,
            "stream " + std::to_string(stream) + " was not added; there are " + std::to_string(encoders_.size()));
        auto& encoder = *encoders_[static_cast<std::size_t>(stream)];
        TRICODEC_EXPECT(encoder.video() == video, invalid_argument,
                        "Stream " + std::to_string(stream) + " is not " + (video ? "video" : "audio") + " type.");
        encoder.write(chunk, seconds, sink(stream));
    }

    ForkMark mark_;  // a forked child has no encoder threads, and the parent owns the file
    MediaTarget target_;
    std::string container_;
    bool global_header_;
    std::map<std::string, std::string> metadata_;
    std::vector<std::unique_ptr<streams::StreamEncoder>> encoders_;
    std::unique_ptr<Muxer> muxer_;
    bool closed_ = false;
};

}  // namespace

std::unique_ptr<StreamWriter> StreamWriter::create(const MediaTarget& target, const std::string& format) {
    return std::make_unique<FilteringWriter>(target, format);
}

}  // namespace tricodec
