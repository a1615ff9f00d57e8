// SPDX-License-Identifier: Apache-2.0
/// A saved index with a right checksum and any content: its numbers, and a reader that is given it for a file.
///
/// An input is the file, then what the index holds after its source's digest, then the length of that in two bytes.
#include <algorithm>
#include <memory>

#include "fuzzing.h"
#include "index/index_file.h"
#include "tricodec/read/frame_reader.h"

namespace tricodec::fuzzing {
namespace {

constexpr std::int64_t kMostFrames = 40;

std::unique_ptr<FrameReader> open(Bytes file, std::shared_ptr<const FrameIndex> index = nullptr) {
    FrameReaderOptions options;
    options.device = "cpu";
    options.num_workers = 1;
    options.known_index = std::move(index);
    return FrameReader::open(source_of(file), options);
}

/// The index file of that source: its magic and the source's digest, the content, a right checksum.
std::vector<std::byte> signed_file(Bytes content, const Digest::Value& source) {
    auto bytes = serialize(StreamIndex::from_contents({}), source);
    const auto digest = std::search(bytes.begin(), bytes.end(), source.begin(), source.end());
    bytes.erase(digest + static_cast<std::ptrdiff_t>(source.size()), bytes.end());
    bytes.insert(bytes.end(), content.begin(), content.end());
    Digest sum;
    sum.add(bytes);
    const auto signature = sum.finish();
    bytes.insert(bytes.end(), signature.begin(), signature.end());
    return bytes;
}

void use(const StreamIndex& index, const Digest::Value& source) {
    for (std::int64_t i = 0; i < index.num_frames(); ++i) {
        const auto entry = index.entry_for(i);
        require(entry >= 0 && entry < index.num_packets(), "an entry that is no packet");
        require(index.last_packet_for(i) < index.num_packets(), "a last packet that is no packet");
        require(index.frame(i).packet < index.num_packets(), "a frame of a packet that is not there");
        (void)index.is_open(entry);
    }
    for (const auto number : index.entry_frames()) {
        require(number >= 0 && number < index.num_frames(), "an entry at a frame that is not there");
    }
    const auto again = deserialize(serialize(index, source), source);
    require(again.num_packets() == index.num_packets(), "an index that has other packets when it is saved");
}

void read(FrameReader& reader) {
    (void)succeeds([&] { (void)reader.key_frames(), (void)reader.pts_seconds(), (void)reader.index_at(0.2); });
    for (std::int64_t i = std::min(reader.num_frames(), kMostFrames) - 1; i >= 0; i -= 3) {
        (void)succeeds([&] { (void)reader.frame(i); });
    }
    const auto iterator = reader.iterate({0, 1, -1});
    for (std::int64_t i = 0; i < kMostFrames && iterator->next(); ++i) {
    }
}

void run(Choices& choices) {
    const auto length = choices.byte() * 256 + choices.byte();
    const auto content = choices.take(length);
    const auto file = choices.rest();
    Digest::Value source{};
    if (!succeeds([&] {
            const auto reader = open(file);
            source = fingerprint(source_of(file), reader->info(), reader->stream(), false);
        })) {
        return;
    }
    const auto index = std::make_shared<const StreamIndex>(deserialize(signed_file(content, source), source));
    use(*index, source);
    read(*open(file, std::make_shared<const FrameIndex>(index, source)));
}

}  // namespace

void try_input(Bytes input) {
    Choices choices(input);
    (void)succeeds([&] { run(choices); });
}

}  // namespace tricodec::fuzzing
