// SPDX-License-Identifier: Apache-2.0
/// Processor time of FrameReader::batch from C++, for benchmarks/calls.py, which measures the same from Python.
///
///   call_cost FILE CALLS
///
/// Prints the milliseconds of each call that reads the first 32 frames as 224x224 RGB with one decoder. The first call,
/// which makes the decoder, is not printed.
#include <array>
#include <cstdint>
#include <cstdio>
#include <ctime>
#include <exception>
#include <numeric>
#include <string>

#include "tricodec/image/transform.h"
#include "tricodec/video/frame_reader.h"

namespace {

double process_milliseconds() {
    timespec time{};
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
    return static_cast<double>(time.tv_sec) * 1e3 + static_cast<double>(time.tv_nsec) * 1e-6;
}

}  // namespace

int main(int argc, char** argv) {
    using namespace tricodec;
    if (argc != 3) {
        std::fprintf(stderr, "usage: call_cost FILE CALLS\n");
        return 2;
    }
    try {
        FrameReaderOptions options;
        options.device = "cpu";
        options.num_workers = 1;
        const auto reader = FrameReader::open(MediaSource::from_path(argv[1]), options);
        TransformOptions small;
        small.size = Size{224, 224};
        const Transform transform(small);
        std::array<std::int64_t, 32> frames{};
        std::iota(frames.begin(), frames.end(), 0);
        for (int call = -1; call < std::stoi(argv[2]); ++call) {
            const double before = process_milliseconds();
            const Tensor batch = reader->batch(frames, transform);
            if (call >= 0) std::printf("%.4f\n", process_milliseconds() - before);
        }
    } catch (const std::exception& error) {
        std::fprintf(stderr, "%s\n", error.what());
        return 1;
    }
    return 0;
}
