// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace tricodec {

/// A file inside an archive.
struct ArchiveMember {
    std::string extension;  ///< after the first dot of its name: "mp4", "left.png"
    std::string name;       ///< empty where the index does not have it
    std::int64_t offset_bytes = 0;
    std::int64_t size_bytes = 0;
};

/// The files of one sample of a webdataset: their names differ in the extension only.
using WebdatasetSample = std::vector<ArchiveMember>;

/// The samples of a tar archive, from its index in the format of DALI's wds2idx, versions 1.1 and 1.2. The archive is
/// not read. Throws Error(not_found, io) if the index cannot be read, Error(corrupt_data) if it is no such index.
[[nodiscard]] std::vector<WebdatasetSample> read_webdataset_index(const std::filesystem::path& path);

}  // namespace tricodec
