// SPDX-License-Identifier: Apache-2.0
/// Frames a second of decoders alone: THREADS threads, each of which decodes the files of its turn, from memory, and
/// drops the frames. One line of JSON. With --loop a file counts as that many copies of itself, one behind another.
///
///   decode_throughput [--device cuda] [--threads 1] [--rounds 1] [--loop 1] [--in-flight 4]
///   [--poll 1] FILE...
#include <sys/resource.h>

#include <atomic>
#include <barrier>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <fstream>
#include <iterator>
#include <map>
#include <string>
#include <thread>
#include <vector>

#include "tricodec/demuxer.h"
#include "tricodec/error.h"
#include "video/nvdec/nv_decoder.h"

namespace {

using Clock = std::chrono::steady_clock;
using namespace tricodec;

struct Options {
    std::map<std::string, std::string> values{{"device", "cuda"}, {"threads", "1"},       {"rounds", "1"},
                                              {"in-flight", "4"}, {"poll", "1"},
                                              {"loop", "1"}};
    std::vector<std::string> files;

    [[nodiscard]] int number(const std::string& name) const { return std::stoi(values.at(name)); }
};

Options parse(int argc, char** argv) {
    Options options;
    for (int i = 1; i < argc; ++i) {
        const std::string text = argv[i];
        if (!text.starts_with("--")) {
            options.files.push_back(text);
            continue;
        }
        TRICODEC_EXPECT(i + 1 < argc && options.values.contains(text.substr(2)), invalid_argument,
                        "option '" + text + "' is not known, or has no value");
        options.values[text.substr(2)] = argv[++i];
    }
    TRICODEC_EXPECT(!options.files.empty(), invalid_argument, "no file is named");
    return options;
}

/// A file's packets, read before the clock starts: demuxing is measured elsewhere.
struct Clip {
    StreamInfo stream;
    std::vector<Packet> packets;
};

Clip load(const std::string& path) {
    const auto demuxer = Demuxer::open(MediaSource::from_path(path));
    Clip clip{demuxer->stream(), {}};
    while (auto packet = demuxer->read()) clip.packets.push_back(std::move(*packet));
    return clip;
}

std::unique_ptr<Decoder> make(const Clip& clip, const Options& options) {
    const Device device = resolve_device(options.values.at("device"));
    if (device.kind == Device::Kind::cpu) return Decoder::create(clip.stream, {"cpu", 1});
    NvDecoderTuning tuning;
    tuning.in_flight = options.number("in-flight");
    tuning.poll = options.number("poll") != 0;
    return make_nv_decoder(clip.stream, device, tuning);
}

struct Result {
    std::int64_t num_frames = 0;
    double first_frame_seconds = 0;
};

double since(Clock::time_point start) {
    return std::chrono::duration<double>(Clock::now() - start).count();
}

Result decode(const Clip& clip, const Options& options) {
    const auto start = Clock::now();
    Result result;
    const auto decoder = make(clip, options);
    const auto drain = [&] {
        while (auto frame = decoder->receive()) {
            if (result.num_frames++ == 0) {
                if (frame->buffer) frame->buffer->wait();
                result.first_frame_seconds = since(start);
            }
        }
    };
    for (int copy = 0; copy < options.number("loop"); ++copy) {
        for (const auto& packet : clip.packets) {
            decoder->send(packet);
            drain();
        }
    }
    decoder->send_end();
    drain();
    return result;
}

double cpu_seconds() {
    rusage usage{};
    getrusage(RUSAGE_SELF, &usage);
    const auto seconds = [](const timeval& t) {
        return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_usec) * 1e-6;
    };
    return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

int run(const Options& options) {
    std::vector<Clip> clips;
    for (const auto& file : options.files) clips.push_back(load(file));
    const int num_threads = options.number("threads");
    const int rounds = options.number("rounds");
    std::atomic<std::int64_t> num_frames{0};
    std::atomic<int> failed{0};
    std::vector<double> first_frame(static_cast<std::size_t>(num_threads) * static_cast<std::size_t>(rounds));
    Clock::time_point start;
    double cpu_before = 0;
    std::barrier ready(num_threads + 1);
    std::vector<std::jthread> threads;
    for (int t = 0; t < num_threads; ++t) {
        threads.emplace_back([&, t] {
            ready.arrive_and_wait();
            try {
                for (int round = 0; round < rounds; ++round) {
                    const auto at = static_cast<std::size_t>(round * num_threads + t);
                    const auto result = decode(clips[at % clips.size()], options);
                    num_frames += result.num_frames;
                    first_frame[at] = result.first_frame_seconds;
                }
            } catch (const std::exception& error) {
                std::fprintf(stderr, "%s\n", error.what());
                ++failed;
            }
        });
    }
    cpu_before = cpu_seconds();
    start = Clock::now();
    ready.arrive_and_wait();
    for (auto& thread : threads) thread.join();
    const double seconds = since(start);
    std::printf(
        "{\"file\": \"%s\", \"files\": %zu, \"threads\": %d, \"rounds\": %d, \"in_flight\": %d, "
        "\"poll\": %d, \"device\": \"%s\", \"frames\": %lld, \"seconds\": %.4f, \"fps\": %.1f, \"cpu_us_per_frame\": "
        "%.1f, "
        "\"first_frame_ms\": %.2f, \"last_first_frame_ms\": %.2f, \"failed\": %d}\n",
        options.files[0].c_str(), options.files.size(), num_threads, rounds, options.number("in-flight"),
        options.number("poll"), options.values.at("device").c_str(),
        static_cast<long long>(num_frames), seconds, static_cast<double>(num_frames) / seconds,
        (cpu_seconds() - cpu_before) * 1e6 / static_cast<double>(std::max<std::int64_t>(num_frames, 1)),
        first_frame.front() * 1e3, first_frame.back() * 1e3, failed.load());
    return failed.load() == 0 ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
    try {
        return run(parse(argc, argv));
    } catch (const std::exception& error) {
        std::fprintf(stderr, "%s\n", error.what());
        return 2;
    }
}
