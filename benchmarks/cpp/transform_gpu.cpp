// SPDX-License-Identifier: Apache-2.0
// Transform on a GPU: time of a batch against a copy of as many bytes within the device, taken in turn.
//
//   tricodec_transform_gpu [NAME_PART [CLIP]]   JSON on the standard output: cases with NAME_PART in the name; with
//   CLIP,
//                                               NV12 of 1080p, also of frames as a read of it leaves them in memory
#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <numeric>
#include <random>
#include <span>
#include <string>
#include <vector>

#include "base/cuda/context.h"
#include "base/cuda/driver.h"
#include "tricodec/image/transform.h"
#include "tricodec/video/frame_reader.h"

namespace {

using namespace tricodec;

constexpr Device kGpu{Device::Kind::cuda, 0};
constexpr int kFrames = 32;
constexpr int kSets = 2;      // in turn, so that no batch finds its bytes in the cache
constexpr int kRepeats = 10;  // between two events
constexpr int kSamples = 9;
constexpr double kWarmUpMs = 60;  // clocks rise from idle in some tens of milliseconds, and fall while frames are made

struct Case {
    std::string name;
    PixelFormat format = PixelFormat::nv12;
    int width = 1920;
    int height = 1080;
    TransformOptions options;
    std::string clip{};  // frames are read from it, where it is named
};

/// Milliseconds between two points of a stream's work.
class Timer {
public:
    explicit Timer(StreamView stream) : stream_(stream) {
        for (auto& event : events_) cuda::check(cuda::api().event_create(&event, 0), "making an event");
    }
    void start() { record(0); }
    void stop() { record(1); }
    double ms() {
        cuda::check(cuda::api().event_synchronize(events_[1]), "waiting");
        float ms = 0;
        cuda::check(cuda::api().event_elapsed_ms(&ms, events_[0], events_[1]), "timing");
        return static_cast<double>(ms);
    }
    double stop_ms() {
        stop();
        return ms();
    }

private:
    void record(std::size_t i) {
        cuda::check(cuda::api().event_record(events_[i], cuda::handle_of(stream_)), "timing");
    }
    StreamView stream_;
    std::array<cuda::EventHandle, 2> events_{};
};

/// Holds a stream's work back until it is opened, so that the GPU does all of it without waiting for the host.
class Gate {
public:
    explicit Gate(StreamView stream) {
        cuda::check(cuda::api().launch_host_function(
                        cuda::handle_of(stream), [](void* gate) { static_cast<Gate*>(gate)->open_.wait(false); }, this),
                    "holding the stream");
    }
    ~Gate() { open(); }
    Gate(const Gate&) = delete;
    Gate& operator=(const Gate&) = delete;
    void open() {
        open_ = true;
        open_.notify_all();
    }

private:
    std::atomic<bool> open_{false};
};

/// Frames of random samples, one after another in one piece of memory, each with its own Buffer.
std::vector<Frame> make_frames(const Case& each, StreamView stream) {
    const PixelFormatInfo& format = info(each.format);
    const auto size = static_cast<std::size_t>(format.packed_bytes(each.width, each.height));
    const std::size_t apart = (size + 511) / 512 * 512;
    std::vector<std::uint8_t> bytes(size);
    std::mt19937 random(1);
    for (std::size_t i = 0; i < size; i += format.bytes_per_sample) {
        const auto sample = static_cast<std::uint16_t>((random() & ((1U << format.depth) - 1U)) << format.shift);
        std::memcpy(&bytes[i], &sample, format.bytes_per_sample);
    }
    const auto memory = Buffer::allocate(apart * kFrames, kGpu, stream);
    std::vector<Frame> frames;
    for (int i = 0; i < kFrames; ++i) {
        std::byte* at = memory->data() + static_cast<std::size_t>(i) * apart;
        cuda::check(cuda::api().copy_async(at, bytes.data(), size, cuda::handle_of(stream)), "uploading");
        Frame frame;
        frame.format = each.format;
        frame.width = each.width;
        frame.height = each.height;
        frame.device = kGpu;
        frame.color.matrix = ColorMatrix::bt709;
        frame.buffer = Buffer::borrow(at, size, memory, kGpu, stream);
        frame.owner = frame.buffer;
        for (int plane = 0; plane < format.num_planes; ++plane) {
            const std::int64_t stride = format.row_bytes(plane, each.width);
            frame.planes[static_cast<std::size_t>(plane)] = {at, stride};
            at += stride * format.plane_height(plane, each.height);
        }
        frames.push_back(frame);
    }
    return frames;
}

/// Sets of frames that a read has put where its pool had room: those of several decoders, in any order of addresses.
std::vector<std::vector<Frame>> read_frames(const Case& each) {
    FrameReaderOptions options;
    options.device = "cuda";
    const auto reader = FrameReader::open(MediaSource::from_path(each.clip), options);
    std::vector<std::int64_t> numbers(kFrames * kSets);
    std::iota(numbers.begin(), numbers.end(), 0);
    const auto frames = reader->frames(numbers);
    std::vector<std::vector<Frame>> sets;
    for (int i = 0; i < kSets; ++i) sets.emplace_back(frames.begin() + i * kFrames, frames.begin() + (i + 1) * kFrames);
    for (const auto& frame : frames) frame.buffer->wait();
    return sets;
}

/// The least that must be moved: the samples of the crop and the output.
double bytes_of(const Case& each, const Transform& transform) {
    const auto shape = transform.output_shape(each.width, each.height, {});
    double out = static_cast<double>(size_of(each.options.dtype));
    for (const auto extent : shape) out *= static_cast<double>(extent);
    const Crop crop = each.options.crop.value_or(Crop{0, 0, each.height, each.width});
    return kFrames * (out + static_cast<double>(info(each.format).packed_bytes(crop.width, crop.height)));
}

std::string numbers(std::vector<double> values) {
    std::string text;
    for (const double value : values) text += (text.empty() ? "" : ", ") + std::to_string(value);
    return "[" + text + "]";
}

double median(std::vector<double> values) {
    std::sort(values.begin(), values.end());
    return values[values.size() / 2];
}

/// Milliseconds of one of kRepeats calls on the GPU alone: it begins when the host has made all of them.
template <class Calls>
double held(Timer& timer, StreamView stream, const Calls& calls) {
    Gate gate(stream);
    timer.start();
    calls();
    timer.stop();
    gate.open();
    return timer.ms() / kRepeats;
}

void measure(const Case& each, const cuda::Stream& stream, bool first) {
    const Transform transform(each.options);
    std::vector<std::vector<Frame>> sets;
    std::vector<std::vector<Frame>> plain;  // the same without buffers: no events, the kernel alone
    std::vector<Tensor> outs;
    auto shape = transform.output_shape(each.width, each.height, {});
    shape.insert(shape.begin(), kFrames);
    const auto read = each.clip.empty() ? std::vector<std::vector<Frame>>() : read_frames(each);
    for (int i = 0; i < kSets; ++i) {
        sets.push_back(read.empty() ? make_frames(each, stream) : read[static_cast<std::size_t>(i)]);
        plain.push_back(sets.back());
        for (Frame& frame : plain.back()) frame.buffer.reset();
        outs.push_back(Tensor::empty(shape, each.options.dtype, kGpu, stream));
    }
    const double bytes = bytes_of(each, transform);
    const auto half = static_cast<std::size_t>(bytes / 2);
    const auto from = Buffer::allocate(half, kGpu, stream);
    const auto to = Buffer::allocate(half, kGpu, stream);
    const auto run = [&](const std::vector<std::vector<Frame>>& frames) {
        for (int i = 0; i < kRepeats; ++i) {
            const auto set = static_cast<std::size_t>(i % kSets);
            transform(std::span<const Frame>(frames[set]), outs[set].view, stream);
        }
    };
    const auto copy = [&] {
        for (int i = 0; i < kRepeats; ++i) {
            cuda::check(cuda::api().copy_async(to->data(), from->data(), half, cuda::handle_of(stream)), "copying");
        }
    };
    Timer timer(stream);
    run(plain);
    run(sets);
    copy();
    for (double warm_ms = 0; warm_ms < kWarmUpMs;) {
        timer.start();
        run(plain);
        copy();
        warm_ms += timer.stop_ms();
    }
    std::vector<double> ours;
    std::vector<double> copies;
    std::vector<double> tracked;
    std::vector<double> host;
    for (int i = 0; i < kSamples; ++i) {
        ours.push_back(held(timer, stream, [&] { run(plain); }));
        copies.push_back(held(timer, stream, copy));
        timer.start();
        const auto before = std::chrono::steady_clock::now();
        run(sets);
        const std::chrono::duration<double, std::milli> called = std::chrono::steady_clock::now() - before;
        tracked.push_back(timer.stop_ms() / kRepeats);
        host.push_back(called.count() / kRepeats);
    }
    std::printf(
        "%s  {\"name\": \"%s\", \"transform\": \"%s\", \"frames\": %d, \"bytes\": %.0f, \"ms\": %s, \"copy_ms\": %s,"
        " \"with_events_ms\": %s, \"host_ms\": %s, \"gigabytes_per_second\": %.0f, \"of_copy\": %.3f}",
        first ? "" : ",\n", each.name.c_str(), transform.describe().c_str(), kFrames, bytes, numbers(ours).c_str(),
        numbers(copies).c_str(), numbers(tracked).c_str(), numbers(host).c_str(), bytes / median(ours) / 1e6,
        median(copies) / median(ours));
    std::fflush(stdout);
    std::fprintf(stderr, "%-34s %8.3f ms  %6.0f GB/s  %5.3f of copy (%.3f ms), with events %.3f, host %.3f\n",
                 each.name.c_str(), median(ours), bytes / median(ours) / 1e6, median(copies) / median(ours),
                 median(copies), median(tracked), median(host));
}

std::vector<Case> cases(const std::string& clip) {
    std::vector<Case> all;
    const auto add = [&](const std::string& name, PixelFormat format, TransformOptions options) -> Case& {
        all.push_back({name, format, 1920, 1080, std::move(options)});
        return all.back();
    };
    const std::vector<std::pair<DType, const char*>> dtypes{{DType::uint8, "uint8"},
                                                            {DType::float16, "float16"},
                                                            {DType::bfloat16, "bfloat16"},
                                                            {DType::float32, "float32"}};
    const std::vector<std::pair<Layout, const char*>> layouts{{Layout::hwc, "hwc"}, {Layout::chw, "chw"}};
    for (const auto& [dtype, dtype_name] : dtypes) {
        for (const auto& [layout, layout_name] : layouts) {
            TransformOptions options;
            options.dtype = dtype;
            options.layout = layout;
            const std::string tail = std::string("_") + dtype_name + "_" + layout_name;
            add("nv12_1080p_rgb" + tail, PixelFormat::nv12, options);
            add("p010le_1080p_rgb" + tail, PixelFormat::p010le, options);
            options.size = Size{224, 224};
            add("nv12_1080p_224" + tail, PixelFormat::nv12, options);
            if (dtype != DType::bfloat16 && layout == Layout::chw) {
                add("p010le_1080p_224" + tail, PixelFormat::p010le, options);
                options.size = Size{720, 1280};
                add("nv12_1080p_720p" + tail, PixelFormat::nv12, options);
                options.size = Size{224, 224};
                options.crop = Crop{101, 333, 777, 777};
                add("nv12_crop_224" + tail, PixelFormat::nv12, options);
            }
        }
    }
    TransformOptions options;
    add("yuv420p_1080p_rgb_uint8_hwc", PixelFormat::yuv420p, options);
    add("yuv444p_1080p_rgb_uint8_hwc", PixelFormat::yuv444p, options);
    add("p016le_1080p_rgb_uint8_hwc", PixelFormat::p016le, options);
    add("nv12_854x480_rgb_uint8_hwc", PixelFormat::nv12, options).width = 854;
    all.back().height = 480;
    options.color = OutputColor::gray;
    add("nv12_1080p_gray_uint8_hwc", PixelFormat::nv12, options);
    options = {};
    options.dtype = DType::float16;
    options.layout = Layout::hwc8;
    add("nv12_1080p_rgb_float16_hwc8", PixelFormat::nv12, options);
    options.layout = Layout::chw2;
    add("nv12_1080p_rgb_float16_chw2", PixelFormat::nv12, options);
    options.layout = Layout::chw;
    options.resize = Resize::bicubic;
    options.size = Size{224, 224};
    add("nv12_1080p_224_bicubic_float16_chw", PixelFormat::nv12, options);
    if (clip.empty()) return all;
    for (const auto& [dtype, dtype_name] : dtypes) {
        if (dtype == DType::bfloat16) continue;
        options = {};
        options.dtype = dtype;
        options.layout = Layout::chw;
        options.size = Size{224, 224};
        add(std::string("nv12_1080p_224_of_reader_") + dtype_name + "_chw", PixelFormat::nv12, options).clip = clip;
    }
    return all;
}

}  // namespace

int main(int argc, char** argv) {
    const std::string part = argc > 1 ? argv[1] : "";
    const auto context = cuda::Context::primary(0);
    const cuda::ContextScope scope(*context);
    const cuda::Stream stream(context);
    std::printf("{\"gpu\": \"%s\", \"driver\": %d, \"cases\": [\n", context->properties().name.c_str(),
                cuda::api().driver_version);
    bool first = true;
    for (const Case& each : cases(argc > 2 ? argv[2] : "")) {
        if (each.name.find(part) == std::string::npos) continue;
        measure(each, stream, first);
        first = false;
    }
    std::printf("\n]}\n");
    return 0;
}
