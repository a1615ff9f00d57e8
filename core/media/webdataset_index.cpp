// SPDX-License-Identifier: Apache-2.0
#include "tricodec/media/webdataset_index.h"

#include <fstream>
#include <sstream>
#include <utility>

#include "tricodec/base/error.h"

namespace tricodec {
namespace {

/// Extension, offset and size, and the name in version 1.2, of each file of the sample.
WebdatasetSample read_sample(const std::string& line, bool with_names, const std::string& where) {
    WebdatasetSample sample;
    std::istringstream words(line);
    for (ArchiveMember member; words >> member.extension; sample.push_back(std::move(member))) {
        bool read = static_cast<bool>(words >> member.offset_bytes >> member.size_bytes);
        if (with_names) read = read && static_cast<bool>(words >> member.name);
        TRICODEC_EXPECT(read && member.offset_bytes >= 0 && member.size_bytes >= 0, corrupt_data,
                        where + " is '" + line + "'; a line has an extension, an offset, a size" +
                            (with_names ? " and a name" : "") + " for each file of a sample");
    }
    TRICODEC_EXPECT(!sample.empty(), corrupt_data, where + " is empty; a line has the files of a sample");
    return sample;
}

}  // namespace

std::vector<WebdatasetSample> read_webdataset_index(const std::filesystem::path& path) {
    const std::string name = "the index '" + path.string() + "'";
    std::ifstream lines(path);
    TRICODEC_EXPECT(lines, not_found, name + " cannot be read; DALI's wds2idx makes it: wds2idx shard.tar shard.idx");
    std::string line;
    std::string version;
    std::int64_t num_samples = -1;
    std::getline(lines, line);
    std::istringstream header(line);
    const bool known = (header >> version >> num_samples) && num_samples >= 0;
    TRICODEC_EXPECT(known && (version == "v1.1" || version == "v1.2"), corrupt_data,
                    name + " begins with '" + line.substr(0, 40) +
                        "'; an index of DALI's wds2idx begins with v1.1 or v1.2 and the number of samples");
    std::vector<WebdatasetSample> samples;
    while (std::getline(lines, line)) {
        samples.push_back(
            read_sample(line, version == "v1.2", "line " + std::to_string(samples.size() + 2) + " of " + name));
    }
    TRICODEC_EXPECT(static_cast<std::int64_t>(samples.size()) == num_samples, corrupt_data,
                    name + " has " + std::to_string(samples.size()) + " samples, and its first line says " +
                        std::to_string(num_samples) + "; make it again with DALI's wds2idx");
    return samples;
}

}  // namespace tricodec
