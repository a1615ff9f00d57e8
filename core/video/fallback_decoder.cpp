// SPDX-License-Identifier: Apache-2.0
#include "video/fallback_decoder.h"

#include <utility>

#include "tricodec/log.h"

namespace tricodec {
namespace {

class FallbackDecoder final : public Decoder {
public:
    FallbackDecoder(std::unique_ptr<Decoder> first, std::function<std::unique_ptr<Decoder>()> make_second)
        : decoder_(std::move(first)), make_second_(std::move(make_second)) {}

    void send(const Packet& packet, std::int64_t tag) override {
        if (make_second_) sent_.emplace_back(packet, tag);
        attempt([&] { decoder_->send(packet, tag); });
    }

    void send_end() override {
        ended_ = true;
        attempt([&] { decoder_->send_end(); });
    }

    std::optional<Frame> receive() override {
        auto frame = decoder_->receive();
        if (frame && make_second_) {
            make_second_ = nullptr;  // it works
            sent_.clear();
        }
        return frame;
    }

    void reset(bool mid_stream) override {
        sent_.clear();
        ended_ = false;
        mid_stream_ = mid_stream;
        decoder_->reset(mid_stream);
    }

    const std::deque<DecodeIssue>& issues() const noexcept override { return decoder_->issues(); }
    std::int64_t num_issues() const noexcept override { return decoder_->num_issues(); }
    std::string engine() const override { return decoder_->engine(); }
    Device device() const noexcept override { return decoder_->device(); }
    int num_engines() const noexcept override { return decoder_->num_engines(); }

private:
    template <class Call>
    void attempt(const Call& call) {
        try {
            call();
            return;
        } catch (const Error& error) {
            const bool another_may = error.code() == ErrorCode::unsupported ||
                                     error.code() == ErrorCode::out_of_memory || error.code() == ErrorCode::device;
            if (!make_second_ || !another_may) throw;
            log(error.code() == ErrorCode::unsupported ? LogLevel::info : LogLevel::warning,
                decoder_->engine() + " does not decode the stream: " + error.what());
        }
        decoder_ = std::exchange(make_second_, nullptr)();
        log(LogLevel::info, decoder_->engine() + " decodes it on " + decoder_->device().to_string());
        if (mid_stream_) decoder_->reset(true);
        const auto sent = std::exchange(sent_, {});
        for (const auto& [packet, tag] : sent) decoder_->send(packet, tag);
        if (ended_) decoder_->send_end();
    }

    std::unique_ptr<Decoder> decoder_;
    std::function<std::unique_ptr<Decoder>()> make_second_;  // null once it is decided
    std::vector<std::pair<Packet, std::int64_t>> sent_;      // since the last reset, while it is not
    bool ended_ = false;
    bool mid_stream_ = false;
};

}  // namespace

std::unique_ptr<Decoder> with_fallback(std::unique_ptr<Decoder> first,
                                       std::function<std::unique_ptr<Decoder>()> make_second) {
    return std::make_unique<FallbackDecoder>(std::move(first), std::move(make_second));
}

}  // namespace tricodec
