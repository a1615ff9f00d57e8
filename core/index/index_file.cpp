// SPDX-License-Identifier: Apache-2.0
#include "index/index_file.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>

#include "ffmpeg/stream_info.h"
#include "tricodec/base/limits.h"
#include "tricodec/base/log.h"
#include "tricodec/base/output_file.h"

namespace tricodec {
namespace {

constexpr std::string_view kMagic = "tricodec index 5\n";  // another number where the fields change
constexpr std::string_view kName = kMagic.substr(0, 15);   // what all of them begin with
constexpr std::int64_t kFingerprintBytes = 64 * 1024;
constexpr int kLargestVarint = 10;
constexpr std::int64_t kLongestText = 1024;

enum PacketFlags : std::uint8_t {
    kEntry = 1,
    kShowsFrame = 2,
    kNonReference = 4,
    kOpenEntry = 8,
    kPartlyReferenced = 16,
    kSlots = 32,
    kListed = 64  // only the container's table is known
};
enum IndexFlags : std::uint8_t { kUncertain = 1, kScanned = 2, kCounted = 4, kParametersChange = 8 };

/// Numbers of seven bits a byte, signed ones folded so that small differences are short.
class Writer {
public:
    void unsigned_number(std::uint64_t value) {
        for (; value >= 0x80; value >>= 7) byte(static_cast<std::uint8_t>(value | 0x80));
        byte(static_cast<std::uint8_t>(value));
    }
    void number(std::int64_t value) {
        unsigned_number(static_cast<std::uint64_t>(value) << 1 ^ static_cast<std::uint64_t>(value >> 63));
    }
    void text(std::string_view value, std::int64_t longest) {
        value = value.substr(0, static_cast<std::size_t>(longest));
        unsigned_number(value.size());
        raw(std::as_bytes(std::span(value)));
    }
    void byte(std::uint8_t value) { bytes_.push_back(static_cast<std::byte>(value)); }
    void raw(std::span<const std::byte> bytes) { bytes_.insert(bytes_.end(), bytes.begin(), bytes.end()); }
    [[nodiscard]] std::vector<std::byte>& bytes() { return bytes_; }

private:
    std::vector<std::byte> bytes_;
};

class Reader {
public:
    explicit Reader(std::span<const std::byte> bytes) : bytes_(bytes) {}

    std::uint8_t byte() {
        TRICODEC_EXPECT(!bytes_.empty(), corrupt_data, "it ends early");
        const auto value = std::to_integer<std::uint8_t>(bytes_.front());
        bytes_ = bytes_.subspan(1);
        return value;
    }
    std::uint64_t unsigned_number() {
        std::uint64_t value = 0;
        for (int i = 0; i < kLargestVarint; ++i) {
            const auto next = byte();
            value |= std::uint64_t{next & 0x7fU} << (7 * i);
            if ((next & 0x80) == 0) return value;
        }
        fail(ErrorCode::corrupt_data, "a number in it does not end");
    }
    std::int64_t number() {
        const auto folded = unsigned_number();
        return static_cast<std::int64_t>(folded >> 1 ^ (~(folded & 1) + 1));
    }
    std::int64_t count(std::int64_t most, const char* what) {
        const auto value = unsigned_number();
        TRICODEC_EXPECT(
            value <= static_cast<std::uint64_t>(most), corrupt_data,
            "it claims " + std::to_string(value) + " " + what + "; the most accepted is " + std::to_string(most));
        return static_cast<std::int64_t>(value);
    }
    std::string text(std::int64_t longest) {
        std::string value(static_cast<std::size_t>(count(longest, "bytes of a text")), '\0');
        for (auto& letter : value) letter = static_cast<char>(byte());
        return value;
    }
    [[nodiscard]] std::size_t left() const noexcept { return bytes_.size(); }

private:
    std::span<const std::byte> bytes_;
};

/// The difference to the value before, computed without overflow (time stamps may be anything).
struct Delta {
    std::int64_t last = 0;
    std::int64_t of(std::int64_t value) {
        const auto difference =
            static_cast<std::int64_t>(static_cast<std::uint64_t>(value) - static_cast<std::uint64_t>(last));
        last = value;
        return difference;
    }
    std::int64_t undo(std::int64_t difference) {
        last = static_cast<std::int64_t>(static_cast<std::uint64_t>(last) + static_cast<std::uint64_t>(difference));
        return last;
    }
};

struct PacketDeltas {
    Delta pts;
    Delta dts;
    Delta pos;
    Delta duration;
};

Digest::Value digest_of(std::span<const std::byte> bytes) {
    Digest digest;
    digest.add(bytes);
    return digest.finish();
}

}  // namespace

std::int64_t size_bytes(const FrameIndex& index) noexcept {
    // Of a packet also its position to be found by; of a frame also its place among the packets.
    constexpr std::size_t kPacketBytes = sizeof(IndexedPacket) + 2 * sizeof(std::int64_t);
    constexpr std::size_t kFrameBytes = sizeof(IndexedFrame) + sizeof(std::int64_t);
    const auto& known = *index.index();
    return static_cast<std::int64_t>(known.packets().size() * kPacketBytes + known.frames().size() * kFrameBytes);
}

Digest::Value fingerprint(const MediaSource& source, const MediaInfo& info, const StreamInfo& stream,
                          bool ignore_edit_list) {
    Digest digest;
    digest.add(std::int64_t{LIBAVFORMAT_VERSION_MAJOR});  // packets are cut and timed by it
    digest.add(info.format_name);
    digest.add(info.size_bytes);
    digest.add(std::int64_t{stream.index});
    digest.add(stream.codec_name);
    digest.add(stream.time_base.num);
    digest.add(stream.time_base.den);
    digest.add(std::int64_t{ignore_edit_list});
    if (source.reopenable()) {  // an object that can only be read once is known by its size and headers
        const auto reader = source.open();
        std::vector<std::byte> bytes(static_cast<std::size_t>(kFingerprintBytes));
        const auto add_from = [&](std::int64_t position) {
            reader->seek(position);
            std::size_t filled = 0;
            while (filled < bytes.size()) {
                const auto count = reader->read(std::span(bytes).subspan(filled));
                if (count == 0) break;
                filled += count;
            }
            digest.add(std::span<const std::byte>(bytes).first(filled));
        };
        add_from(0);
        const auto size_bytes = reader->size_bytes().value_or(0);
        if (size_bytes > kFingerprintBytes) add_from(size_bytes - kFingerprintBytes);
    } else {
        digest.add(extradata_of(stream.parameters.get()));
    }
    return digest.finish();
}

std::vector<std::byte> serialize(const StreamIndex& index, const Digest::Value& source) {
    Writer out;
    out.raw(std::as_bytes(std::span(kMagic)));
    out.raw(source);
    const auto contents = index.contents();
    out.byte(static_cast<std::uint8_t>((contents.uncertain ? kUncertain : 0) | (contents.scanned ? kScanned : 0) |
                                       (contents.counted ? kCounted : 0) |
                                       (contents.parameters_change ? kParametersChange : 0)));
    out.text(contents.ends_early, kLongestText);
    out.unsigned_number(contents.packets.size());
    PacketDeltas deltas;
    for (const auto& packet : contents.packets) {
        out.byte(static_cast<std::uint8_t>((packet.entry ? kEntry : 0) | (packet.shows_frame ? kShowsFrame : 0) |
                                           (packet.non_reference ? kNonReference : 0) |
                                           (packet.open_entry ? kOpenEntry : 0) |
                                           (packet.referenced_bytes > 0 ? kPartlyReferenced : 0) |
                                           (packet.slots ? kSlots : 0) | (packet.inspected ? 0 : kListed)));
        out.number(deltas.pts.of(packet.pts));
        out.number(deltas.dts.of(packet.dts));
        out.number(deltas.pos.of(packet.pos));
        out.number(deltas.duration.of(packet.duration));
        out.unsigned_number(static_cast<std::uint64_t>(packet.size_bytes));
        if (packet.referenced_bytes > 0) out.unsigned_number(static_cast<std::uint64_t>(packet.referenced_bytes));
        if (packet.slots) {
            out.byte(packet.slots->reads);
            out.byte(packet.slots->writes);
        }
    }
    if (contents.scanned) {
        out.unsigned_number(contents.frames.size());
        Delta packet;
        Delta pts;
        Delta duration;
        for (const auto& frame : contents.frames) {
            out.number(packet.of(frame.packet));
            out.number(pts.of(frame.pts));
            out.number(duration.of(frame.duration));
        }
    }
    out.raw(digest_of(out.bytes()));
    return std::move(out.bytes());
}

FrameIndex deserialize(std::span<const std::byte> bytes) {
    const auto magic = std::as_bytes(std::span(kMagic));
    Digest::Value source{};
    const auto head = magic.size() + source.size();
    TRICODEC_EXPECT(bytes.size() > head + source.size() && std::ranges::equal(bytes.first(magic.size()), magic),
                    corrupt_data, "it is not an index of this version of tricodec");
    const auto body = bytes.first(bytes.size() - source.size());
    TRICODEC_EXPECT(std::ranges::equal(digest_of(body), bytes.subspan(body.size())), corrupt_data,
                    "its checksum does not match: it is damaged");
    std::ranges::copy(bytes.subspan(magic.size(), source.size()), source.begin());

    // Below, only a file that was made to deceive can fail.
    Reader in(body.subspan(head));
    StreamIndex::Contents contents;
    const auto flags = in.byte();
    contents.uncertain = (flags & kUncertain) != 0;
    contents.scanned = (flags & kScanned) != 0;
    contents.counted = (flags & kCounted) != 0;
    contents.parameters_change = (flags & kParametersChange) != 0;
    contents.ends_early = in.text(kLongestText);
    const auto most = std::min(limits().max_packets, static_cast<std::int64_t>(in.left()));
    const auto num_packets = in.count(most, "packets");
    contents.packets.reserve(static_cast<std::size_t>(num_packets));
    PacketDeltas deltas;
    for (std::int64_t k = 0; k < num_packets; ++k) {
        IndexedPacket packet;
        const auto kind = in.byte();
        packet.entry = (kind & kEntry) != 0;
        packet.shows_frame = (kind & kShowsFrame) != 0;
        packet.non_reference = (kind & kNonReference) != 0;
        packet.open_entry = (kind & kOpenEntry) != 0;
        packet.inspected = (kind & kListed) == 0;
        TRICODEC_EXPECT(packet.inspected || !contents.scanned, corrupt_data,
                        "its packets are those of a table, and its frames are not");
        packet.pts = deltas.pts.undo(in.number());
        packet.dts = deltas.dts.undo(in.number());
        packet.pos = deltas.pos.undo(in.number());
        packet.duration = deltas.duration.undo(in.number());
        packet.size_bytes = in.count(limits().max_packet_bytes, "bytes of a packet");
        if ((kind & kPartlyReferenced) != 0) packet.referenced_bytes = in.count(packet.size_bytes, "bytes of a packet");
        if ((kind & kSlots) != 0) {
            const auto reads = in.byte();
            packet.slots = SlotUse{reads, in.byte()};
        }
        contents.packets.push_back(packet);
    }
    if (contents.scanned) {
        const auto num_frames =
            in.count(std::min(limits().max_packets, static_cast<std::int64_t>(in.left())), "frames");
        Delta packet;
        Delta pts;
        Delta duration;
        for (std::int64_t i = 0; i < num_frames; ++i) {
            IndexedFrame frame;
            frame.packet = packet.undo(in.number());
            TRICODEC_EXPECT(frame.packet >= -1 && frame.packet < num_packets, corrupt_data,
                            "frame " + std::to_string(i) + " in it comes from packet " + std::to_string(frame.packet) +
                                " of " + std::to_string(num_packets));
            frame.pts = pts.undo(in.number());
            frame.duration = duration.undo(in.number());
            contents.frames.push_back(frame);
        }
    }
    TRICODEC_EXPECT(in.left() == 0, corrupt_data, std::to_string(in.left()) + " bytes follow its end");
    return {std::make_shared<const StreamIndex>(StreamIndex::from_contents(std::move(contents))), source};
}

StreamIndex deserialize(std::span<const std::byte> bytes, const Digest::Value& source) {
    const auto index = deserialize(bytes);
    TRICODEC_EXPECT(index.source() == source, corrupt_data,
                    "it is of another source, stream or reading of the edit list");
    return *index.index();
}

std::vector<std::byte> to_bytes(const FrameIndex& index) {
    return serialize(*index.index(), index.source());
}

std::shared_ptr<const FrameIndex> frame_index_of(std::span<const std::byte> bytes) {
    return std::make_shared<const FrameIndex>(deserialize(bytes));
}

std::array<std::byte, 32> source_checksum(const FrameIndex& index) noexcept {
    return index.source();
}

void expect_index_or_nothing(const std::filesystem::path& path) {
    std::error_code missing;
    if (!std::filesystem::is_regular_file(path, missing)) return;
    std::string head(kName.size(), '\0');
    std::ifstream file(path, std::ios::binary);
    TRICODEC_EXPECT(file.is_open(), io, "reading the index '" + path.string() + "' failed: " + std::strerror(errno));
    file.read(head.data(), static_cast<std::streamsize>(head.size()));
    // One that is cut off is an index all the same.
    TRICODEC_EXPECT(kName.starts_with(std::string_view(head).substr(0, static_cast<std::size_t>(file.gcount()))),
                    invalid_argument,
                    "'" + path.string() +
                        "' is not an index of tricodec, and stays unchanged; name a new file for the index, or one "
                        "that save_index() or FrameReader(index=) wrote");
}

void save_index_file(const std::filesystem::path& path, const StreamIndex& index, const Digest::Value& source,
                     unsigned permissions) {
    expect_index_or_nothing(path);
    OutputFile file(path, (permissions | 0200) & 0666);  // of a read-only video, too, it is replaced when that changes
    file.write(serialize(index, source));
    file.finish();
}

std::optional<StreamIndex> load_index_file(const std::filesystem::path& path, const Digest::Value& source) {
    std::error_code missing;
    if (!std::filesystem::is_regular_file(path, missing)) return std::nullopt;
    std::ifstream file(path, std::ios::binary);
    const std::string text((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
    TRICODEC_EXPECT(file.good() || file.eof(), io, "reading the index '" + path.string() + "' failed");
    try {
        return deserialize(std::as_bytes(std::span(text)), source);
    } catch (const Error& error) {
        if (error.code() != ErrorCode::corrupt_data) throw;
        log(LogLevel::info, "the index '" + path.string() + "' is built again: " + error.what());
        return std::nullopt;
    }
}

}  // namespace tricodec
