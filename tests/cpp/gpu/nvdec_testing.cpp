// SPDX-License-Identifier: Apache-2.0
#include "gpu/nvdec_testing.h"

#include <algorithm>
#include <cstdint>
#include <cstdlib>

#include "decode/engines.h"
#include "tricodec/image/transform.h"

namespace tricodec::testing {
namespace {

std::string words(const ColorDescription& color) {
    return std::string(to_string(color.matrix)) + "/" + std::string(to_string(color.primaries)) + "/" +
           std::string(to_string(color.transfer)) + "/" + std::string(to_string(color.range)) + "/" +
           std::string(to_string(color.chroma_location));
}

/// libavcodec does not notice everything.
bool is_named_damaged(const std::filesystem::path& path) {
    const auto name = path.filename().string();
    return name.starts_with("zeroed") || name.starts_with("flipped") || name.starts_with("truncated");
}

int largest_of(const std::vector<std::byte>& one, const std::vector<std::byte>& other) {
    int largest = 0;
    for (std::size_t k = 0; k < std::min(one.size(), other.size()); ++k) {
        largest = std::max(largest, std::abs(std::to_integer<int>(one[k]) - std::to_integer<int>(other[k])));
    }
    return largest;
}

int largest_difference(const std::vector<Frame>& cpu, const std::vector<Frame>& gpu) {
    int largest = 0;
    for (std::size_t i = 0; i < std::min(cpu.size(), gpu.size()); ++i) {
        largest = std::max(largest, largest_of(packed(convert_layout(cpu[i], gpu[i].format)), packed(gpu[i])));
    }
    return largest;
}

}  // namespace

std::unique_ptr<Demuxer> open(const std::filesystem::path& path) {
    return Demuxer::open(MediaSource::from_path(path));
}

std::vector<Packet> packets_of(const std::filesystem::path& path) {
    const auto demuxer = open(path);
    std::vector<Packet> packets;
    while (auto packet = demuxer->read()) packets.push_back(std::move(*packet));
    return packets;
}

std::vector<Frame> decode(const std::vector<Packet>& packets, Decoder& decoder) {
    std::vector<Frame> frames;
    std::int64_t tag = 0;
    const auto drain = [&] {
        while (auto frame = decoder.receive()) frames.push_back(std::move(*frame));
    };
    for (const auto& packet : packets) {
        decoder.send(packet, tag++);
        drain();
    }
    decoder.send_end();
    drain();
    return frames;
}

std::string difference(const std::vector<Frame>& cpu, const std::vector<Frame>& gpu, bool timed) {
    std::string text;
    if (cpu.size() != gpu.size()) {
        text += std::to_string(cpu.size()) + " frames by libavcodec, " + std::to_string(gpu.size()) + " by NVDEC; ";
    }
    std::size_t different = 0, first = 0, times = 0, tags = 0, keys = 0, types = 0, colors = 0;
    int largest = 0;
    for (std::size_t i = 0; i < std::min(cpu.size(), gpu.size()); ++i) {
        const auto& one = cpu[i];
        const auto& other = gpu[i];
        // Without presentation times libavcodec's guess depends on its delay; ours is the n-th decoding time.
        times += (timed && one.pts != other.pts) || one.duration != other.duration;
        tags += one.index != other.index;
        keys += one.key != other.key;
        types += one.picture_type != other.picture_type;
        if (one.color != other.color && colors++ == 0) {
            text += "color is " + words(other.color) + ", not " + words(one.color) + "; ";
        }
        if (one.width != other.width || one.height != other.height) {
            text += "frame " + std::to_string(i) + " is " + std::to_string(other.width) + "x" +
                    std::to_string(other.height) + ", not " + std::to_string(one.width) + "x" +
                    std::to_string(one.height) + "; ";
            break;
        }
        const auto expected = packed(convert_layout(one, other.format));
        const auto found = packed(other);
        if (expected == found) continue;
        if (different++ == 0) first = i;
        if (info(other.format).bytes_per_sample == 1) largest = std::max(largest, largest_of(expected, found));
    }
    const auto add = [&](std::size_t count, const char* what) {
        if (count != 0) text += std::to_string(count) + " frames differ in " + what + "; ";
    };
    add(different,
        ("samples (the first is " + std::to_string(first) + ", by at most " + std::to_string(largest) + ")").c_str());
    add(times, "time");
    add(tags, "tag");
    add(keys, "key");
    add(types, "picture type");
    add(colors, "color");
    return text;
}

Compared compare(const std::filesystem::path& path) {
    const auto stream = open(path)->stream();
    Compared result;
    result.refusal = nvdec::refusal(stream, kGpu.index);
    if (!result.refusal.empty()) return result;
    const auto packets = packets_of(path);
    const auto on_gpu = make_nv_decoder(stream, kGpu);
    const auto gpu = decode(packets, *on_gpu);
    const auto on_cpu = Decoder::create(stream, {"cpu", 1});
    const auto cpu = decode(packets, *on_cpu);
    result.damaged = !on_cpu->issues().empty() || is_named_damaged(path);
    result.num_frames = gpu.size();
    result.num_cpu_frames = cpu.size();
    if (!gpu.empty()) result.format = gpu[0].format;
    result.difference = difference(cpu, gpu, packets[0].pts != kNoTimestamp);
    if (!result.difference.empty() && !gpu.empty() && info(result.format).bytes_per_sample == 1) {
        result.largest = largest_difference(cpu, gpu);
    }
    if (!on_gpu->issues().empty()) {
        result.difference +=
            std::to_string(on_gpu->issues().size()) + " issues, the first: " + on_gpu->issues()[0].message;
    }
    return result;
}

}  // namespace tricodec::testing
