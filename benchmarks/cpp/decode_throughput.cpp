// SPDX-License-Identifier: Apache-2.0
/// Frames a second: THREADS threads, each of which decodes the file of its turn LOOP times and drops the frames, in
/// ROUNDS rounds that begin together. One line of JSON; the first round also starts the device and the decoders.
///
///   decode_throughput [--mode decoder] [--device cuda] [--threads 1] [--rounds 1] [--loop 1] [--in-flight 4] [--poll
///   1]
///                     [--warm FILE] FILE...
///
/// Modes: decoder (a decoder alone, fed from memory with LOOP copies of the file behind one another), iterate (a
/// FrameReader, frame by frame), batch (a FrameReader, all frames as one tensor of 224x224 float16), batches (the same
/// in batches of 32), alternate (iterate and batches, in turn). With WARM every thread reads that file before the first
/// round, so that the device is started and decoders are made.
#include <sys/resource.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <barrier>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <map>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "base/cuda/context.h"
#include "decode/engines.h"
#include "tricodec/base/error.h"
#include "tricodec/media/demuxer.h"
#include "tricodec/video/frame_reader.h"

namespace {

using Clock = std::chrono::steady_clock;
using namespace tricodec;

struct Options {
    std::map<std::string, std::string> values{{"mode", "decoder"}, {"device", "cuda"}, {"threads", "1"},
                                              {"rounds", "1"},     {"in-flight", "4"}, {"poll", "1"},
                                              {"loop", "1"},       {"warm", ""}};
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
    std::string path;
    StreamInfo stream{};
    std::vector<Packet> packets{};
};

Clip load(const std::string& path, const Options& options) {
    if (options.values.at("mode") != "decoder") return {path};
    const auto demuxer = Demuxer::open(MediaSource::from_path(path));
    Clip clip{path, demuxer->stream(), {}};
    while (auto packet = demuxer->read()) clip.packets.push_back(std::move(*packet));
    return clip;
}

std::unique_ptr<Decoder> make(const Clip& clip, const Options& options) {
    const Device device = resolve_device(options.values.at("device"));
    if (device.kind == Device::Kind::cpu) return Decoder::create(clip.stream, {"cpu", 1});
    NvDecoderTuning tuning;
    tuning.in_flight = options.number("in-flight");
    tuning.poll = options.number("poll") != 0;
    return make_nv_decoder(clip.stream, device, 0, tuning);
}

struct Result {
    std::int64_t num_frames = 0;
    double first_frame_seconds = 0;
};

double since(Clock::time_point start) {
    return std::chrono::duration<double>(Clock::now() - start).count();
}

/// What models are fed with.
Transform small_tensors() {
    TransformOptions options;
    options.size = Size{224, 224};
    options.dtype = DType::float16;
    options.layout = Layout::chw;
    return Transform(options);
}

/// Frames given so far by all threads.
std::atomic<std::int64_t> frames_given{0};

Result read(const Clip& clip, const Options& options, const std::string& mode) {
    const auto start = Clock::now();
    Result result;
    FrameReaderOptions reader_options;
    reader_options.device = options.values.at("device");
    const auto reader = FrameReader::open(MediaSource::from_path(clip.path), reader_options);
    for (int copy = 0; copy < options.number("loop"); ++copy) {
        if (mode == "batch") {
            const auto tensor = reader->batch(FrameSelection{}, small_tensors());
            if (tensor.buffer) tensor.buffer->wait();
            result.num_frames += tensor.view.shape[0];
            frames_given += tensor.view.shape[0];
            continue;
        }
        if (mode == "batches") {
            const auto batches = reader->batches({}, 32, small_tensors());
            std::optional<Tensor> last;
            while (auto batch = batches->next()) {
                result.num_frames += batch->view.shape[0];
                frames_given += batch->view.shape[0];
                last = std::move(batch);
            }
            if (last && last->buffer) last->buffer->wait();
            continue;
        }
        const auto frames = reader->iterate({});
        std::optional<Frame> last;
        while (auto frame = frames->next()) {
            ++frames_given;
            if (result.num_frames++ == 0) {
                if (frame->buffer) frame->buffer->wait();
                result.first_frame_seconds = since(start);
            }
            last = std::move(frame);
        }
        if (last && last->buffer) last->buffer->wait();
    }
    return result;
}

Result decode(const Clip& clip, const Options& options, int round) {
    const auto& mode = options.values.at("mode");
    if (mode == "alternate") return read(clip, options, round % 2 == 0 ? "iterate" : "batches");
    if (mode != "decoder") return read(clip, options, mode);
    const auto start = Clock::now();
    Result result;
    const auto decoder = make(clip, options);
    const auto drain = [&] {
        while (auto frame = decoder->receive()) {
            ++frames_given;
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

/// Device memory in use, in MiB: of this process and of all others.
double device_memory_mib(const Options& options) {
    if (resolve_device(options.values.at("device")).kind == Device::Kind::cpu) return 0;
    const cuda::ContextScope scope(*cuda::Context::primary(0));
    std::size_t free = 0;
    std::size_t total = 0;
    cuda::check(cuda::api().memory_get_info(&free, &total), "asking for the device's memory");
    return static_cast<double>(total - free) / (1 << 20);
}

std::string list_of(const std::vector<double>& values, double factor) {
    std::string text;
    for (const double value : values) {
        std::array<char, 32> one{};
        std::snprintf(one.data(), one.size(), "%s%.2f", text.empty() ? "" : ", ", value * factor);
        text += one.data();
    }
    return "[" + text + "]";
}

/// The device's memory in use, with the frames given by then, every fifth of a second.
class MemorySampler {
public:
    explicit MemorySampler(const Options& options)
        : thread_([this, &options](const std::stop_token& stop) {
              while (!stop.stop_requested()) {
                  std::this_thread::sleep_for(std::chrono::milliseconds(200));
                  samples_.emplace_back(frames_given.load(), device_memory_mib(options));
              }
          }) {}

    std::string end() {
        thread_.request_stop();
        thread_.join();
        std::string text;
        for (const auto& [frames, mib] : samples_) {
            if (!text.empty()) text += ", ";
            text += "[" + std::to_string(frames) + ", " + std::to_string(std::lround(mib)) + "]";
        }
        return "[" + text + "]";
    }

private:
    std::vector<std::pair<std::int64_t, double>> samples_;
    std::jthread thread_;
};

int run(const Options& options) {
    std::vector<Clip> clips;
    for (const auto& file : options.files) clips.push_back(load(file, options));
    const int num_threads = options.number("threads");
    const int rounds = options.number("rounds");
    std::atomic<std::int64_t> num_frames{0};
    std::atomic<int> failed{0};
    std::vector<double> first_frame(static_cast<std::size_t>(rounds));
    std::barrier turn(num_threads + 1);
    const auto& warm = options.values.at("warm");
    std::vector<std::jthread> threads;
    for (int t = 0; t < num_threads; ++t) {
        threads.emplace_back([&, t] {
            if (!warm.empty()) {
                try {
                    static_cast<void>(read({warm}, options, "iterate"));
                } catch (const std::exception& error) {
                    std::fprintf(stderr, "%s\n", error.what());
                    ++failed;
                }
                turn.arrive_and_wait();
            }
            for (int round = 0; round < rounds; ++round) {
                turn.arrive_and_wait();
                try {
                    const auto result =
                        decode(clips[static_cast<std::size_t>(round * num_threads + t) % clips.size()], options, round);
                    num_frames += result.num_frames;
                    if (t == 0) first_frame[static_cast<std::size_t>(round)] = result.first_frame_seconds;
                } catch (const std::exception& error) {
                    std::fprintf(stderr, "%s\n", error.what());
                    ++failed;
                }
                turn.arrive_and_wait();
            }
        });
    }
    std::vector<double> fps;
    std::vector<double> cpu;
    std::vector<double> memory;
    std::optional<MemorySampler> sampler;
    if (!warm.empty()) turn.arrive_and_wait();
    for (int round = 0; round < rounds; ++round) {
        const auto before = num_frames.load();
        const double cpu_before = cpu_seconds();
        const auto start = Clock::now();
        turn.arrive_and_wait();
        if (!sampler) sampler.emplace(options);
        turn.arrive_and_wait();
        const auto frames = static_cast<double>(std::max<std::int64_t>(num_frames - before, 1));
        fps.push_back(frames / since(start));
        cpu.push_back((cpu_seconds() - cpu_before) / frames);
        memory.push_back(device_memory_mib(options));
    }
    std::printf(
        "{\"file\": \"%s\", \"files\": %zu, \"mode\": \"%s\", \"device\": \"%s\", \"threads\": %d, \"loop\": %d, "
        "\"in_flight\": %d, \"poll\": %d, \"frames\": %lld, \"fps\": %s, \"cpu_us_per_frame\": %s, "
        "\"first_frame_ms\": %s, \"device_memory_mib\": %s, \"memory_by_frames\": %s, \"failed\": %d}\n",
        options.files[0].c_str(), options.files.size(), options.values.at("mode").c_str(),
        options.values.at("device").c_str(), num_threads, options.number("loop"), options.number("in-flight"),
        options.number("poll"), static_cast<long long>(num_frames), list_of(fps, 1).c_str(), list_of(cpu, 1e6).c_str(),
        list_of(first_frame, 1e3).c_str(), list_of(memory, 1).c_str(), sampler->end().c_str(), failed.load());
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
