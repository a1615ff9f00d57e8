// SPDX-License-Identifier: Apache-2.0
#include <deque>
#include <limits>
#include <map>
#include <utility>

#include "bitstream/key_inspector.h"
#include "decode/decoder_records.h"
#include "decode/engines.h"
#include "tricodec/base/log.h"

namespace tricodec {
namespace {

/// The packets from which a decoder can be brought to where another one is, by their numbers.
class KeptPackets {
public:
    struct Item {
        Packet packet;
        std::int64_t number;
        std::int64_t tag;
    };

    void add(const Packet& packet, std::int64_t number, std::int64_t tag, bool key) {
        if (items_.empty() && number > 0 && !key) return;  // forgotten until a key frame comes
        if (items_.empty() || key) starts_.push_back(number);
        items_.push_back({packet, number, tag});
        size_bytes_ += packet.data.size();
        if (starts_.size() > 2 && number - starts_[2] >= kMostDelay) {
            starts_.pop_front();
            while (items_.front().number < starts_.front()) {
                size_bytes_ -= items_.front().packet.data.size();
                items_.pop_front();
            }
        }
        if (size_bytes_ > kMostBytes) clear();
    }
    void clear() {
        items_.clear();
        starts_.clear();
        size_bytes_ = 0;
    }
    /// True if all frames that were not given by now come from them, with all that those refer to.
    [[nodiscard]] bool suffice() const {
        if (items_.empty()) return false;
        return begin() == 0 || (starts_.size() > 1 && items_.back().number - starts_[1] >= kMostDelay);
    }
    /// The first number, which is past all so far where nothing is kept.
    [[nodiscard]] std::int64_t begin() const {
        return items_.empty() ? std::numeric_limits<std::int64_t>::max() : items_.front().number;
    }
    [[nodiscard]] const std::deque<Item>& items() const noexcept { return items_; }

private:
    // Packets that may follow a frame's before it comes out: 16 frames of reordering, as fields, and those in flight.
    static constexpr std::int64_t kMostDelay = 64;
    static constexpr std::size_t kMostBytes = 16 << 20;
    std::deque<Item> items_;
    std::deque<std::int64_t> starts_;  // the first one, and key frames
    std::size_t size_bytes_ = 0;
};

class FallbackDecoder final : public Decoder {
public:
    FallbackDecoder(std::unique_ptr<Decoder> first, const StreamInfo& stream,
                    std::function<std::unique_ptr<Decoder>()> make_second)
        : decoder_(std::move(first)), make_second_(std::move(make_second)), keys_(stream) {}

    void send(const Packet& packet, std::int64_t tag) override {
        const auto number = num_sent_++;
        sent_.add({.number = number, .tag = tag});
        if (make_second_) kept_.add(packet, number, tag, keys_.is_key(packet));
        attempt([&] { decoder_->send(packet, number); });
    }

    void send_end() override {
        ended_ = true;
        attempt([&] { decoder_->send_end(); });
    }

    std::optional<Frame> receive() override {
        if (ready_.empty()) {
            (void)pull();
            collect_issues();
        }
        if (ready_.empty()) return std::nullopt;
        auto frame = std::move(ready_.front());
        ready_.pop_front();
        return frame;
    }

    void reset(bool mid_stream) override {
        kept_.clear();
        sent_.clear();
        given_.clear();
        ready_.clear();
        num_sent_ = num_before_second_ = 0;
        ended_ = false;
        mid_stream_ = mid_stream;
        decoder_->reset(mid_stream);
    }

    const std::deque<DecodeIssue>& issues() const noexcept override { return issues_.kept(); }
    std::int64_t num_issues() const noexcept override { return issues_.num_met(); }
    std::string engine() const override { return decoder_->engine(); }
    Device device() const noexcept override { return decoder_->device(); }
    int num_engines() const noexcept override { return decoder_->num_engines(); }

private:
    /// Moves one frame from the decoder to ready_. False if it has none that was not given before.
    bool pull() {
        while (auto frame = decoder_->receive()) {
            const auto number = frame->index;
            if (make_second_) {
                ++given_[number];
                has_given_ = true;
                given_.erase(given_.begin(), given_.lower_bound(kept_.begin()));
            } else if (const auto before = given_.find(number); before != given_.end()) {
                if (--before->second == 0) given_.erase(before);
                continue;
            }
            frame->index = sent_.find(number).tag;
            ready_.push_back(std::move(*frame));
            return true;
        }
        return false;
    }

    template <class Call>
    void attempt(const Call& call) {
        std::string reason;
        auto level = LogLevel::info;
        try {
            call();
            reason = refusal();
            if (reason.empty()) return collect_issues();
        } catch (const Error& error) {
            const bool another_may =
                error.code() == ErrorCode::unsupported ||
                (!has_given_ && (error.code() == ErrorCode::out_of_memory || error.code() == ErrorCode::device));
            if (!make_second_ || !another_may || !kept_.suffice()) throw;
            if (error.code() != ErrorCode::unsupported) level = LogLevel::warning;
            reason = error.what();
        }
        log(level, decoder_->engine() + " does not decode the stream: " + reason);
        take_over();
    }

    /// What the first decoder has against a picture, if the second may take it.
    [[nodiscard]] std::string refusal() const {
        if (!make_second_ || decoder_->num_issues() == num_collected_ || !kept_.suffice()) return {};
        auto num_known = num_collected_;
        for (const auto& issue : new_damage(*decoder_, false, num_known)) {
            if (issue.refused) return issue.message;
        }
        return {};
    }

    void take_over() {
        decoder_ = std::exchange(make_second_, nullptr)();
        log(LogLevel::info, decoder_->engine() + " decodes it on " + decoder_->device().to_string());
        num_collected_ = 0;
        num_before_second_ = kept_.begin();
        if (mid_stream_ || num_before_second_ > 0) decoder_->reset(true);
        for (const auto& [packet, number, tag] : kept_.items()) {
            // The first decoder has reported what is damaged before the picture that it refused.
            if (has_given_ && number + 1 == num_sent_) num_collected_ = decoder_->num_issues();
            sent_.add({.number = number, .tag = tag});
            decoder_->send(packet, number);
            while (pull()) {  // most were given before, and need no memory
            }
        }
        kept_.clear();
        if (ended_) decoder_->send_end();
        collect_issues();
    }

    void collect_issues() {
        for (auto& issue : new_damage(*decoder_, false, num_collected_)) {
            issue.tag = sent_.find(issue.tag).tag;
            if (issue.packet_number >= 0) issue.packet_number += num_before_second_;
            issues_.add(std::move(issue));
        }
    }

    std::unique_ptr<Decoder> decoder_;
    std::function<std::unique_ptr<Decoder>()> make_second_;  // null once it is made
    KeyInspector keys_;
    KeptPackets kept_;
    SentPackets sent_;                   // their tags: the decoders have the numbers in their place
    std::map<std::int64_t, int> given_;  // how many frames of each packet from kept_ on
    std::deque<Frame> ready_;
    RecentIssues issues_;
    std::int64_t num_collected_ = 0;  // of the decoder's issues
    std::int64_t num_sent_ = 0;
    std::int64_t num_before_second_ = 0;  // packets that the second decoder has not seen
    bool has_given_ = false;
    bool ended_ = false;
    bool mid_stream_ = false;
};

}  // namespace

std::unique_ptr<Decoder> with_fallback(std::unique_ptr<Decoder> first, const StreamInfo& stream,
                                       std::function<std::unique_ptr<Decoder>()> make_second) {
    return std::make_unique<FallbackDecoder>(std::move(first), stream, std::move(make_second));
}

}  // namespace tricodec
