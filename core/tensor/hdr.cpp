// SPDX-License-Identifier: Apache-2.0
#include "tricodec/tensor/hdr.h"

#include <atomic>
#include <string>

#include "tricodec/base/log.h"

namespace tricodec {

void warn_of_hdr(const ColorDescription& color) {
    static std::atomic<bool> told{false};
    if (!is_hdr(color.transfer) || told.exchange(true)) return;
    const std::string kind = color.transfer == ColorTransfer::smpte2084 ? "PQ" : "HLG";
    log(LogLevel::warning,
        "HDR video (" + kind + ", " + std::string(to_string(color.transfer)) +
            ") becomes 8 bits without tone mapping, so pictures look washed out; map its tones with a filter of "
            "tricodec.io.StreamReader.add_video_stream, for example "
            "filter_desc=\"zscale=t=linear:npl=100,format=gbrpf32le,"
            "zscale=p=bt709,tonemap=hable:desat=0,zscale=t=bt709:m=bt709:r=tv,format=yuv420p\", or keep more bits "
            "(dtype=\"float32\")");
}

}  // namespace tricodec
