// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

#include "tricodec/media/media_source.h"

namespace tricodec {

/// Some bytes of a regular file, as a source of their own: a member of an archive. They are read into memory. Throws
/// Error(not_found, io), Error(corrupt_data) if the file ends before they do.
[[nodiscard]] MediaSource source_of_file_part(const std::filesystem::path& path, std::int64_t offset_bytes,
                                              std::int64_t size_bytes, std::string name);

}  // namespace tricodec
