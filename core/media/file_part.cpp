// SPDX-License-Identifier: Apache-2.0
#include "tricodec/media/file_part.h"

#include <cstddef>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "tricodec/base/error.h"

namespace tricodec {

MediaSource source_of_file_part(const std::filesystem::path& path, std::int64_t offset_bytes, std::int64_t size_bytes,
                                std::string name) {
    const auto file = MediaSource::from_path(path).open();
    const auto file_bytes = file->size_bytes().value_or(0);
    // Checked before memory is taken.
    const bool inside =
        offset_bytes >= 0 && size_bytes >= 0 && offset_bytes <= file_bytes && size_bytes <= file_bytes - offset_bytes;
    const auto message = "'" + path.string() + "' has " + std::to_string(file_bytes) + " bytes, and not the " +
                         std::to_string(size_bytes) + " from byte " + std::to_string(offset_bytes) +
                         " on; make its index again";
    TRICODEC_EXPECT(inside, corrupt_data, message);
    auto part = std::make_shared<std::vector<std::byte>>(static_cast<std::size_t>(size_bytes));
    file->seek(offset_bytes);
    for (std::span<std::byte> left(*part); !left.empty();) {
        const auto num_read = file->read(left);
        TRICODEC_EXPECT(num_read > 0, corrupt_data, message);
        left = left.subspan(num_read);
    }
    const std::span<const std::byte> bytes(*part);
    return MediaSource::from_bytes(bytes, std::move(part), std::move(name));
}

}  // namespace tricodec
