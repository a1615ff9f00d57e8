// SPDX-License-Identifier: Apache-2.0
/// A file through FrameReader: iteration and random access, by one worker and by two, give the same frames.
///
/// As in tests/python/helpers/damaged_clips.py, two differences are no findings. Frames that were given before damage
/// was met may differ, because what is given is not taken back. That a file ends early is known from the start, and
/// says nothing of the packets that are there. So may pictures that libavcodec itself decodes otherwise from run to
/// run, or by its number of threads.
#include <algorithm>
#include <optional>

#include "fuzzing.h"
#include "media/digest.h"
#include "tricodec/decode/decoder.h"
#include "tricodec/media/demuxer.h"
#include "tricodec/video/frame_reader.h"

namespace tricodec::fuzzing {
namespace {

constexpr std::int64_t kMostFrames = 40;

struct Picture {
    Digest::Value digest{};
    int width = 0;
    int height = 0;
    friend bool operator==(const Picture&, const Picture&) = default;
};

Picture picture_of(const Frame& frame) {
    std::vector<std::byte> bytes(static_cast<std::size_t>(frame.size_bytes()));
    pack(frame, bytes);
    Digest digest;
    digest.add(bytes);
    return {digest.finish(), frame.width, frame.height};
}

/// What a way to read gave: its frames, and the error that ended it.
struct Outcome {
    std::vector<Picture> pictures;
    std::optional<ErrorCode> error;
    std::size_t num_before_damage = 0;  // pictures that were given while no damage was known
    bool damaged = false;               // as was known at the end
};

using Way = void (*)(FrameReader& reader, Outcome& outcome);

/// Whether decoding has met damage.
bool has_met_damage(const FrameReader& reader) {
    const auto issues = reader.issues();
    const auto ends = std::ranges::count_if(
        issues, [](const DecodeIssue& issue) { return issue.message.starts_with("it ends early: "); });
    return reader.num_damaged_packets() > ends;
}

void iterate(FrameReader& reader, Outcome& outcome) {
    const auto iterator = reader.iterate({0, 1, -1});
    while (const auto frame = iterator->next()) {
        outcome.pictures.push_back(picture_of(*frame));
        if (!has_met_damage(reader)) outcome.num_before_damage = outcome.pictures.size();
    }
    outcome.damaged = has_met_damage(reader);
}

/// Each frame from the last to the first, which may number the frames again, then in order.
void access(FrameReader& reader, Outcome& outcome) {
    for (auto i = reader.num_frames() - 1; i >= 0; --i) (void)succeeds([&] { (void)reader.frame(i); });
    if (reader.num_frames() == 0) reader.expect_frames();
    for (std::int64_t i = 0; i < reader.num_frames(); ++i) outcome.pictures.push_back(picture_of(reader.frame(i)));
}

Outcome outcome_of(Bytes data, Way way, int num_workers) {
    Outcome outcome;
    try {
        FrameReaderOptions options;
        options.device = "cpu";
        options.num_workers = num_workers;
        const auto reader = FrameReader::open(source_of(data), options);
        if (reader->num_frames() > kMostFrames) fail(ErrorCode::refused, "too many frames for one input");
        way(*reader, outcome);
    } catch (const Error& error) {
        require(error.code() != ErrorCode::internal, error.what());
        outcome.error = error.code();
    }
    return outcome;
}

/// Whether libavcodec gives other pictures by its number of threads, or from run to run.
bool codec_varies(Bytes data) {
    std::optional<std::vector<Picture>> first;
    for (const int num_threads : {1, 2, 1, 3, 1, 4, 1, 2}) {
        std::vector<Picture> pictures;
        (void)succeeds([&] {
            const auto demuxer = Demuxer::open(source_of(data));
            DecoderOptions options;
            options.device = "cpu";
            options.num_threads = num_threads;
            const auto decoder = Decoder::create(demuxer->stream(), options);
            while (const auto packet = demuxer->read()) {
                for (const auto& frame : decoder->decode(*packet)) pictures.push_back(picture_of(frame));
            }
            for (const auto& frame : decoder->flush()) pictures.push_back(picture_of(frame));
        });
        if (!first)
            first = std::move(pictures);
        else if (*first != pictures)
            return true;
    }
    return false;
}

bool alike(const Outcome& one, const Outcome& iterated) {
    if (one.error || iterated.error) return one.error.has_value() == iterated.error.has_value();
    if (one.pictures.size() != iterated.pictures.size()) return false;
    const auto given = std::max(one.num_before_damage, iterated.num_before_damage);
    for (std::size_t i = 0; i < one.pictures.size(); ++i) {
        if (one.pictures[i] == iterated.pictures[i]) continue;
        if (!iterated.damaged || i >= given) return false;
    }
    return true;
}

std::string text_of(const Outcome& outcome) {
    return std::to_string(outcome.pictures.size()) + " frames and " +
           (outcome.error ? "the error " + std::string(to_string(*outcome.error)) : "no error");
}

void compare(Bytes data) {
    const auto iterated = outcome_of(data, iterate, 1);
    for (const int num_workers : {1, 2}) {
        for (const Way way : {Way{iterate}, Way{access}}) {
            const auto outcome = outcome_of(data, way, num_workers);
            if (alike(outcome, iterated)) continue;
            const bool same_end =
                outcome.error == iterated.error && outcome.pictures.size() == iterated.pictures.size();
            require(same_end && codec_varies(data), std::string(way == Way{iterate} ? "iteration" : "random access") +
                                                        " by " + std::to_string(num_workers) + " gives " +
                                                        text_of(outcome) + "; iteration by one " + text_of(iterated));
        }
    }
}

}  // namespace

void try_input(Bytes input) {
    compare(input);
}

}  // namespace tricodec::fuzzing
