// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace tricodec {

/// "1920x1080", for messages.
[[nodiscard]] inline std::string size_text(std::int64_t width, std::int64_t height) {
    return std::to_string(width) + "x" + std::to_string(height);
}

/// ASCII capitals as small letters.
[[nodiscard]] inline std::string lower(std::string_view text) {
    std::string small(text);
    for (char& letter : small) {
        if (letter >= 'A' && letter <= 'Z') letter = static_cast<char>(letter - 'A' + 'a');
    }
    return small;
}

/// True for the same word in any case.
[[nodiscard]] inline bool same_word(std::string_view one, std::string_view other) {
    return one.size() == other.size() && lower(one) == lower(other);
}

}  // namespace tricodec
