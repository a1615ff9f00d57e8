// SPDX-License-Identifier: Apache-2.0
// Transform on its hot path: one plan, a ring of frames and outputs that stay in memory.
//
//   tricodec_kernel_cases list                 the names of the cases, in the order of `count`
//   tricodec_kernel_cases time [NAME...]       milliseconds of a thread a frame, minimum and median
//   tricodec_kernel_cases threads [NAME...]    frames a second with 1 and with 2 threads
//   tricodec_kernel_cases count [NAME...]      each case once after a warm-up, an eighth of a picture: run under
//   valgrind by
//                                              benchmarks/instructions.py, which counts the instructions inside
//                                              measured_frame()
//   tricodec_kernel_cases compiler             what compiled it: "g++ 12"
#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <ctime>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "tricodec/base/error.h"
#include "tricodec/image/transform.h"

// Two steps, so that a macro is replaced before it is quoted.
#define TRICODEC_QUOTED(NAME) #NAME
#define TRICODEC_TEXT(NAME) TRICODEC_QUOTED(NAME)

namespace {

using namespace tricodec;

constexpr int kRing = 16;

struct Case {
    std::string_view name;
    PixelFormat format;
    TransformOptions options;
    Orientation orientation{};
    std::optional<PixelFormat> converted{};  ///< convert_layout() to this in place of a transform
};

TransformOptions to_model(DType dtype, Layout layout, Resize resize = Resize::bilinear) {
    TransformOptions options;
    options.size = Size{224, 224};
    options.resize = resize;
    options.dtype = dtype;
    options.layout = layout;
    options.mean = {0.485F, 0.456F, 0.406F};
    options.std = {0.229F, 0.224F, 0.225F};
    return options;
}

TransformOptions full_size(DType dtype, Layout layout) {
    TransformOptions options;
    options.dtype = dtype;
    options.layout = layout;
    return options;
}

const std::vector<Case>& cases() {
    static const std::vector<Case> all = {
        {"yuv420p_rgb", PixelFormat::yuv420p, full_size(DType::uint8, Layout::hwc)},
        {"nv12_rgb", PixelFormat::nv12, full_size(DType::uint8, Layout::hwc)},
        {"yuv420p10_rgb", PixelFormat::yuv420p10le, full_size(DType::uint8, Layout::hwc)},
        {"p010_rgb", PixelFormat::p010le, full_size(DType::uint8, Layout::hwc)},
        {"yuv422p_rgb", PixelFormat::yuv422p, full_size(DType::uint8, Layout::hwc)},
        {"yuv444p_rgb", PixelFormat::yuv444p, full_size(DType::uint8, Layout::hwc)},
        {"yuv422p10_rgb", PixelFormat::yuv422p10le, full_size(DType::uint8, Layout::hwc)},
        {"yuv444p12_rgb", PixelFormat::yuv444p12le, full_size(DType::uint8, Layout::hwc)},
        {"yuv420p_rgb_chw", PixelFormat::yuv420p, full_size(DType::uint8, Layout::chw)},
        {"yuv420p_float16_chw", PixelFormat::yuv420p, full_size(DType::float16, Layout::chw)},
        {"yuv420p_bfloat16_chw", PixelFormat::yuv420p, full_size(DType::bfloat16, Layout::chw)},
        {"yuv420p_rgb_turned", PixelFormat::yuv420p, full_size(DType::uint8, Layout::hwc), {90, false}},
        {"yuv420p_224_float32_chw", PixelFormat::yuv420p, to_model(DType::float32, Layout::chw)},
        {"nv12_224_float32_chw", PixelFormat::nv12, to_model(DType::float32, Layout::chw)},
        {"yuv420p10_224_float32_chw", PixelFormat::yuv420p10le, to_model(DType::float32, Layout::chw)},
        {"yuv420p_224_bicubic", PixelFormat::yuv420p, to_model(DType::float32, Layout::chw, Resize::bicubic)},
        {"yuv420p_224_float16_hwc8", PixelFormat::yuv420p, to_model(DType::float16, Layout::hwc8)},
        {"yuv420p_to_nv12", PixelFormat::yuv420p, {}, {}, PixelFormat::nv12},
        {"yuv420p10_to_p010", PixelFormat::yuv420p10le, {}, {}, PixelFormat::p010le},
    };
    return all;
}

/// Rows of 1080p: luma goes up and down along both axes, chroma across them, each frame of the ring a little further.
Frame picture(PixelFormat format, int height, int number) {
    Frame frame = alloc_frame(format, 1920, height);
    const PixelFormatInfo& layout = info(format);
    for (std::size_t i = 0; i < layout.num_components; ++i) {
        const ComponentLayout& component = layout.components[i];
        const Plane& plane = frame.planes[component.plane];
        const int width = layout.plane_width(component.plane, frame.width);
        const int rows = layout.plane_height(component.plane, frame.height);
        for (int y = 0; y < rows; ++y) {
            for (int x = 0; x < width; ++x) {
                const int value =
                    (x * (i == 0 ? 3 : 1) + y * static_cast<int>(i + 1) + number * 5) % (1 << layout.depth);
                const auto word = static_cast<std::uint16_t>(value << layout.shift);
                std::byte* const at = plane.data + y * plane.stride_bytes + x * component.step_bytes;
                std::memcpy(at + component.offset_bytes, &word, layout.bytes_per_sample);
            }
        }
    }
    return frame;
}

TransformOptions divided(TransformOptions options, int divisor) {
    if (options.size) options.size->height /= divisor;
    return options;
}

/// A transform with frames to take and outputs to write, once each already.
struct Work {
    Transform transform;
    std::vector<Frame> frames;
    std::vector<Tensor> outputs;
    std::vector<Frame> converted;

    Work(const Case& which, int ring, int divisor = 1) : transform(divided(which.options, divisor)) {
        for (int i = 0; i < ring; ++i) {
            frames.push_back(picture(which.format, 1080 / divisor, i));
            frames.back().orientation = which.orientation;
            if (which.converted) {
                converted.push_back(convert_layout(frames.back(), *which.converted));
            } else {
                outputs.push_back(transform(frames.back()));
            }
        }
    }
};

/// What compiled the program, and the library with it.
const char* compiler() {
#if defined(__clang__)
    return "clang++ " TRICODEC_TEXT(__clang_major__);
#elif defined(__GNUC__)
    return "g++ " TRICODEC_TEXT(__GNUC__);
#else
    return "unknown";
#endif
}

/// What valgrind counts; extern "C" and not inlined, so that it is found by its name.
extern "C" [[gnu::noinline]] void measured_frame(const Work& work, std::size_t at) {
    if (work.outputs.empty()) {
        convert_layout_into(work.frames[at], work.converted[at]);
    } else {
        work.transform(work.frames[at], work.outputs[at].view);
    }
}

/// Of processor time, which others on the machine disturb less than the clock on the wall.
double thread_seconds() {
    timespec now{};
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

double seconds_of(const std::function<void()>& call) {
    const auto start = std::chrono::steady_clock::now();
    call();
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

void run_ring(const Work& work) {
    for (std::size_t i = 0; i < work.frames.size(); ++i) measured_frame(work, i);
}

void print_times(const Case& which) {
    constexpr int kRounds = 15;
    const Work work(which, kRing);
    std::vector<double> rounds;
    for (int i = 0; i < kRounds; ++i) {
        const double start = thread_seconds();
        run_ring(work);
        rounds.push_back(1e3 * (thread_seconds() - start) / kRing);
    }
    std::sort(rounds.begin(), rounds.end());
    std::printf("%-28s min %.3f ms  median %.3f ms\n", std::string(which.name).c_str(), rounds.front(),
                rounds[rounds.size() / 2]);
}

void print_scaling(const Case& which) {
    constexpr int kRounds = 9;
    const Work one(which, kRing);
    const Work two(which, kRing);
    const auto repeated = [](const Work& work) {
        for (int i = 0; i < 4; ++i) run_ring(work);
    };
    double alone = 1e9;
    double together = 1e9;
    for (int i = 0; i < kRounds; ++i) {
        alone = std::min(alone, seconds_of([&] { repeated(one); }));
        together = std::min(together, seconds_of([&] {
                                std::jthread other([&] { repeated(two); });
                                repeated(one);
                            }));
    }
    std::printf("%-28s 1 thread %.0f frames/s  2 threads %.0f  ratio %.2f\n", std::string(which.name).c_str(),
                4 * kRing / alone, 8 * kRing / together, 2 * alone / together);
}

}  // namespace

int main(int argc, char** argv) try {
    const std::span arguments(argv, static_cast<std::size_t>(argc));
    const std::string_view mode = argc > 1 ? arguments[1] : "";
    const auto wanted = [&](std::string_view name) {
        const auto names = arguments.subspan(2);
        return names.empty() || std::find(names.begin(), names.end(), name) != names.end();
    };
    if (mode == "compiler") {
        std::printf("%s\n", compiler());
        return 0;
    }
    if (mode != "list" && mode != "time" && mode != "threads" && mode != "count") {
        std::fprintf(stderr, "usage: %s list|time|threads|count|compiler [NAME...]\n", arguments[0]);
        return 2;
    }
    if (mode != "list") std::printf("%s\n", image_engine().c_str());
    for (const Case& which : cases()) {
        if (!wanted(which.name)) continue;
        if (mode == "list") {
            std::printf("%s\n", std::string(which.name).c_str());
        } else if (mode == "time") {
            print_times(which);
        } else if (mode == "threads") {
            print_scaling(which);
        } else {
            const Work work(which, 1, 8);
            measured_frame(work, 0);
        }
    }
    return 0;
} catch (const tricodec::Error& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
}
