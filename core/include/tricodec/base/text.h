// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <charconv>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>

namespace tricodec {

/// "1920x1080", for messages.
[[nodiscard]] inline std::string size_text(std::int64_t width, std::int64_t height) {
    return std::to_string(width) + "x" + std::to_string(height);
}

/// "0.5", for messages: at most nine digits, and none that say nothing.
[[nodiscard]] inline std::string number_text(double value) {
    std::array<char, 32> text{};
    const auto end = std::to_chars(text.data(), text.data() + text.size(), value, std::chars_format::general, 9).ptr;
    return {text.data(), end};
}

/// ASCII capitals as small letters.
[[nodiscard]] inline std::string lower(std::string_view text) {
    std::string small(text);
    for (char& letter : small) {
        if (letter >= 'A' && letter <= 'Z') letter = static_cast<char>(letter - 'A' + 'a');
    }
    return small;
}

/// True for the same name in any case, with or without separators: "BT.709" and "bt709", "on-screen" and "on_screen".
[[nodiscard]] inline bool same_word(std::string_view one, std::string_view other) {
    const auto letters = [](std::string_view text) {
        std::string kept = lower(text);
        std::erase_if(kept,
                      [](char letter) { return std::string_view("-_. ").find(letter) != std::string_view::npos; });
        return kept;
    };
    return letters(one) == letters(other);
}

/// "a, b, c": the names of the elements. `word` gives the name of an element.
template <class Elements, class Word = std::identity>
[[nodiscard]] std::string listed(const Elements& elements, Word word = {}, const char* between = ", ") {
    std::string list;
    for (const auto& element : elements)
        list += (list.empty() ? "" : between) + std::string(std::invoke(word, element));
    return list;
}
/// The same for numbers: "3, 1080, 1920".
[[nodiscard]] inline std::string listed_numbers(std::span<const std::int64_t> numbers) {
    return listed(numbers, [](std::int64_t number) { return std::to_string(number); });
}

}  // namespace tricodec
