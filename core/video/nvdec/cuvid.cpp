// SPDX-License-Identifier: Apache-2.0
#include "video/nvdec/cuvid.h"

#include <dlfcn.h>

#include <string>

#include "tricodec/error.h"

namespace tricodec::nvdec {
namespace {

struct Library {
    Cuvid functions;
    std::string reason;

    Library() { reason = open(); }

    std::string open() {
        void* library = dlopen("libnvcuvid.so.1", RTLD_NOW | RTLD_LOCAL);
        if (library == nullptr) {
            const char* text = dlerror();
            return "the NVIDIA driver's decoder library is missing (" +
                   std::string(text == nullptr ? "libnvcuvid.so.1" : text) +
                   "); in a container, NVIDIA_DRIVER_CAPABILITIES must include 'video'";
        }
        std::string missing;
        const auto find = [&]<class Function>(Function*& function, const char* symbol) {
            function = reinterpret_cast<Function*>(dlsym(library, symbol));
            if (function == nullptr && missing.empty()) missing = symbol;
        };
        find(functions.get_decoder_caps, "cuvidGetDecoderCaps");
        find(functions.create_decoder, "cuvidCreateDecoder");
        find(functions.destroy_decoder, "cuvidDestroyDecoder");
        find(functions.reconfigure_decoder, "cuvidReconfigureDecoder");
        find(functions.decode_picture, "cuvidDecodePicture");
        find(functions.get_decode_status, "cuvidGetDecodeStatus");
        find(functions.map_frame, "cuvidMapVideoFrame64");
        find(functions.unmap_frame, "cuvidUnmapVideoFrame64");
        find(functions.create_parser, "cuvidCreateVideoParser");
        find(functions.parse, "cuvidParseVideoData");
        find(functions.destroy_parser, "cuvidDestroyVideoParser");
        if (!missing.empty()) return "the NVIDIA driver is too old: its libnvcuvid.so.1 has no " + missing;
        return {};
    }
};

// Leaked on purpose, as the driver is (base/cuda/driver.cpp).
const Library& library() {
    static const auto* opened = new Library;
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
