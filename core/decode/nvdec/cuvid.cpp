// SPDX-License-Identifier: Apache-2.0
#include "decode/nvdec/cuvid.h"

#include <string>

#include "base/never_destroyed.h"
#include "base/shared_library.h"
#include "tricodec/base/error.h"

namespace tricodec::nvdec {
namespace {

struct Library {
    Cuvid functions;
    std::string reason;

    Library() { reason = open(); }

    std::string open() {
        SharedLibrary library("libnvcuvid.so.1");
        if (!library.is_open()) {
            return "the NVIDIA driver's decoder library is missing (" + library.error() +
                   "); in a container, NVIDIA_DRIVER_CAPABILITIES must include 'video'";
        }
        library.find(functions.get_decoder_caps, "cuvidGetDecoderCaps");
        library.find(functions.create_decoder, "cuvidCreateDecoder");
        library.find(functions.destroy_decoder, "cuvidDestroyDecoder");
        library.find(functions.reconfigure_decoder, "cuvidReconfigureDecoder");
        library.find(functions.decode_picture, "cuvidDecodePicture");
        library.find(functions.get_decode_status, "cuvidGetDecodeStatus");
        library.find(functions.map_frame, "cuvidMapVideoFrame64");
        library.find(functions.unmap_frame, "cuvidUnmapVideoFrame64");
        library.find(functions.create_parser, "cuvidCreateVideoParser");
        library.find(functions.parse, "cuvidParseVideoData");
        library.find(functions.destroy_parser, "cuvidDestroyVideoParser");
        if (library.missing().empty()) return {};
        return "the NVIDIA driver is too old: its libnvcuvid.so.1 has no " + library.missing();
    }
};

const Library& library() {
    static NeverDestroyed<Library> opened;
    return *opened;
}

}  // namespace

const Cuvid* try_cuvid(std::string_view* reason) noexcept {
    if (cuda::try_api(reason) == nullptr) return nullptr;
    try {
        const auto& opened = library();
        if (reason != nullptr) *reason = opened.reason;
        return opened.reason.empty() ? &opened.functions : nullptr;
    } catch (...) {
        if (reason != nullptr) *reason = "out of memory";
        return nullptr;
    }
}

const Cuvid& cuvid() {
    std::string_view reason;
    const Cuvid* found = try_cuvid(&reason);
    TRICODEC_EXPECT(found != nullptr, device, "NVDEC is not usable: " + std::string(reason) + "; use device='cpu'");
    return *found;
}

}  // namespace tricodec::nvdec
