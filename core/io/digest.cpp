// SPDX-License-Identifier: Apache-2.0
#include "io/digest.h"

extern "C" {
#include <libavutil/mem.h>
#include <libavutil/sha.h>
}

#include <cstdint>

#include "tricodec/base/error.h"

namespace tricodec {

Digest::Digest() : state_(av_sha_alloc(), [](AVSHA* mine) { av_free(mine); }) {
    TRICODEC_EXPECT(state_ != nullptr, out_of_memory, "could not allocate a checksum");
    av_sha_init(state_.get(), 256);
}

void Digest::add(std::span<const std::byte> bytes) {
    av_sha_update(state_.get(), reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size());
}

void Digest::add(std::string_view text) {
    add(static_cast<std::int64_t>(text.size()));  // so that "ab", "c" is not "a", "bc"
    add(std::as_bytes(std::span(text)));
}

void Digest::add(std::int64_t number) {
    std::array<std::byte, 8> bytes{};
    for (std::size_t i = 0; i < bytes.size(); ++i) {
        bytes[i] = static_cast<std::byte>(static_cast<std::uint64_t>(number) >> (8 * i));
    }
    add(std::span<const std::byte>(bytes));
}

Digest::Value Digest::finish() {
    Value value{};
    av_sha_final(state_.get(), reinterpret_cast<std::uint8_t*>(value.data()));
    return value;
}

}  // namespace tricodec
