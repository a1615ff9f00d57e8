// SPDX-License-Identifier: Apache-2.0
#include "streams/source_decoder.h"

namespace tricodec::streams {

void SourceDecoder::expect_compatible(const OutputOptions& options) const {
    TRICODEC_EXPECT(!options.decoder_option && options.decoder.empty(), invalid_argument,
                    "stream " + std::to_string(stream_.index) +
                        " has its decoder already: decoder and decoder_option can be given with the first output only");
    TRICODEC_EXPECT(options.hw_accel == hw_accel_, invalid_argument,
                    "stream " + std::to_string(stream_.index) + " is decoded with hw_accel '" + hw_accel_ +
                        "'; its other outputs must say the same, not '" + options.hw_accel + "'");
}

bool SourceDecoder::remove(StreamOutput* output) {
    outputs_.remove(output);
    return outputs_.empty();
}

void SourceDecoder::expect_frames(const std::string& source) const {
    TRICODEC_EXPECT(has_frames_ || stream_.codecpar->codec_type != AVMEDIA_TYPE_VIDEO, corrupt_data,
                    "stream " + std::to_string(stream_.index) + " (" + avcodec_get_name(stream_.codecpar->codec_id) +
                        ") of '" + source + "' has " +
                        (has_packets_ ? "no packet that can be decoded" : "no packets in this file"));
}

bool SourceDecoder::before_start(std::int64_t pts) const noexcept {
    return keep_from_us_ && pts != AV_NOPTS_VALUE &&
           av_compare_ts(pts, stream_.time_base, *keep_from_us_, AV_TIME_BASE_Q) < 0;
}

std::unique_ptr<SourceDecoder> make_decoder(AVFormatContext& format, AVStream& stream, const OutputOptions& options) {
    return options.hw_accel.empty() ? make_codec_decoder(format, stream, options)
                                    : make_engine_decoder(format, stream, options);
}

}  // namespace tricodec::streams
