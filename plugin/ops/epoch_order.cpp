// SPDX-License-Identifier: Apache-2.0
#include "ops/epoch_order.h"

#include <algorithm>
#include <numeric>
#include <random>
#include <span>
#include <sstream>
#include <string_view>
#include <utility>

#include "tricodec/base/error.h"

namespace tricodec::plugin {
namespace {

constexpr std::string_view kStateFormat = "tricodec.read_video.1";
constexpr std::uint64_t kShardSeed = 0x7472696364;  // any number, the same in all processes

/// Fisher-Yates, because std::shuffle differs between libraries and a checkpoint may move to another machine.
void shuffle(std::span<std::int64_t> items, std::uint64_t seed, std::uint64_t epoch) {
    std::seed_seq seeds{static_cast<std::uint32_t>(seed), static_cast<std::uint32_t>(seed >> 32),
                        static_cast<std::uint32_t>(epoch), static_cast<std::uint32_t>(epoch >> 32)};
    std::mt19937_64 random(seeds);
    for (std::size_t left = items.size(); left > 1; --left) std::swap(items[left - 1], items[random() % left]);
}

}  // namespace

std::string EpochOrder::State::to_text() const {
    std::ostringstream text;
    text << kStateFormat << ' ' << epoch << ' ' << position << ' ' << seed;
    return text.str();
}

EpochOrder::State EpochOrder::State::from_text(const std::string& text) {
    std::istringstream words(text);
    std::string format;
    State state;
    const bool read = static_cast<bool>(words >> format >> state.epoch >> state.position >> state.seed);
    TRICODEC_EXPECT(read && format == kStateFormat && state.epoch >= 0 && state.position >= 0, corrupt_data,
                    "'" + text +
                        "' is not the state of a read_video operator of this version; begin without a "
                        "checkpoint");
    return state;
}

EpochOrder::EpochOrder(const Options& options, std::int64_t num_items) : options_(options), num_items_(num_items) {
    TRICODEC_EXPECT(num_items >= options.num_shards, invalid_argument,
                    "there are " + std::to_string(num_items) + " sequences, fewer than num_shards " +
                        std::to_string(options.num_shards) + "; use fewer shards, or a smaller step");
    state_.seed = options.seed;
    begin_epoch();
}

std::int64_t EpochOrder::longest_shard() const noexcept {
    return (num_items_ + options_.num_shards - 1) / options_.num_shards;
}

std::int64_t EpochOrder::num_padded_items() const noexcept {
    return options_.pad_last_batch ? longest_shard() * options_.num_shards : num_items_;
}

void EpochOrder::begin_epoch() {
    const auto epoch = options_.stick_to_shard ? 0 : state_.epoch;
    const auto shard = (options_.shard_id + epoch) % options_.num_shards;
    first_ = num_items_ * shard / options_.num_shards;
    size_ = num_items_ * (shard + 1) / options_.num_shards - first_;
    if (!options_.random_shuffle) return;
    std::vector<std::int64_t> all(static_cast<std::size_t>(num_items_));
    std::iota(all.begin(), all.end(), 0);
    if (options_.num_shards > 1) shuffle(all, kShardSeed, static_cast<std::uint64_t>(epoch));
    shuffled_.assign(all.begin() + first_, all.begin() + first_ + size_);
    shuffle(shuffled_, static_cast<std::uint64_t>(state_.seed), static_cast<std::uint64_t>(state_.epoch));
}

std::vector<std::int64_t> EpochOrder::next(int batch_size) {
    std::vector<std::int64_t> batch;
    for (int i = 0; i < batch_size; ++i) {
        const bool depleted = state_.position >= size_;
        const bool pads = options_.pad_last_batch && (state_.position < longest_shard() || i > 0);
        if (depleted && !pads) {
            ++state_.epoch;
            state_.position = 0;
            begin_epoch();
        }
        const auto place = std::min(state_.position++, size_ - 1);
        batch.push_back(shuffled_.empty() ? first_ + place : shuffled_[static_cast<std::size_t>(place)]);
    }
    return batch;
}

std::int64_t EpochOrder::upcoming() const {
    if (state_.position >= size_) return -1;
    return shuffled_.empty() ? first_ + state_.position : shuffled_[static_cast<std::size_t>(state_.position)];
}

void EpochOrder::restore(const State& state) {
    state_ = state;
    begin_epoch();
}

}  // namespace tricodec::plugin
