// SPDX-License-Identifier: Apache-2.0
/// Replaces the streams in a build without libavfilter.
#include "tricodec/base/error.h"
#include "tricodec/streams/stream_reader.h"
#include "tricodec/streams/stream_writer.h"

namespace tricodec {
namespace {

[[noreturn]] void refuse() {
    fail(ErrorCode::unsupported,
         "this build has no libavfilter, which streams need; install libavfilter-dev and build tricodec again");
}

}  // namespace

std::unique_ptr<StreamReader> StreamReader::open(const MediaSource&, const StreamReaderOptions&) {
    refuse();
}

std::unique_ptr<StreamReader> StreamReader::open(const std::string&, const StreamReaderOptions&) {
    refuse();
}

std::unique_ptr<StreamWriter> StreamWriter::create(const MediaTarget&, const std::string&) {
    refuse();
}

}  // namespace tricodec
