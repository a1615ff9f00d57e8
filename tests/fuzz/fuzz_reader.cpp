// SPDX-License-Identifier: Apache-2.0
/// A file through FrameReader: iteration and random access, by one worker and by two, end with frames that have their
/// numbers, or with an error that is not internal.
#include "fuzzing.h"
#include "tricodec/read/frame_reader.h"

namespace tricodec::fuzzing {
namespace {

constexpr std::int64_t kMostFrames = 40;

using Way = void (*)(FrameReader& reader);

void iterate(FrameReader& reader) {
    const auto iterator = reader.iterate({0, 1, -1});
    for (std::int64_t number = 0; const auto frame = iterator->next(); ++number) {
        require(frame->index == number,
                "iteration gives frame " + std::to_string(frame->index) + " in place of " + std::to_string(number));
    }
}

/// Each frame from the last to the first, which may number the frames again, then in order.
void access(FrameReader& reader) {
    for (auto i = reader.num_frames() - 1; i >= 0; --i) (void)succeeds([&] { (void)reader.frame(i); });
    if (reader.num_frames() == 0) reader.expect_frames();
    for (std::int64_t i = 0; i < reader.num_frames(); ++i) {
        require(reader.frame(i).index == i, "frame " + std::to_string(i) + " has another number");
    }
}

void read(Bytes data, Way way, int num_workers) {
    try {
        FrameReaderOptions options;
        options.device = "cpu";
        options.num_workers = num_workers;
        const auto reader = FrameReader::open(source_of(data), options);
        if (reader->num_frames() <= kMostFrames) way(*reader);
    } catch (const Error& error) {
        require(error.code() != ErrorCode::internal, error.what());
    }
}

}  // namespace

void try_input(Bytes input) {
    for (const int num_workers : {1, 2}) {
        for (const Way way : {Way{iterate}, Way{access}}) read(input, way, num_workers);
    }
}

}  // namespace tricodec::fuzzing
