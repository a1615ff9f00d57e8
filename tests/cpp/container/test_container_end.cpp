// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cstring>
#include <string>

#include "container/container_end.h"

namespace tricodec {
namespace {

constexpr const char* kMp4 = "mov,mp4,m4a,3gp,3g2,mj2";
constexpr const char* kMatroska = "matroska,webm";

std::string of(const char* format, const std::string& bytes) {
    const auto source = MediaSource::from_bytes(std::as_bytes(std::span(bytes)), nullptr);
    return cut_short(format, *source.open());
}

std::string big(std::uint64_t value, int num_bytes) {
    std::string text;
    for (int i = num_bytes - 1; i >= 0; --i) text.push_back(static_cast<char>(value >> (8 * i)));
    return text;
}

std::string box(const std::string& type, const std::string& content) {
    return big(8 + content.size(), 4) + type + content;
}

/// With a length of eight bytes, all ones where it is open.
std::string element(const std::string& id, const std::string& content, bool open = false) {
    return id + (open ? std::string("\x01\xff\xff\xff\xff\xff\xff\xff") : "\x01" + big(content.size(), 7)) + content;
}

const std::string kSegment = "\x18\x53\x80\x67";
const std::string kCluster = "\x1f\x43\xb6\x75";
const std::string kBlock = "\xa3";

std::string fill(std::size_t size) {
    return std::string(size, 'x');
}

/// Every cut behind `first` is told, the whole is not.
void expect_every_cut_is_told(const char* format, const std::string& whole, std::size_t first) {
    EXPECT_EQ(of(format, whole), "");
    for (std::size_t size = first; size < whole.size(); ++size) {
        EXPECT_NE(of(format, whole.substr(0, size)), "") << format << " of " << size;
    }
}

TEST(ContainerEnd, of_an_mp4_may_have_64_bits_or_be_left_open) {
    const auto front = box("ftyp", fill(8)) + box("moov", fill(90));
    const auto whole = front + big(1, 4) + "mdat" + big(16 + 700, 8) + fill(700);
    expect_every_cut_is_told(kMp4, whole, front.size() + 16);
    EXPECT_EQ(of(kMp4, front + big(0, 4) + "mdat" + fill(30)), "");
}

TEST(ContainerEnd, of_an_mp4_is_not_what_a_camera_appended) {
    const auto whole = box("ftyp", fill(8)) + box("moov", fill(90)) + box("mdat", fill(70));
    EXPECT_EQ(of(kMp4, whole + big(1u << 30, 4) + "thmb" + fill(9)), "");
    EXPECT_EQ(of(kMp4, whole + std::string(20, '\0')), "");
    EXPECT_EQ(of(kMp4, whole + fill(3)), "");
}

TEST(ContainerEnd, of_live_matroska_is_its_last_cluster_or_block) {
    const auto front = element("\x1a\x45\xdf\xa3", fill(20)) + element(kSegment, "", true);
    const auto sized = element(kCluster, element(kBlock, fill(300)));
    const auto open = element(kCluster, "", true) + element(kBlock, fill(300));

    EXPECT_EQ(of(kMatroska, front), "");
    for (const auto& cluster : {sized, open}) {
        EXPECT_EQ(of(kMatroska, front + cluster), "");
        EXPECT_EQ(of(kMatroska, front + cluster + cluster), "");
        EXPECT_NE(of(kMatroska, front + cluster + cluster.substr(0, 200)), "");
        EXPECT_NE(of(kMatroska, front + cluster + cluster.substr(0, 3)), "");
        EXPECT_NE(of(kMatroska, front + cluster + cluster.substr(0, 7)), "");
    }
    EXPECT_EQ(of(kMatroska, front + sized + std::string(50, '\0')), "");  // no element begins so
}

TEST(ContainerEnd, of_others_is_not_known) {
    EXPECT_EQ(of("h264", fill(100)), "");
    EXPECT_EQ(of("mpegts", fill(100)), "");
}

/// Says that it has more bytes than it gives.
class Liar final : public ByteReader {
public:
    std::size_t read(std::span<std::byte> out) override {
        if (position_ >= 16) return 0;
        const std::string bytes = box("free", fill(8));
        const auto count = std::min<std::size_t>(out.size(), static_cast<std::size_t>(16 - position_));
        std::memcpy(out.data(), bytes.data() + position_, count);
        position_ += static_cast<std::int64_t>(count);
        return count;
    }
    void seek(std::int64_t position) override { position_ = position; }
    [[nodiscard]] std::optional<std::int64_t> size_bytes() const override { return 1000; }
    [[nodiscard]] bool seekable() const override { return true; }

private:
    std::int64_t position_ = 0;
};

TEST(ContainerEnd, survives_a_reader_that_gives_less_than_it_says) {
    for (const char* format : {kMp4, kMatroska}) {
        Liar reader;
        static_cast<void>(cut_short(format, reader));
    }
}

}  // namespace
}  // namespace tricodec
