// SPDX-License-Identifier: Apache-2.0
#include "tricodec/tensor/npy_header.h"

#include <algorithm>
#include <charconv>
#include <cstring>
#include <optional>
#include <string>

#include "base/suggestion.h"
#include "tricodec/base/error.h"

namespace tricodec {
namespace {

constexpr std::string_view kMagic = "\x93NUMPY";
constexpr std::size_t kAlignment = 64;
// numpy leaves room for the first axis to grow to 64 bits in place.
constexpr std::size_t kGrowthDigits = 21;
constexpr std::size_t kMostDimensions = 64;

[[noreturn]] void fail_damaged(const std::string& why) {
    fail(ErrorCode::corrupt_data,
         "the data do not begin with a readable .npy header: " + why + "; leave out header=True for bare elements");
}

/// Reads the header's text, which must be as numpy writes it: a dict of descr, fortran_order and shape. Spaces do not
/// matter.
NpyHeader parse(std::string_view text) {
    std::string plain(text);
    std::erase_if(plain, [](char c) { return c == ' ' || c == '\n'; });
    std::string_view rest = plain;
    const auto accept = [&](std::string_view wanted) {
        const bool found = rest.starts_with(wanted);
        if (found) rest.remove_prefix(wanted.size());
        return found;
    };
    const auto expect = [&](std::string_view wanted) {
        if (!accept(wanted)) fail_damaged("it lacks " + std::string(wanted) + " where numpy writes it");
    };
    NpyHeader header;
    expect("{'descr':");
    TRICODEC_EXPECT(!rest.starts_with('['), unsupported,
                    "the array's elements have several fields; save each field as an array of its own");
    expect("'");
    header.typestr = rest.substr(0, rest.find('\''));
    rest.remove_prefix(header.typestr.size());
    expect("','fortran_order':");
    const bool fortran = accept("True");
    if (!fortran) expect("False");
    expect(",'shape':(");
    while (!accept(")")) {
        std::int64_t extent = 0;
        const auto [end, error] = std::from_chars(rest.data(), rest.data() + rest.size(), extent);
        if (error != std::errc() || extent < 0) fail_damaged("its shape holds something that is no length");
        rest.remove_prefix(static_cast<std::size_t>(end - rest.data()));
        header.shape.push_back(extent);
        if (header.shape.size() > kMostDimensions) fail_damaged("its shape has more than 64 axes");
        if (!accept(",") && !rest.starts_with(')')) fail_damaged("its shape is not closed");
    }
    static_cast<void>(accept(","));
    expect("}");
    if (!rest.empty()) fail_damaged("there is more after its end");
    TRICODEC_EXPECT(!fortran || header.shape.size() < 2, unsupported,
                    "the array is in Fortran order; save numpy.ascontiguousarray(array)");
    return header;
}

/// Bytes of an element; none for types that are no plain numbers of this machine's byte order.
std::optional<std::size_t> item_bytes(std::string_view typestr) {
    if (typestr.size() < 3 || std::string_view("<|=").find(typestr[0]) == std::string_view::npos) return {};
    if (std::string_view("biufcSV").find(typestr[1]) == std::string_view::npos) return {};
    std::size_t size = 0;
    const char* last = typestr.data() + typestr.size();
    const auto [end, error] = std::from_chars(typestr.data() + 2, last, size);
    if (error != std::errc() || end != last || size == 0 || size > (1U << 20)) return {};
    return size;
}

}  // namespace

std::vector<std::byte> make_npy_header(std::string_view typestr, std::span<const std::int64_t> shape) {
    std::string text =
        "{'descr': '" + std::string(typestr) + "', 'fortran_order': False, 'shape': (" + listed_numbers(shape);
    text += shape.size() == 1 ? ",), }" : "), }";
    if (!shape.empty()) {
        const std::size_t digits = std::to_string(shape[0]).size();
        text.append(kGrowthDigits - std::min(digits, kGrowthDigits), ' ');
    }
    const std::size_t prefix = kMagic.size() + 4;
    text.append(kAlignment - (prefix + text.size() + 1) % kAlignment, ' ');
    text += '\n';
    const std::size_t size = text.size();
    TRICODEC_EXPECT(prefix + size <= kLargestNpyHeader, invalid_argument,
                    "a shape of " + std::to_string(shape.size()) + " axes does not fit into a .npy header");
    std::string bytes(kMagic);
    bytes += {'\1', '\0', static_cast<char>(size & 0xFF), static_cast<char>(size >> 8)};
    bytes += text;
    std::vector<std::byte> header(bytes.size());
    std::memcpy(header.data(), bytes.data(), bytes.size());
    return header;
}

NpyHeader read_npy_header(std::span<const std::byte> start, std::uint64_t total_bytes) {
    const std::string_view bytes(reinterpret_cast<const char*>(start.data()), start.size());
    if (bytes.size() < kMagic.size() + 4 || !bytes.starts_with(kMagic))
        fail_damaged("they do not begin with \\x93NUMPY");
    const auto at = [&](std::size_t i) { return static_cast<std::size_t>(static_cast<unsigned char>(bytes[i])); };
    const std::size_t major = at(6);
    if (major < 1 || major > 3) fail_damaged("its version is " + std::to_string(major) + ", not 1, 2 or 3");
    const std::size_t prefix = major == 1 ? 10 : 12;
    if (bytes.size() < prefix) fail_damaged("it is cut short");
    std::size_t size = at(8) | at(9) << 8;
    if (major > 1) size |= at(10) << 16 | at(11) << 24;
    if (size > kLargestNpyHeader - 12) fail_damaged("it claims to have " + std::to_string(size) + " bytes");
    if (bytes.size() < prefix + size) fail_damaged("it is cut short");

    NpyHeader header = parse(bytes.substr(prefix, size));
    header.header_bytes = prefix + size;
    const auto item = item_bytes(header.typestr);
    TRICODEC_EXPECT(item.has_value(), unsupported,
                    "the array's elements are '" + header.typestr.substr(0, 40) +
                        "', which is no plain little-endian number; convert it with astype before it is saved");
    header.item_bytes = *item;
    std::uint64_t wanted = *item;
    for (const std::int64_t extent : header.shape) {
        if (__builtin_mul_overflow(wanted, static_cast<std::uint64_t>(extent), &wanted)) {
            fail_damaged("its shape holds more elements than there are addresses");
        }
    }
    TRICODEC_EXPECT(total_bytes - header.header_bytes == wanted, corrupt_data,
                    "the .npy header promises " + std::to_string(wanted) + " bytes of elements; there are " +
                        std::to_string(total_bytes - header.header_bytes));
    return header;
}

}  // namespace tricodec
