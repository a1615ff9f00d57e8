// SPDX-License-Identifier: Apache-2.0
/// The blocks of a DEFLATE stream (RFC 1951, 3.2) from any reader of bits: one after the other, or in GDeflate's lanes.
#pragma once

#include <array>
#include <cstdint>

#include "compress/cpu/huffman.h"

namespace tricodec::compress {

constexpr std::uint32_t low_bits(std::uint32_t bits, unsigned count) noexcept {
    return bits & ((1u << count) - 1u);
}

/// For who needs no fields.
struct NoSink {};

/// Reads the codes of a dynamic block. `Bits` has peek(turn), skip(turn, count), take(turn, count) and damaged(what);
/// code lengths are its turns 0, 1, ... up to kTurns. `sink` may have counts(bits), code_length_length(bits) and
/// code_length(bits, count), which are told of all fields.
template <class Bits, class Sink>
void read_codes(Bits& bits, Sink& sink, BlockCodes& codes) {
    const std::uint32_t counts = bits.take(0, 14);
    if constexpr (requires { sink.counts(counts); }) sink.counts(counts);
    const unsigned num_literals = (counts & 31u) + 257;
    const unsigned num_distances = (counts >> 5 & 31u) + 1;
    const unsigned num_lengths = (counts >> 10) + 4;
    const unsigned total = num_literals + num_distances;
    std::array<std::uint8_t, 320> lengths{};
    std::array<std::uint8_t, 19> code_lengths{};
    for (unsigned i = 0; i < num_lengths; ++i) {
        const std::uint32_t length = bits.take(i % Bits::kTurns, 3);
        if constexpr (requires { sink.code_length_length(length); }) sink.code_length_length(length);
        code_lengths[kCodeLengthOrder[i]] = static_cast<std::uint8_t>(length);
    }
    HuffmanCode code;
    if (!code.build(code_lengths)) Bits::damaged("too many code lengths");
    for (unsigned i = 0, turn = 0; i < total; turn = (turn + 1) % Bits::kTurns) {
        const std::uint32_t next = bits.peek(turn);
        const Symbol symbol = code.decode(next);
        if (symbol.length == 0) Bits::damaged("a code length has no such code");
        const unsigned extra = symbol.value < 16 ? 0 : symbol.value == 16 ? 2 : symbol.value == 17 ? 3 : 7;
        const unsigned used = symbol.length + extra;
        if constexpr (requires { sink.code_length(next, used); }) sink.code_length(low_bits(next, used), used);
        bits.skip(turn, used);
        unsigned repeat = 1;
        auto value = static_cast<std::uint8_t>(symbol.value);
        if (symbol.value >= 16) {
            if (symbol.value == 16 && i == 0) Bits::damaged("a code length is repeated before there is one");
            value = symbol.value == 16 ? lengths[i - 1] : std::uint8_t{0};
            repeat = (symbol.value == 18 ? 11 : 3) + low_bits(next >> symbol.length, extra);
        }
        if (i + repeat > total) Bits::damaged("there are too many code lengths");
        for (; repeat > 0; --repeat) lengths[i++] = value;
    }
    if (lengths[kEndOfBlock] == 0) Bits::damaged("a block has no end");
    if (!codes.literals.build({lengths.data(), num_literals}) ||
        !codes.distances.build({lengths.data() + num_literals, num_distances})) {
        Bits::damaged("there are more codes than fit");
    }
}

/// Visits all blocks. `body` reads what follows a block's header by stored() or compressed(codes), says by goes_on()
/// whether there is use for another block, and how many distances a fixed block's code has; `sink` may have
/// block(bits, count).
template <class Bits, class Sink, class Body>
void visit_blocks(Bits& bits, Sink& sink, Body& body) {
    BlockCodes codes;
    for (bool last = false; !last && body.goes_on();) {
        const std::uint32_t header = bits.take(0, 3);
        last = (header & 1u) != 0;
        if constexpr (requires { sink.block(header, 3u); }) sink.block(header, 3);
        switch (header >> 1) {
            case 0:
                body.stored();
                break;
            case 1: {
                const auto lengths = fixed_code_lengths();
                static_cast<void>(codes.literals.build({lengths.data(), 288}));
                static_cast<void>(codes.distances.build({lengths.data() + 288, Body::kFixedDistances}));
                body.compressed(codes);
                break;
            }
            case 2:
                read_codes(bits, sink, codes);
                body.compressed(codes);
                break;
            default:
                Bits::damaged("a block has no known type");
        }
    }
}

}  // namespace tricodec::compress
