// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cctype>
#include <charconv>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <span>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "common/arguments.h"
#include "ops/video_file.h"
#include "tricodec/base/error.h"
#include "tricodec/io/media_source.h"

namespace tricodec::plugin {
namespace {

constexpr std::int64_t kMostLabelBytes = 32;

/// A file inside an archive.
struct ArchiveMember {
    std::string extension;  ///< after the first dot of its name: "mp4", "left.png"
    std::string name;       ///< empty where the index does not have it
    std::int64_t offset_bytes = 0;
    std::int64_t size_bytes = 0;
};

/// The files of one sample of a webdataset: their names differ in the extension only.
using WebdatasetSample = std::vector<ArchiveMember>;

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

/// The samples of a tar archive, from its index in the format of DALI's wds2idx, versions 1.1 and 1.2. The archive is
/// not read. Throws Error(not_found) if the index cannot be read, Error(corrupt_data) if it is no such index.
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

std::vector<std::string> split(const std::string& text) {
    std::vector<std::string> words;
    std::istringstream parts(text);
    for (std::string word; std::getline(parts, word, ';');) words.push_back(word);
    return words;
}

const ArchiveMember* find_member(const WebdatasetSample& sample, const std::vector<std::string>& extensions) {
    const auto found = std::ranges::find_if(sample, [&](const ArchiveMember& member) {
        return std::ranges::find(extensions, member.extension) != extensions.end();
    });
    return found == sample.end() ? nullptr : &*found;
}

std::int64_t read_label(const std::string& archive, const ArchiveMember& member, const std::string& where) {
    TRICODEC_EXPECT(member.size_bytes <= kMostLabelBytes, invalid_argument,
                    where + " has a label of " + std::to_string(member.size_bytes) + " bytes; a number as text is one");
    const auto part = source_of_file_part(archive, member.offset_bytes, member.size_bytes, where).open();
    std::string text(static_cast<std::size_t>(member.size_bytes), ' ');
    text.resize(part->read(std::as_writable_bytes(std::span(text))));
    text.erase(std::find_if(text.rbegin(), text.rend(), [](unsigned char c) { return std::isspace(c) == 0; }).base(),
               text.end());
    std::int64_t label = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), label);
    TRICODEC_EXPECT(error == std::errc() && end == text.data() + text.size(), invalid_argument,
                    where + " holds '" + text + "', which is no label: a number as text is one");
    return label;
}

void add_videos(const ::dali::OpSpec& spec, const std::string& archive, const std::string& index,
                std::vector<VideoFile>& files) {
    const auto extensions = split(spec.GetArgument<std::string>("ext"));
    const auto label_extension = spec.GetArgument<std::string>("label_ext");
    const bool skips = word_argument(spec, "missing_component_behavior", {"error", "skip"}) == "skip";
    const auto samples = read_webdataset_index(index);
    for (std::size_t i = 0; i < samples.size(); ++i) {
        const std::string where = "sample " + std::to_string(i) + " of '" + archive + "'";
        const auto* video = find_member(samples[i], extensions);
        if (video == nullptr && skips) continue;
        TRICODEC_EXPECT(video != nullptr, invalid_argument,
                        where + " has no file with an extension of ext '" + spec.GetArgument<std::string>("ext") +
                            "'; missing_component_behavior=\"skip\" leaves such samples out");
        const auto name = video->name.empty() ? std::to_string(i) + "." + video->extension : video->name;
        VideoFile file{.location = {archive, name, video->offset_bytes, video->size_bytes}};
        if (!label_extension.empty()) {
            const auto* label = find_member(samples[i], {label_extension});
            TRICODEC_EXPECT(label != nullptr, invalid_argument,
                            where + " has no file with the extension '" + label_extension + "' of label_ext");
            file.label = read_label(archive, *label, where);
        }
        files.push_back(std::move(file));
    }
}

}  // namespace

std::vector<VideoFile> list_archive_videos(const ::dali::OpSpec& spec) {
    const auto archives = spec.GetRepeatedArgument<std::string>("paths");
    std::vector<std::string> indexes;
    if (spec.ArgumentDefined("index_paths")) indexes = spec.GetRepeatedArgument<std::string>("index_paths");
    TRICODEC_EXPECT(indexes.size() == archives.size(), invalid_argument,
                    "paths names " + std::to_string(archives.size()) + " archives, and index_paths " +
                        std::to_string(indexes.size()) +
                        " indexes; pass one for each archive, which DALI's wds2idx makes: wds2idx shard.tar shard.idx");
    std::vector<VideoFile> files;
    for (std::size_t i = 0; i < archives.size(); ++i) add_videos(spec, archives[i], indexes[i], files);
    TRICODEC_EXPECT(
        !files.empty(), invalid_argument,
        "the archives of paths hold no videos with an extension of ext '" + spec.GetArgument<std::string>("ext") + "'");
    return files;
}

}  // namespace tricodec::plugin
