// SPDX-License-Identifier: Apache-2.0
/// NVIDIA's decoder library, libnvcuvid.so.1 of the driver, opened at run time. The types are those of ffnvcodec.
#pragma once

#include <ffnvcodec/dynlink_cuda.h>
// Needs the types of the one above.
#include <ffnvcodec/dynlink_cuviddec.h>
#include <ffnvcodec/dynlink_nvcuvid.h>

#include <string_view>

#include "base/cuda/driver.h"

namespace tricodec::nvdec {

struct Cuvid {
    tcuvidGetDecoderCaps* get_decoder_caps = nullptr;
    tcuvidCreateDecoder* create_decoder = nullptr;
    tcuvidDestroyDecoder* destroy_decoder = nullptr;
    tcuvidReconfigureDecoder* reconfigure_decoder = nullptr;
    tcuvidDecodePicture* decode_picture = nullptr;
    tcuvidGetDecodeStatus* get_decode_status = nullptr;
    tcuvidMapVideoFrame64* map_frame = nullptr;
    tcuvidUnmapVideoFrame64* unmap_frame = nullptr;
    tcuvidCreateVideoParser* create_parser = nullptr;
    tcuvidParseVideoData* parse = nullptr;
    tcuvidDestroyVideoParser* destroy_parser = nullptr;
};

/// The library, or null with the reason, which stays valid.
[[nodiscard]] const Cuvid* try_cuvid(std::string_view* reason = nullptr) noexcept;
/// Throws Error(device) with the reason when it is not there.
[[nodiscard]] const Cuvid& cuvid();

/// Throws Error(out_of_memory) or Error(device) unless `result` is success.
inline void check(CUresult result, std::string_view what) {
    cuda::check(static_cast<cuda::Result>(result), what);
}

}  // namespace tricodec::nvdec
