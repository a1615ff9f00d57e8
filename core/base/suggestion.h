// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>

namespace tricodec {

/// The accepted name that a misspelled one most likely means, in any case; empty if none is near.
[[nodiscard]] std::string nearest_word(std::string_view word, std::span<const std::string> accepted);

/// "; did you mean 'bilinear'?" for the end of an error, or nothing. `accepted` is the list in that error. Its names
/// have commas, spaces or quotation marks between them.
[[nodiscard]] std::string did_you_mean(std::string_view word, std::string_view accepted);

/// "a, b, c": the names of the elements, for messages. `word` gives the name of an element.
template <class Elements, class Word = std::identity>
[[nodiscard]] std::string listed(const Elements& elements, Word word = {}) {
    std::string list;
    for (const auto& element : elements) list += (list.empty() ? "" : ", ") + std::string(std::invoke(word, element));
    return list;
}
/// The same for numbers: "3, 1080, 1920".
[[nodiscard]] inline std::string listed_numbers(std::span<const std::int64_t> numbers) {
    return listed(numbers, [](std::int64_t number) { return std::to_string(number); });
}

}  // namespace tricodec
