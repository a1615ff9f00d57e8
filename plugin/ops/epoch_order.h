// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace tricodec::plugin {

/// The order in which a reader gives items, batch after batch and epoch after epoch, as DALI's readers do. A shard
/// holds the items [n * shard / num_shards, n * (shard + 1) / num_shards). Without `stick_to_shard` a reader takes the
/// next shard in every epoch.
///
/// Note [Shuffling]: all items are known, so the shuffle is a full one. The number of the epoch alone determines which
/// items a shard holds (with `stick_to_shard` they are the same in all epochs). So the shards of an epoch hold every
/// item once, whatever seeds their readers have. The seed and the epoch determine the order within the shard.
class EpochOrder {
public:
    struct Options {
        int shard_id = 0;
        int num_shards = 1;
        bool stick_to_shard = false;
        bool random_shuffle = false;
        bool pad_last_batch = false;
        std::int64_t seed = 0;
    };
    /// Determines what comes next.
    struct State {
        std::int64_t epoch = 0;
        std::int64_t position = 0;  ///< in the shard; past its end while it is padded
        std::int64_t seed = 0;

        [[nodiscard]] std::string to_text() const;
        /// Throws tricodec::Error(corrupt_data).
        [[nodiscard]] static State from_text(const std::string& text);
    };

    EpochOrder() = default;
    /// Throws tricodec::Error(invalid_argument) for fewer items than shards.
    EpochOrder(const Options& options, std::int64_t num_items);

    /// The numbers of the items of the next batch. If the shard does not fill a batch, the first items of the next
    /// epoch do, or with `pad_last_batch` the last item again; all shards are then padded to one length.
    [[nodiscard]] std::vector<std::int64_t> next(int batch_size);
    /// The first item of the next batch unless that is padded, or -1 if it is not determined yet.
    [[nodiscard]] std::int64_t upcoming() const;

    [[nodiscard]] std::int64_t num_items() const noexcept { return num_items_; }
    [[nodiscard]] std::int64_t num_padded_items() const noexcept;
    [[nodiscard]] const State& state() const noexcept { return state_; }
    void restore(const State& state);

private:
    [[nodiscard]] std::int64_t longest_shard() const noexcept;
    void begin_epoch();

    Options options_;
    std::int64_t num_items_ = 0;
    State state_;
    std::int64_t first_ = 0;  // of the shard
    std::int64_t size_ = 0;
    std::vector<std::int64_t> shuffled_;  // the shard's items; empty if they come in order
};

}  // namespace tricodec::plugin
