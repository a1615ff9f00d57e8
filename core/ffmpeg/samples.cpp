// SPDX-License-Identifier: Apache-2.0
#include "ffmpeg/samples.h"

#include <cstring>

namespace tricodec {
namespace {

template <class Element>
void copy_elements_of(const std::byte* from, std::int64_t from_step, std::byte* to, std::int64_t to_step,
                      std::int64_t count) {
    if (from_step == sizeof(Element) && to_step == sizeof(Element)) {
        std::memcpy(to, from, static_cast<std::size_t>(count) * sizeof(Element));
        return;
    }
    for (std::int64_t i = 0; i < count; ++i) std::memcpy(to + i * to_step, from + i * from_step, sizeof(Element));
}

}  // namespace

void copy_elements(std::size_t element_bytes, const std::byte* from, std::int64_t from_step, std::byte* to,
                   std::int64_t to_step, std::int64_t count) {
    switch (element_bytes) {
        case 1:
            return copy_elements_of<std::uint8_t>(from, from_step, to, to_step, count);
        case 2:
            return copy_elements_of<std::uint16_t>(from, from_step, to, to_step, count);
        case 4:
            return copy_elements_of<std::uint32_t>(from, from_step, to, to_step, count);
        default:
            return copy_elements_of<std::uint64_t>(from, from_step, to, to_step, count);
    }
}

}  // namespace tricodec
